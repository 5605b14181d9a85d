"""From the bytes of an XML file to a tree of elements that know their line. Trusts nothing it reads.

The document type definition is never fetched, entities are refused whether declared here or elsewhere
(also where an XML parser would silently leave them out), and the encoding is decided before the parser
runs, so that every encoding Python knows can be read.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from batpy.base.errors import InputError
from batpy.base.files import refuse_special

# Far above any real platform; keeps the passes that follow within Python's recursion limit.
MAX_DEPTH = 200
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARATION = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})[\"']")
_HIDDEN = re.compile(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>", re.DOTALL)
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d+|#x[0-9A-Fa-f]+);)([\w:.-]+);")


@dataclass(slots=True)
class Element:
    """One XML element.

    Attributes:
        line: line of its start tag in the file, from 1.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def __str__(self) -> str:
        """How complaints name it: ``host 'Jupiter'``."""
        name = self.attributes.get("id")
        return self.tag if name is None else f"{self.tag} {name!r}"


class _Builder:
    """Target of the parser: keeps elements and their lines, drops text and comments."""

    def __init__(self, source: str, lines_before: int) -> None:
        self.source = source
        self.lines_before = lines_before
        self.expat: Any = None
        self.root: Element | None = None
        self._open: list[Element] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, dict(attributes), self.expat.CurrentLineNumber + self.lines_before)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)
        if len(self._open) > MAX_DEPTH:
            raise InputError(
                f"elements nested deeper than {MAX_DEPTH}",
                source=self.source,
                line=element.line,
                path=str(element),
            )

    def end(self, _tag: str) -> None:
        self._open.pop()

    def data(self, _text: str) -> None:
        """Text between elements means nothing in a platform."""

    def close(self) -> Element | None:
        return self.root


def parse_file(path: Path, source: str) -> Element:
    """Read the XML file at *path*.

    Args:
        source: the file as the user named it, for complaints.

    Raises:
        InputError: not readable, not XML, an unknown encoding, or an entity.
    """
    refuse_special(path, source)
    try:
        content = path.read_bytes()
    except OSError as why:
        raise InputError(f"cannot be read: {why.strerror or why}", source=source) from None
    return parse(content, source)


def parse(content: bytes, source: str) -> Element:
    """As ``parse_file``, from the file's *content*."""
    text = _decode(content, source)
    _refuse_entities(text, source)
    # Some of Batsim's own platforms have a blank line before the XML declaration, which XML forbids.
    body = text.lstrip()
    lines_before = text[: len(text) - len(body)].count("\n")
    return _feed(body, _Builder(source, lines_before))


def _feed(body: str, builder: _Builder) -> Element:
    # Read only when an XML is read: most runs give their hosts as a number.
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser

    parser = DefusedXMLParser(target=builder, forbid_dtd=False, forbid_entities=True, forbid_external=True)
    builder.expat = parser.parser
    try:
        parser.feed(body)
        root = parser.close()
    except ParseError as why:
        line, problem = why.position[0] + builder.lines_before, str(why).split(":")[0]
        raise InputError(f"not well-formed XML: {problem}", source=builder.source, line=line) from None
    except DefusedXmlException:
        line = parser.parser.CurrentLineNumber + builder.lines_before
        raise InputError(
            "declares an XML entity, which is refused; write its value instead",
            source=builder.source,
            line=line,
        ) from None
    assert isinstance(root, Element)  # a well-formed document has a root
    return root


def _decode(content: bytes, source: str) -> str:
    encoding = "utf-8"
    for mark, name in _BOMS:
        if content.startswith(mark):
            encoding = name
            break
    else:
        declared = _DECLARATION.match(content)
        if declared is not None:
            encoding = declared[1].decode("ascii")
    try:
        return content.decode(encoding)
    except LookupError:
        raise InputError(f"unknown encoding {encoding!r}", source=source, line=1) from None
    except UnicodeDecodeError as why:
        line = content[: why.start].count(b"\n") + 1
        raise InputError(f"not a text in {encoding}: {why.reason}", source=source, line=line) from None
    except UnicodeError as why:
        raise InputError(f"not a text in {encoding}: {why}", source=source, line=1) from None


def _refuse_entities(text: str, source: str) -> None:
    """Refuse a reference to a named entity.

    A parser that must not fetch the definitions drops unknown entities of attribute values without a word,
    which would change host names.
    """
    shown = _HIDDEN.sub(lambda hidden: re.sub(r"[^\n]", " ", hidden[0]), text)
    entity = _ENTITY.search(shown)
    if entity is not None:
        line = shown[: entity.start()].count("\n") + 1
        raise InputError(
            f"the entity {entity[0]} is refused; write its value instead", source=source, line=line
        )
