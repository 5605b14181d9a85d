"""From XML elements to typed descriptions of zones, hosts, clusters, cabinets and peers.

Nothing is numbered or expanded here, and nothing is inherited: a description says what one element says.
Elements and their meaning: SimGrid 3.32 (platform versions 4 and 4.1) and its older spellings (version 3).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from batpy.base.errors import InputError
from batpy.platforms.platform import MAX_HOSTS
from batpy.platforms.simgrid.xml_tree import Element
from batpy.platforms.units import speeds

VERSIONS = ("3", "4", "4.1")
_INTERVAL = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")

# Elements that say nothing about which hosts there are.
_LINKS = ("backbone", "host_link", "link", "link_ctn", "route", "router", "zoneRoute", "ASroute")
_DETOURS = ("bypassRoute", "bypassZoneRoute", "bypassASroute")
_STORAGE = ("disk", "storage", "storage_type", "mount", "mstorage", "model_prop")
_SILENT = frozenset((*_LINKS, *_DETOURS, *_STORAGE, "config", "random", "trace", "trace_connect"))
_DEPLOYMENT = frozenset(("actor", "process"))
# Files of changing speeds and outages, which the hosts are read without.
_PROFILES = ("availability_file", "state_file", "speed_file")


@dataclass(frozen=True, slots=True)
class HostDescription:
    """A ``host`` or ``peer`` element.

    Attributes:
        speeds: flops per second and core, one per pstate.
        cores: None if the element does not say it.
        line: of its start tag.
    """

    name: str
    speeds: tuple[float, ...]
    cores: int | None
    pstate: int
    properties: dict[str, str]
    line: int
    title: str


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """A ``cluster`` or ``cabinet`` element: one host per number of its radical, all alike.

    Attributes:
        numbers: the radical ``0-3,7`` as ranges, in the order written.
        forms_zone: a cluster is a zone of its own, a cabinet belongs to the zone around it.
        host: what each of its hosts is like; its name is the cluster's id.
    """

    prefix: str
    suffix: str
    numbers: tuple[range, ...]
    forms_zone: bool
    host: HostDescription

    def names(self) -> list[str]:
        """Names of its hosts, in the order of the radical."""
        return [f"{self.prefix}{number}{self.suffix}" for numbers in self.numbers for number in numbers]


@dataclass(slots=True)
class ZoneDescription:
    """A ``zone`` (older: ``AS``) element, or the whole platform.

    Attributes:
        members: hosts, clusters and inner zones, in the order written.
    """

    id: str
    routing: str
    line: int
    properties: dict[str, str] = field(default_factory=dict)
    members: list[HostDescription | ClusterDescription | ZoneDescription] = field(default_factory=list)


class ZoneReader:
    """Describes the elements of one file.

    Args:
        source: the file as the user named it.
        notice: told, once per kind, what was left out.
    """

    def __init__(self, source: str, notice: Callable[[str], None]) -> None:
        self.source = source
        self._notice = notice
        self._noticed: set[str] = set()
        self._hosts = 0

    def platform(self, root: Element) -> ZoneDescription:
        """Describe a whole file.

        Raises:
            InputError: not a platform, a version that is not known, or a malformed element.
        """
        if root.tag != "platform":
            raise self.fail(root, f"the root of a platform file is <platform>, not <{root.tag}>")
        version = root.attributes.get("version", "")
        if version not in VERSIONS:
            told = f"version {version!r} is not known" if version else "has no version"
            raise self.fail(root, f"{told}; known: {', '.join(VERSIONS)}")
        if root.children and all(child.tag in _DEPLOYMENT for child in root.children):
            raise self.fail(root, "a deployment file (it has only actors), not a platform")
        whole = ZoneDescription("", "", root.line)
        self._fill(whole, root)
        if not self._hosts:
            raise self.fail(root, "has no host")
        return whole

    def fail(self, element: Element, problem: str) -> InputError:
        """The complaint about *element*."""
        return InputError(problem, source=self.source, line=element.line, path=str(element))

    def _fill(self, zone: ZoneDescription, element: Element) -> None:
        for child in element.children:
            if child.tag == "prop":
                self._property(child, zone.properties)
            elif child.tag in ("zone", "AS"):
                inner = ZoneDescription(
                    self._text(child, "id"), child.attributes.get("routing", "None"), child.line
                )
                self._fill(inner, child)
                zone.members.append(inner)
            elif child.tag in ("cluster", "cabinet"):
                zone.members.append(self._cluster(child))
            elif child.tag in ("host", "peer"):
                self._count(child, 1)
                zone.members.append(self._host(child))
            else:
                self._other(child)

    def _other(self, element: Element) -> None:
        if element.tag == "include":
            raise self.fail(element, "<include> is not supported; paste the included file in its place")
        if element.tag in _DEPLOYMENT:
            self._once(element, f"<{element.tag}> belongs to a deployment file and is ignored")
        elif element.tag not in _SILENT:
            self._once(element, f"unknown element <{element.tag}> is ignored")

    def _once(self, element: Element, text: str) -> None:
        if text not in self._noticed:
            self._noticed.add(text)
            self._notice(f"{self.source}:{element.line}: {text}")

    def _cluster(self, element: Element) -> ClusterDescription:
        numbers = self._radical(element)
        self._count(element, sum(map(len, numbers)))
        prefix, suffix = (element.attributes.get(key, "") for key in ("prefix", "suffix"))
        return ClusterDescription(prefix, suffix, numbers, element.tag == "cluster", self._host(element))

    def _radical(self, element: Element) -> tuple[range, ...]:
        ranges = []
        text = self._text(element, "radical")
        for part in text.split(","):
            match = _INTERVAL.fullmatch(part)
            if match is None:
                raise self.fail(
                    element, f"radical {text!r}: {part!r} is neither a number nor an interval a-b"
                )
            first = int(match[1])
            last = int(match[2]) if match[2] is not None else first
            if last < first:
                raise self.fail(element, f"radical {text!r}: {part!r} ends before it begins")
            ranges.append(range(first, last + 1))
        return tuple(ranges)

    def _count(self, element: Element, more: int) -> None:
        self._hosts += more
        if self._hosts > MAX_HOSTS:
            raise self.fail(element, f"more than {MAX_HOSTS} hosts")

    def _host(self, element: Element) -> HostDescription:
        properties: dict[str, str] = {}
        for child in element.children:
            if child.tag == "prop":
                self._property(child, properties)
            else:
                self._other(child)
        for key in _PROFILES:
            if key in element.attributes:
                self._once(element, f"{key} is ignored: hosts keep their speed and are always on")
        values = self._speeds(element)
        cores = self._integer(element, "core", 1)
        pstate = self._integer(element, "pstate", 0)
        if pstate is not None and pstate >= len(values):
            raise self.fail(element, f"pstate {pstate} is beyond its {len(values)} speed(s)")
        return HostDescription(
            self._text(element, "id"), values, cores, pstate or 0, properties, element.line, str(element)
        )

    def _speeds(self, element: Element) -> tuple[float, ...]:
        # ``power`` is the name of ``speed`` up to version 3.
        written = element.attributes.get("speed", element.attributes.get("power"))
        if written is None:
            raise self.fail(element, 'needs a speed, such as speed="1Gf"')
        try:
            return speeds(written)
        except ValueError as why:
            raise self.fail(element, f"speed {why}") from None

    def _property(self, element: Element, into: dict[str, str]) -> None:
        into[self._text(element, "id")] = element.attributes.get("value", "")

    def _text(self, element: Element, key: str) -> str:
        value = element.attributes.get(key, "")
        if not value:
            raise self.fail(element, f"needs the attribute {key}")
        return value

    def _integer(self, element: Element, key: str, minimum: int) -> int | None:
        text = element.attributes.get(key)
        if text is None:
            return None
        digits = text.strip()
        if not (digits.isascii() and digits.isdigit() and len(digits) < 10 and int(digits) >= minimum):
            raise self.fail(element, f"{key} must be an integer of at least {minimum}, got {text!r}")
        return int(digits)
