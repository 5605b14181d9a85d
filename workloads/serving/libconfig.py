"""Files in libconfig's language, as far as Clockwork uses it: groups, integers, booleans and texts.

Read from the language's description: a setting is ``name = value`` or ``name : value``, ended by ``;`` or
``,`` or nothing; integers may end in ``L``; comments are ``#``, ``//`` and ``/* */``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from batpy.base.errors import InputError
from batpy.base.files import read_text

Value = int | bool | str
Tree = dict[str, "Value | Tree"]
MAX_DEPTH = 32

_TOKENS = re.compile(
    r"""(?P<blank>(?:\s|\#[^\n]*|//[^\n]*|/\*.*?\*/)+)
    |(?P<name>[A-Za-z*][-A-Za-z0-9_*]*)
    |(?P<number>[-+]?(?:0[xX][0-9A-Fa-f]+|[0-9]+)L{0,2}(?![\w.]))
    |(?P<text>"(?:[^"\\\n]|\\.)*")
    |(?P<mark>[{}=:;,])""",
    re.VERBOSE | re.DOTALL,
)


class _Parser:
    """Reads one text; keeps the line of each setting for complaints."""

    def __init__(self, text: str, source: str) -> None:
        self._source = source
        self._tokens: list[tuple[str, str, int]] = []
        place, line = 0, 1
        while place < len(text):
            found = _TOKENS.match(text, place)
            if found is None:
                raise InputError(
                    f"cannot be read as libconfig from {text[place : place + 20]!r} on",
                    source=source,
                    line=line,
                )
            if found.lastgroup != "blank":
                self._tokens.append((str(found.lastgroup), found[0], line))
            line += found[0].count("\n")
            place = found.end()
        self._tokens.append(("end", "the end of the file", line))
        self._at = 0
        self.lines: dict[str, int] = {}

    def group(self, path: str = "", depth: int = 0) -> Tree:
        """The settings up to the end of the file, or of the group."""
        tree: Tree = {}
        while self._tokens[self._at][0] == "name":
            _, name, line = self._take()
            place = f"{path}.{name}" if path else name
            if name in tree:
                raise self._wrong(f"the setting {place!r} is given twice", line)
            self._want("=", ":")
            self.lines[place] = line
            tree[name] = self._value(place, depth)
            if self._tokens[self._at][1] in (";", ",") and self._tokens[self._at][0] == "mark":
                self._take()
        if not path and self._tokens[self._at][0] != "end":
            _, seen, line = self._take()
            raise self._wrong(f"want the name of a setting, got {seen!r}", line)
        return tree

    def _value(self, path: str, depth: int) -> Value | Tree:
        kind, seen, line = self._take()
        if kind == "number":
            return int(seen.rstrip("L"), 16 if "x" in seen.lower() else 10)
        if kind == "text":
            return re.sub(r"\\(.)", r"\1", seen[1:-1])
        if kind == "name" and seen.lower() in ("true", "false"):
            return seen.lower() == "true"
        if seen == "{" and kind == "mark":
            if depth >= MAX_DEPTH:
                raise self._wrong(f"groups are nested more than {MAX_DEPTH} deep", line)
            tree = self.group(path, depth + 1)
            self._want("}")
            return tree
        raise self._wrong(f"want an integer, true, false, a text or a group for {path!r}, got {seen!r}", line)

    def _want(self, *marks: str) -> None:
        kind, seen, line = self._take()
        if kind != "mark" or seen not in marks:
            raise self._wrong(f"want {' or '.join(marks)}, got {seen!r}", line)

    def _take(self) -> tuple[str, str, int]:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _wrong(self, problem: str, line: int) -> InputError:
        return InputError(problem, source=self._source, line=line)


def read_libconfig(path: str | Path, source: str | None = None) -> tuple[Tree, Mapping[str, int]]:
    """The settings of a file, and the line of each one by its path, such as ``a.b``.

    Raises:
        InputError: it cannot be read or is not in that language, with the line.
    """
    source = str(path) if source is None else source
    parser = _Parser(read_text(path, source), source)
    return parser.group(), parser.lines
