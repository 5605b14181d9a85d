"""Requests for inferences: what arrives when, for which model, to be answered until when.

A file is a JSON object: ``models`` lists what the clients use, each ``{"model_id", "path", "copies"}``
(the ids from ``model_id`` on are copies of one model); ``requests`` lists objects with ``time`` (s) and
``model_id``, and optionally ``id``, ``batch_size`` (1), ``input_size`` (bytes, 0) and ``slo`` (s, by default
that of the whole file, 0.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from batpy.base.dates import MAX_SECONDS
from batpy.base.errors import InputError
from batpy.base.files import read_text
from batpy.base.serving import NANOS

MAX_ID = 2**31 - 1
DEFAULT_SLO = 0.1

_Id = Annotated[int, msgspec.Meta(ge=0, le=MAX_ID)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=float(MAX_SECONDS))]


class ModelCopies(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Models ``model_id`` to ``model_id + copies - 1``, all from the same path."""

    model_id: _Id
    path: str
    copies: Annotated[int, msgspec.Meta(ge=1, le=MAX_ID)] = 1


class Request(msgspec.Struct, frozen=True):
    """One request.

    Attributes:
        id: full id, ``workload!name``.
        time: of its arrival, in ticks.
        input_size: bytes; 0 if the input itself does not matter.
        slo: nanoseconds after its arrival until which its answer counts.
    """

    id: str
    time: int
    model_id: int
    batch_size: int
    input_size: int
    slo: int


class RequestWorkload:
    """Requests of one workload, by date; read or drawn as they are needed.

    Args:
        requests: gives a fresh pass over the requests, in the order of their dates.
    """

    def __init__(
        self,
        id: str,
        source: str,
        models: tuple[ModelCopies, ...],
        requests: Callable[[], Iterable[Request]],
    ) -> None:
        self.id = id
        self.source = source
        self.models = models
        self._requests = requests

    def requests(self) -> Iterator[Request]:
        """The requests by date; may be called again for a fresh pass."""
        return iter(self._requests())


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    time: _Seconds
    model_id: _Id
    id: str | None = None
    batch_size: Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)] = 1
    input_size: Annotated[int, msgspec.Meta(ge=0, le=2**62)] = 0
    slo: _Seconds | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    models: tuple[ModelCopies, ...]
    requests: tuple[_Row, ...]
    slo: _Seconds = DEFAULT_SLO


def read_requests(
    path: str | Path, id: str, *, source: str | None = None, ticks_per_second: int
) -> RequestWorkload:
    """Read a file of requests.

    Raises:
        InputError: not readable, not of that shape, or a request for a model that is not listed.
    """
    source = str(path) if source is None else source
    try:
        file = msgspec.json.decode(read_text(path, source), type=_File)
    except (msgspec.DecodeError, RecursionError) as why:
        raise InputError(f"is no workload of requests: {why}", source=source) from None
    check_models(file.models, source)
    requests: list[Request] = []
    names: set[str] = set()
    for index, row in enumerate(file.requests):
        place = f"requests[{index}]"
        if not any(m.model_id <= row.model_id < m.model_id + m.copies for m in file.models):
            problem = f"there is no model {row.model_id} among models"
            raise InputError(problem, source=source, path=f"{place}.model_id")
        name = str(index) if row.id is None else row.id
        if name in names or "!" in name or not name:
            problem = f"must be new, not empty and without '!', got {name!r}"
            raise InputError(problem, source=source, path=f"{place}.id")
        names.add(name)
        slo = file.slo if row.slo is None else row.slo
        date = round(row.time * ticks_per_second)
        requests.append(
            Request(f"{id}!{name}", date, row.model_id, row.batch_size, row.input_size, round(slo * NANOS))
        )
    requests.sort(key=lambda request: request.time)
    return RequestWorkload(id, source, file.models, lambda: requests)


def check_models(models: Iterable[ModelCopies], source: str) -> None:
    """Refuse models whose ids overlap or leave their range.

    Raises:
        InputError: naming the first one.
    """
    end = 0
    for model in sorted(models, key=lambda model: model.model_id):
        if model.model_id < end:
            raise InputError(f"model id {model.model_id} is there twice", source=source, path="models")
        end = model.model_id + model.copies
        if end - 1 > MAX_ID:
            raise InputError(f"the copies have ids above {MAX_ID}", source=source, path="models")
