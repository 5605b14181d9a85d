"""Strict reading of a tree of tables (TOML): every complaint names the path of the key and what is wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from batpy.base.dates import MAX_SECONDS
from batpy.base.errors import InputError


def closest(word: str, choices: Mapping[str, object] | list[str]) -> str:
    """``; did you mean 'x'?`` or an empty text, for the end of a complaint."""
    from difflib import get_close_matches  # only ever needed when something is wrong

    found = get_close_matches(word, list(choices), n=1, cutoff=0.6)
    return f"; did you mean {found[0]!r}?" if found else ""


class Table:
    """One table of a file. Every key must be asked for before ``finish``, which refuses the others.

    Args:
        tree: the table's content.
        path: where it stands, such as ``workload[0]``; empty for the whole file.
        source: the file as the user named it.
    """

    def __init__(self, tree: Mapping[str, Any], path: str, source: str) -> None:
        self.tree = tree
        self.path = path
        self.source = source
        self._known: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self.tree

    def place(self, key: str) -> str:
        """Path of *key* from the top of the file."""
        return f"{self.path}.{key}" if self.path else key

    def fail(self, key: str, problem: str) -> InputError:
        """The complaint about *key*, or about the table itself if *key* is empty."""
        return InputError(problem, source=self.source, path=self.place(key) if key else self.path or None)

    def finish(self) -> None:
        """Refuse keys nobody asked for.

        Raises:
            InputError: naming the key's path, the closest known key and all of them.
        """
        for key in self.tree:
            if key not in self._known:
                known = ", ".join(self._known)
                raise self.fail(key, f"unknown key{closest(key, self._known)} (known: {known})")

    def value(self, key: str) -> Any:
        """What stands under *key*, or None."""
        if key not in self._known:  # some keys are looked at twice
            self._known.append(key)
        return self.tree.get(key)

    def text(self, key: str) -> str | None:
        """A text that is not empty, or None if the key is absent."""
        value = self.value(key)
        if value is not None and (not isinstance(value, str) or not value):
            raise self.fail(key, f"must be a text, got {shown(value)}")
        if value is not None and "\0" in value:
            raise self.fail(key, "must not hold the character NUL")
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        """One of *choices*."""
        value = self.value(key)
        if value is None:
            return default
        if value not in choices:
            raise self.fail(key, f"must be {' or '.join(map(repr, choices))}, got {shown(value)}")
        return str(value)

    def switch(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self.value(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.fail(key, f"must be true or false, got {shown(value)}")
        return value

    def optional_switch(self, key: str) -> bool | None:
        """true, false, or None if the key is absent."""
        return self.switch(key, False) if key in self.tree else self.value(key)

    def integer(self, key: str, default: int | None, minimum: int, maximum: int = 2**63 - 1) -> int | None:
        """A whole number of at least *minimum* and at most *maximum*."""
        value = self.value(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
            raise self.fail(key, f"must be a whole number of at least {minimum}, got {shown(value)}")
        if value > maximum:
            raise self.fail(key, f"must be at most {maximum}, got {shown(value)}")
        return value

    def seconds(self, key: str, default: float) -> float:
        """A number from 0 to ``MAX_SECONDS``."""
        value = self.value(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
            raise self.fail(key, f"must be a number of seconds of at least 0, got {shown(value)}")
        if value > MAX_SECONDS:
            raise self.fail(key, f"must be at most {MAX_SECONDS:g} seconds, got {shown(value)}")
        return float(value)

    def texts(self, key: str) -> tuple[str, ...]:
        """A text or a list of texts, as a tuple; empty if the key is absent."""
        value = self.value(key)
        items = [value] if isinstance(value, str) else value
        if items is None:
            return ()
        if not isinstance(items, list) or not all(
            isinstance(item, str) and item and "\0" not in item for item in items
        ):
            raise self.fail(key, f"must be a list of texts, got {shown(value)}")
        return tuple(items)

    def table(self, key: str) -> Table:
        """An inner table; an empty one if the key is absent."""
        value = self.value(key)
        if value is not None and not isinstance(value, Mapping):
            raise self.fail(key, f"must be a table, got {shown(value)}")
        return Table(value or {}, self.place(key), self.source)

    def tables(self, key: str) -> list[Table]:
        """A list of tables ``[[key]]``; empty if the key is absent."""
        value = self.value(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
            raise self.fail(key, f"must be a list of tables, written [[{key}]], got {shown(value)}")
        return [Table(item, f"{self.place(key)}[{index}]", self.source) for index, item in enumerate(value)]

    def named_tables(self, key: str) -> Iterator[tuple[str, Table]]:
        """Tables ``[key.NAME]`` by name, in the order written."""
        outer = self.table(key)
        for name in outer.tree:
            yield name, outer.table(name)


def shown(value: object) -> str:
    """A value as complaints quote it, 60 letters at most."""
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
