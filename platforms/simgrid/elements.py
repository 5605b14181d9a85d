"""What every reader of elements needs: attributes with their rules, complaints with their line, notices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from batpy.base.errors import InputError
from batpy.platforms.simgrid.xml_tree import Element
from batpy.platforms.units import quantity


class ElementReader:
    """Reads attributes of the elements of one file.

    Args:
        source: the file as the user named it.
        notice: told, once per kind, what was left out.
    """

    def __init__(self, source: str, notice: Callable[[str], None]) -> None:
        self.source = source
        self._notice = notice
        self._noticed: set[str] = set()

    def fail(self, element: Element, problem: str) -> InputError:
        """The complaint about *element*."""
        return InputError(problem, source=self.source, line=element.line, path=str(element))

    def once(self, element: Element, text: str) -> None:
        """Tell *text* with the line of *element*, unless it was told before."""
        if text not in self._noticed:
            self._noticed.add(text)
            self._notice(f"{self.source}:{element.line}: {text}")

    def text(self, element: Element, key: str) -> str:
        """The attribute *key*, which must be there.

        Raises:
            InputError: it is absent or empty.
        """
        value = element.attributes.get(key, "")
        if not value:
            raise self.fail(element, f"needs the attribute {key}")
        return value

    def integer(self, element: Element, key: str, minimum: int) -> int | None:
        """The attribute *key* as an integer of at least *minimum*; None if absent.

        Raises:
            InputError: it is no such integer.
        """
        text = element.attributes.get(key)
        if text is None:
            return None
        digits = text.strip()
        if not (digits.isascii() and digits.isdigit() and len(digits) < 10 and int(digits) >= minimum):
            raise self.fail(element, f"{key} must be an integer of at least {minimum}, got {text!r}")
        return int(digits)

    def amount(self, element: Element, key: str, units: Mapping[str, float], example: str) -> float | None:
        """The attribute *key* in the base unit of *units*; None if absent or empty.

        Raises:
            InputError: it is no number with a known unit.
        """
        written = element.attributes.get(key, "")
        if not written.strip():
            return None
        try:
            return quantity(written, units, example)
        except ValueError as why:
            raise self.fail(element, f"{key} {why}") from None

    def choice(self, element: Element, key: str, known: Sequence[str], default: str) -> str:
        """The attribute *key*, one of *known*.

        Raises:
            InputError: it is none of them.
        """
        value = element.attributes.get(key) or default
        if value not in known:
            raise self.fail(element, f"{key} {value!r} is not known; known: {', '.join(known)}")
        return value
