"""The account of what an importer left out or accepted although it is odd; strict mode ends at the first."""

from __future__ import annotations

from collections import Counter

from batpy.base.errors import InputError


class Tally:
    """Counts by reason, each with the place where it was first met.

    Args:
        strict: refuse what would be left out or repaired.
    """

    def __init__(self, strict: bool = False) -> None:
        self.strict = strict
        self.skipped: Counter[str] = Counter()
        self.noted: Counter[str] = Counter()
        self.first: dict[str, str] = {}

    def skip(
        self, reason: str, source: str, line: int | None = None, path: str | None = None, detail: str = ""
    ) -> None:
        """Leave something out.

        Args:
            reason: the same words each time, to be counted.
            detail: what is special about this case; shown in strict mode.

        Raises:
            InputError: in strict mode.
        """
        self._refuse(reason, source, line, path, detail)
        self.skipped[reason] += 1
        self._remember(reason, source, line, path)

    def repair(
        self, kind: str, source: str, line: int | None = None, path: str | None = None, detail: str = ""
    ) -> None:
        """Accept what breaks the format, in lenient mode only.

        Raises:
            InputError: in strict mode.
        """
        self._refuse(kind, source, line, path, detail)
        self.note(kind, source, line, path)

    def note(self, kind: str, source: str, line: int | None = None, path: str | None = None) -> None:
        """Accept an oddity that the format allows."""
        self.noted[kind] += 1
        self._remember(kind, source, line, path)

    def report(self) -> list[str]:
        """One line for each reason, sorted."""
        lines = []
        for word, counter in (("left out", self.skipped), ("accepted", self.noted)):
            for reason, count in sorted(counter.items()):
                lines.append(f"{word}: {count} x {reason} (first at {self.first[reason]})")
        return lines

    def reasons(self) -> str:
        """What was left out, in a few words."""
        return ", ".join(f"{count} x {reason}" for reason, count in sorted(self.skipped.items()))

    def _remember(self, reason: str, source: str, line: int | None, path: str | None) -> None:
        if reason not in self.first:
            self.first[reason] = f"{source}:{line}" if line else ": ".join(filter(None, (source, path)))

    def _refuse(self, rule: str, source: str, line: int | None, path: str | None, detail: str) -> None:
        if self.strict:
            problem = f"{rule}: {detail}" if detail else rule
            raise InputError(f"{problem} (strict)", source=source, line=line, path=path)
