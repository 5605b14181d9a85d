"""Option tables: a flat mapping (from TOML, or texts from a command line) into a frozen dataclass.

Unknown keys and values of the wrong kind are refused with their path.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from batpy.base.errors import InputError
from batpy.base.options import convert

T = TypeVar("T")


def build(
    kind: type[T],
    tree: Mapping[str, Any],
    path: str,
    fixed: Mapping[str, Any] | None = None,
    also: tuple[str, ...] = (),
) -> T:
    """Make a *kind* from the settings in *tree*.

    Args:
        kind: a frozen dataclass whose fields are numbers, texts, switches or literals, each perhaps ``None``.
        tree: settings by name.
        path: where the table stands, for complaints, such as ``workload[0].swf``.
        fixed: values that do not come from *tree*; their names are not looked up there.
        also: names of further settings, to be listed when a name is unknown.

    Raises:
        InputError: unknown key, wrong kind of value, or a rule of the dataclass itself.
    """
    fixed = fixed or {}
    hints = typing.get_type_hints(kind)
    known = [field.name for field in fields(kind) if field.name not in fixed]  # type: ignore[arg-type]
    for name in tree:
        if name not in known:
            raise InputError(
                f"no such setting; choose from {', '.join((*known, *also))}", path=f"{path}.{name}"
            )
    values = {}
    for name, value in tree.items():
        try:
            values[name] = convert(value, hints[name])
        except ValueError as why:
            raise InputError(str(why), path=f"{path}.{name}") from None
    try:
        return kind(**values, **fixed)
    except InputError as why:
        where = f"{path}.{why.path}" if why.path else path
        raise InputError(why.problem, source=why.source, path=where) from None
