"""Option tables: a flat mapping (from TOML, or texts from a command line) into a frozen dataclass.

Unknown keys and values of the wrong kind are refused with their path. Texts are accepted for numbers and
switches, since ``name[key=value]`` can only carry texts.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from batpy.base.errors import InputError

T = TypeVar("T")
_SWITCHES = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


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
    values = {name: _convert(value, hints[name], f"{path}.{name}") for name, value in tree.items()}
    try:
        return kind(**values, **fixed)
    except InputError as why:
        where = f"{path}.{why.path}" if why.path else path
        raise InputError(why.problem, source=why.source, path=where) from None


def _convert(value: Any, want: Any, path: str) -> Any:
    options = typing.get_args(want) if isinstance(want, types.UnionType) else (want,)
    if value is None or (value == "none" and types.NoneType in options):
        if types.NoneType in options:
            return None
        raise InputError("must have a value", path=path)
    kind = next(option for option in options if option is not types.NoneType)
    if typing.get_origin(kind) is typing.Literal:
        choices = typing.get_args(kind)
        if value not in choices:
            raise InputError(f"must be one of {', '.join(map(str, choices))}, got {value!r}", path=path)
        return value
    return _SCALARS[kind](value, path)


def _switch(value: Any, path: str) -> bool:
    if isinstance(value, str) and value.lower() in _SWITCHES:
        return _SWITCHES[value.lower()]
    if not isinstance(value, bool):
        raise InputError(f"must be true or false, got {value!r}", path=path)
    return value


def _integer(value: Any, path: str) -> int:
    number = _number(value, path)
    if number != int(number):
        raise InputError(f"must be an integer, got {value!r}", path=path)
    return int(number)


def _number(value: Any, path: str) -> float:
    number = value
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            number = None
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
        raise InputError(f"must be a finite number, got {value!r}", path=path)
    return number


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"must be a text, got {value!r}", path=path)
    return value


_SCALARS = {bool: _switch, int: _integer, float: _number, str: _text}
