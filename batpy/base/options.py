"""Options as fields of a dataclass: values (from TOML) or texts (``name[key=value]``) become what they want.

A text does for everything, since that is all a command line can carry.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import math
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SWITCHES = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def convert(value: object, kind: Any, *, base: Path | None = None) -> Any:
    """Read *value* as *kind*: str, int, float, bool, Path, an Enum, a Literal, or one of these or None.

    Args:
        base: folder a relative Path is taken from; the working folder if None.

    Raises:
        ValueError: saying what is wanted and what was given.
        TypeError: options of this kind cannot be given.
    """
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        return _one_of(value, typing.get_args(kind), base)
    if value is None:
        raise ValueError("must have a value")
    if origin is typing.Literal:
        return _pick({str(choice): choice for choice in typing.get_args(kind)}, value)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _pick({str(member.value): member for member in kind}, value)
    if kind is Path:
        name = _text(value)
        if not name:
            raise ValueError("must be a file name, got an empty text")
        return base / name if base is not None else Path(name)
    reader = _SCALARS.get(kind)
    if reader is None:
        raise TypeError(f"options of type {kind!r} cannot be given as text")
    return reader(value)


def _one_of(value: object, kinds: tuple[Any, ...], base: Path | None) -> Any:
    if type(None) in kinds and (value is None or value in ("", "none")):
        return None
    rest = [kind for kind in kinds if kind is not type(None)]
    for kind in rest[:-1]:
        try:
            return convert(value, kind, base=base)
        except ValueError:
            continue
    return convert(value, rest[-1], base=base)


def _pick(choices: Mapping[str, Any], value: object) -> Any:
    text = value if isinstance(value, str) else str(value)
    if text not in choices:
        raise ValueError(f"choose from {', '.join(choices)}; got {value!r}")
    return choices[text]


def _switch(value: object) -> bool:
    if isinstance(value, str) and value.lower() in _SWITCHES:
        return _SWITCHES[value.lower()]
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, got {value!r}")
    return value


def _whole_number(value: object) -> int:
    number: object = value
    if isinstance(value, str):
        try:
            number = int(value)
        except ValueError:
            number = _float_of(value)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int):
        raise ValueError(f"must be a whole number, got {value!r}")
    return number


def _number(value: object) -> float:
    number = (
        _float_of(value) if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None
    )
    if number is None or not math.isfinite(number):
        raise ValueError(f"must be a finite number, got {value!r}")
    return number


def _float_of(value: str | float) -> float | None:
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"must be a text, got {value!r}")
    return value


_SCALARS: dict[Any, Any] = {bool: _switch, int: _whole_number, float: _number, str: _text}


# --------------------------------------------------------------------------- what there is, for listings


@dataclass(frozen=True)
class OptionInfo:
    """What ``batpy list`` shows of an option.

    Attributes:
        type: as text, such as ``first_fit|contiguous``.
        default: as text; None if the option is required.
        meaning: what the ``Attributes:`` section of the dataclass's docstring says.
    """

    name: str
    type: str
    default: str | None
    meaning: str = ""


def describe_options(target: Any) -> list[OptionInfo]:
    """The options of a plug-in's class, in order of declaration."""
    kind = getattr(target, "Options", target)
    if not dataclasses.is_dataclass(kind):
        return []
    hints = typing.get_type_hints(kind)
    meanings = option_meanings(typing.cast("type[Any]", kind))
    out = []
    for field in dataclasses.fields(kind):
        if not field.init:
            continue
        default: str | None = None
        if field.default is not dataclasses.MISSING:
            default = _shown(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            default = _shown(field.default_factory())
        meaning = meanings.get(field.name, "")
        out.append(OptionInfo(field.name, _type_text(hints[field.name]), default, meaning))
    return out


_ENTRY = re.compile(r"    (\w+(?:, \w+)*): (.*)")


def option_meanings(kind: type[Any]) -> dict[str, str]:
    """Field name to its text in the ``Attributes:`` sections of a class and its bases, as one line each."""
    found: dict[str, str] = {}
    for part in reversed(kind.__mro__):
        section = inspect.cleandoc(part.__dict__.get("__doc__") or "").partition("Attributes:\n")[2]
        names: list[str] = []
        for line in section.splitlines():
            if entry := _ENTRY.fullmatch(line):
                names = entry[1].split(", ")
                found.update(dict.fromkeys(names, entry[2]))
            elif line.startswith("     "):
                found.update({name: f"{found[name]} {line.strip()}" for name in names})
            elif line.strip():
                break  # the next section
    return found


_TYPE_NAMES: dict[Any, str] = {bool: "true|false", Path: "file", str: "text"}


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value.value if isinstance(value, enum.Enum) else value)


def _type_text(kind: Any) -> str:
    origin = typing.get_origin(kind)
    if origin is typing.Literal:
        return "|".join(map(str, typing.get_args(kind)))
    if origin in (types.UnionType, typing.Union):
        return "|".join(_type_text(part) for part in typing.get_args(kind) if part is not type(None))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "|".join(str(member.value) for member in kind)
    if kind in _TYPE_NAMES:
        return _TYPE_NAMES[kind]
    return kind.__name__ if isinstance(kind, type) else str(kind)
