"""Files of a run compared with what its journal makes of them: where they differ, told briefly."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from batpy._version import __version__
from batpy.base.errors import InputError
from batpy.results.laws import Finding
from batpy.results.summary import SUMMARY, Trim, summarise

_LONGEST = 60


class _Head(msgspec.Struct):
    """What must be known of a summary to make it again."""

    version: str
    trim: Trim


def check_summary(folder: Path, remarks: list[str]) -> Iterator[Finding]:
    """Make ``summary.json`` again, with its own trim, and compare; nothing if there is none.

    Args:
        remarks: told if it cannot be compared, or was written by another version, whose figures may mean
            something else.
    """
    path = folder / SUMMARY
    if not path.exists():
        return
    try:
        content = path.read_bytes()
        head, kept = msgspec.json.decode(content, type=_Head), msgspec.json.decode(content)
    except (OSError, msgspec.MsgspecError) as why:
        yield Finding("summary-unreadable", SUMMARY, str(why))
        return
    if head.version != __version__:
        remarks.append(f"{SUMMARY} is of version {head.version}; its figures were not compared")
        return
    try:
        made = msgspec.json.decode(summarise(folder, head.trim).to_json())
    except InputError as error:
        # The laws, or the tables, say so already.
        remarks.append(f"{SUMMARY} was not compared: {error.problem}")
        return
    for key, theirs, ours in _differences(kept, made, ""):
        yield Finding("summary-differs", f"{SUMMARY}: {key}", f"holds {theirs}, the journal says {ours}")


def _differences(kept: Any, made: Any, path: str) -> Iterator[tuple[str, str, str]]:
    """Path, their value and ours, wherever two trees differ."""
    if isinstance(kept, Mapping) and isinstance(made, Mapping):
        for key in dict.fromkeys((*kept, *made)):
            inside = f"{path}.{key}" if path else key
            yield from _differences(kept.get(key), made.get(key), inside)
    elif kept != made:
        yield path, _short(kept), _short(made)


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return "an object"
    return _cut("nothing" if value is None else msgspec.json.encode(value).decode())


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def table_difference(kept: bytes, made: bytes) -> tuple[int, str]:
    """Line of the first difference between two tables, from 1, and what it is: the column and both values."""
    theirs, ours = kept.splitlines(keepends=True), made.splitlines(keepends=True)
    # Equal tables have no first difference; nobody asks for it.
    lines = range(max(len(theirs), len(ours)))
    i = next(i for i in lines if theirs[i : i + 1] != ours[i : i + 1])
    if i >= len(theirs) or i >= len(ours):
        more, row = ("more", theirs[i]) if i >= len(ours) else ("fewer", ours[i])
        return i + 1, f"has {more} rows than the journal makes, from {_cut(_text(row).rstrip())!r} on"
    a, b = _text(theirs[i]), _text(ours[i])
    if a.rstrip("\n") == b.rstrip("\n"):
        return i + 1, "differs in the end of its line"
    names, left, right = (next(csv.reader([row.rstrip("\n")]), []) for row in (_text(ours[0]), a, b))
    if i == 0 or not len(names) == len(left) == len(right):
        return i + 1, f"holds {_cut(a.rstrip())!r}, the journal says {_cut(b.rstrip())!r}"
    wrong = [k for k in range(len(names)) if left[k] != right[k]]
    if not wrong:
        return i + 1, "differs in its quotes"
    what = f"{names[wrong[0]]} is {_cut(left[wrong[0]])!r}, the journal says {_cut(right[wrong[0]])!r}"
    return i + 1, what + (f" (and {len(wrong) - 1} more columns differ)" if len(wrong) > 1 else "")


def _text(row: bytes) -> str:
    return row.decode(errors="replace")
