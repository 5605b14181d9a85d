"""Where a worker finds models: files under a folder, and tables of profiles in JSON.

A table has the shape of ``model_profiles.json``: ``{"models": {NAME: {...}}}``, sizes in bytes, durations in
nanoseconds; fields that are not used may be there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from batpy.base.errors import InputError
from batpy.base.files import read_text
from batpy.workloads.serving.clockwork_files import MAX_NANOS, read_model
from batpy.workloads.serving.model import NoModelError, ServedModel
from batpy.workloads.serving.worker_config import MAX_SIZE

_Nanos = Annotated[int, msgspec.Meta(ge=0, le=MAX_NANOS)]
_Bytes = Annotated[int, msgspec.Meta(ge=0, le=MAX_SIZE)]


class _Row(msgspec.Struct):
    weights_load_time_nanos: _Nanos
    batch_exec_times_nanos: dict[str, _Nanos]
    weights_memory: _Bytes
    num_weights_pages: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
    page_size: Annotated[int, msgspec.Meta(ge=1, le=MAX_SIZE)]
    input_size: _Bytes
    output_size: _Bytes


class _Table(msgspec.Struct):
    models: dict[str, msgspec.Raw]


class Table:
    """Models by name. A row that lacks something is a complaint only when it is asked for."""

    def __init__(self, path: str | Path, source: str | None = None) -> None:
        """Read a table.

        Raises:
            InputError: not readable, or not of that shape.
        """
        self._source = str(path) if source is None else source
        try:
            self._rows = msgspec.json.decode(read_text(path, self._source), type=_Table).models
        except msgspec.DecodeError as why:
            raise InputError(f"is no table of models: {why}", source=self._source) from None

    @property
    def names(self) -> tuple[str, ...]:
        """The models' names, in the order of the file."""
        return tuple(self._rows)

    def find(self, name: str) -> ServedModel:
        """The model of this name.

        Raises:
            NoModelError: there is none, or its row cannot be used.
        """
        raw = self._rows.get(name)
        if raw is None:
            raise NoModelError(f"{self._source}: has no model {name!r} (there are: {', '.join(self._rows)})")
        try:
            row = msgspec.json.decode(raw, type=_Row)
        except msgspec.DecodeError as why:
            raise NoModelError(f"{self._source}: models.{name}: {why}") from None
        return _served(row, f"{self._source}: models.{name}.batch_exec_times_nanos")


def _served(row: _Row, place: str) -> ServedModel:
    times: dict[int, int] = {}
    for key, nanos in row.batch_exec_times_nanos.items():
        if not (key.isascii() and key.isdecimal()) or not 0 < int(key) < 2**31 or int(key) in times:
            raise NoModelError(f"{place}: {key!r} is not a batch size, or there twice")
        times[int(key)] = nanos
    if 1 not in times:
        raise NoModelError(f"{place}: batch size 1 is missing")
    return ServedModel(
        input_size=row.input_size,
        output_size=row.output_size,
        weights_size=row.weights_memory,
        num_weights_pages=row.num_weights_pages,
        page_size=row.page_size,
        weights_load_time=row.weights_load_time_nanos,
        exec_times=tuple(sorted(times.items())),
    )


class ModelStore:
    """Finds models by path: first in the tables, by name, then as files under a folder. Remembers them.

    Args:
        folder: relative paths start here; None if there are only tables.
        tables: read tables, in the order in which they are looked at.
        require_profile: see ``read_model``.
    """

    def __init__(self, folder: str | Path | None, *tables: Table, require_profile: bool = True) -> None:
        self._folder = None if folder is None else Path(folder)
        self._tables = tables
        self._require_profile = require_profile
        self._found: dict[str, ServedModel] = {}

    def find(self, path: str) -> ServedModel:
        """The model behind a path.

        Raises:
            NoModelError: there is none, or it cannot be used.
        """
        found = self._found.get(path)
        if found is None:
            found = self._found[path] = self._look(path)
        return found

    def _look(self, path: str) -> ServedModel:
        for table in self._tables:
            if path in table.names:
                return table.find(path)
        if self._folder is not None and path and "\0" not in path:
            return read_model(self._folder / path, require_profile=self._require_profile)
        known = ", ".join(name for table in self._tables for name in table.names) or "none"
        raise NoModelError(f"no such model: {path!r} (known by name: {known})")
