"""JSON files that are not one object a line: read whole, concatenated objects told apart."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from batpy.base.errors import InputError
from batpy.workloads.files import read_bytes
from batpy.workloads.seconds import number_problem
from batpy.workloads.stages.codecs import DAMAGE, is_packed, unpacked

LARGEST = 2**52
"""No date, duration in milliseconds, or amount of bytes is larger."""
MOST_SECONDS = 2**42
"""139,000 years: no date or duration is longer."""


def read_whole(path: str | Path, source: str) -> bytes:
    """The content of a file, unpacked by whatever codec.

    Raises:
        InputError: cannot be read, damaged, or a library is missing.
    """
    head = b""
    try:
        with Path(path).open("rb") as raw:
            head = raw.read(8)
            if is_packed(head):
                raw.seek(0)
                return unpacked(raw, source).read()
    except DAMAGE as why:
        if head:
            raise InputError(f"damaged: {why}", source=source) from None
    return read_bytes(path, source)


def text_of(content: bytes, source: str) -> str:
    """The text of a file in UTF-8.

    Raises:
        InputError: it is not UTF-8, with the line.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as why:
        line = content.count(b"\n", 0, why.start) + 1
        raise InputError(f"not UTF-8: {why.reason}", source=source, line=line) from None


def json_objects(content: bytes, source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects written one after another, or in one list, each with its line (a list's: where it begins).

    Raises:
        InputError: not JSON, with the line; something that is no object.
    """
    text = text_of(content, source)
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    at, line, counted, first = 0, 1, 0, True
    halves = "\\ud" in text or "\\uD" in text
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if at >= len(text):
            return
        line += text.count("\n", counted, at)
        counted = at
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as why:
            problem = f"not JSON: {why.msg} (column {why.colno})"
            raise InputError(problem, source=source, line=why.lineno) from None
        except (RecursionError, ValueError) as why:
            problem = str(why) if isinstance(why, ValueError) else "nested too deeply"
            raise InputError(f"not JSON: {problem}", source=source, line=line) from None
        if halves and not _is_unicode(value):
            problem = "not JSON: half of a surrogate pair in a text"
            raise InputError(problem, source=source, line=line)
        values = value if isinstance(value, list) and first else [value]
        first = False
        for item in values:
            if not isinstance(item, dict):
                problem = f"must be an object, got {type(item).__name__}"
                raise InputError(problem, source=source, line=line)
            yield line, item


def _is_unicode(value: Any) -> bool:
    """False if a text of it cannot be written: Python reads escapes that JSON forbids."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not a number")


class FieldError(ValueError):
    """A field of a record is missing or malformed."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


def integer(raw: Mapping[str, Any], key: str, default: int | None = None) -> int:
    """A whole number; decimals are rounded, numbers in quotes are read.

    Args:
        default: where the key is missing or null; None refuses that.

    Raises:
        FieldError: missing, or not a number.
    """
    value = raw.get(key)
    if value is None:
        if default is None:
            raise FieldError(key, "missing; a number is required")
        return default
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            raise FieldError(key, f"must be a whole number, got {value!r}") from None
    if problem := number_problem(value):
        raise FieldError(key, problem)
    if not -LARGEST < value < LARGEST:
        raise FieldError(key, f"is out of range: {value!r}")
    return round(value)


def number(raw: Mapping[str, Any], key: str, default: float | None = None, *, most: float = LARGEST) -> float:
    """A number from 0 to *most*.

    Raises:
        FieldError: missing without a default, negative, or not a number.
    """
    value = raw.get(key)
    if value is None:
        if default is None:
            raise FieldError(key, "missing; a number is required")
        return default
    if problem := number_problem(value):
        raise FieldError(key, problem)
    if value < 0:
        raise FieldError(key, f"must be at least 0, got {value!r}")
    if value > most:
        raise FieldError(key, f"must be at most {most:g}, got {value!r}")
    return float(value)


def text(raw: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """A text.

    Raises:
        FieldError: missing without a default, or not a text.
    """
    value = raw.get(key)
    if value is None:
        if default is None:
            raise FieldError(key, "missing; a text is required")
        return default
    if not isinstance(value, str):
        raise FieldError(key, f"must be a text, got {value!r}")
    return value


def items(raw: Mapping[str, Any], key: str, *, required: bool = False) -> list[Any]:
    """A list; empty where it is missing or null.

    Raises:
        FieldError: not a list, or missing although required.
    """
    value = raw.get(key)
    if value is None and not required:
        return []
    if not isinstance(value, list):
        raise FieldError(key, "missing; a list is required" if value is None else "must be a list")
    return value


def record(value: Any, path: str) -> Mapping[str, Any]:
    """An object.

    Raises:
        FieldError: anything else.
    """
    if not isinstance(value, Mapping):
        raise FieldError(path, f"must be an object, got {type(value).__name__}")
    return value
