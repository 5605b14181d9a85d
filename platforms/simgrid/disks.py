"""Disks of a platform file: ``disk`` elements, and the older ``storage_type``, ``storage`` and ``mount``.

Formats: SimGrid 3.27 and later have ``<disk>`` inside a host (platform version 4.1). Until 3.26 a
``<storage>`` of a ``<storage_type>`` was attached to a host, and hosts mounted it. Of one that is mounted far
from the host it is attached to, only the disk itself is kept. Sizes and bandwidths without a unit are in
bytes and bytes per second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from batpy.platforms.disks import Disk
from batpy.platforms.simgrid.elements import ElementReader
from batpy.platforms.simgrid.xml_tree import Element
from batpy.platforms.units import BANDWIDTHS, quantity, size_bytes

OLDER = ("storage_type", "storage")
# Older attributes that say what is on a disk; kept as properties, as ``disk`` elements write them.
_KEPT = ("model", "content", "content_type")


@dataclass(frozen=True, slots=True)
class PlacedDisk:
    """A disk that is described elsewhere than its host.

    Attributes:
        line, title: of the element that describes it.
    """

    host: str
    disk: Disk
    line: int
    title: str


@dataclass(frozen=True, slots=True)
class _Kind:
    """A ``storage_type``."""

    read: float
    write: float
    capacity: int | None
    properties: Mapping[str, str]


def read_disk(reader: ElementReader, element: Element) -> Disk:
    """A ``disk`` element.

    Raises:
        InputError: a bandwidth is missing, malformed or 0.
    """
    properties = _properties(reader, element)
    size = properties.get("size")
    capacity = None
    if size is not None:
        try:
            capacity = size_bytes(size)
        except ValueError as why:
            # A property is the user's own word to SimGrid, so that one of ours in another sense is no error.
            reader.once(element, f"{element}: property size {why}; it is ignored")
    return Disk(
        reader.text(element, "id"),
        _bandwidth(reader, element, "read_bw", reader.text(element, "read_bw")),
        _bandwidth(reader, element, "write_bw", reader.text(element, "write_bw")),
        capacity,
        properties.get("mount", ""),
        properties,
    )


def add_disk(disks: tuple[Disk, ...], disk: Disk) -> tuple[Disk, ...] | None:
    """The disks of a host with one more; None if there is one of that name."""
    return None if any(other.name == disk.name for other in disks) else (*disks, disk)


class OlderDisks:
    """Collects the older elements of one file; they may name one another in any order.

    Args:
        reader: reads the attributes.
    """

    def __init__(self, reader: ElementReader) -> None:
        self._reader = reader
        self._types: dict[str, Element] = {}
        self._storages: dict[str, Element] = {}
        # Host, mount point and element of each ``mount``, by storage.
        self._mounts: dict[str, list[tuple[str, str, Element]]] = {}

    def add(self, element: Element) -> None:
        """Take a ``storage_type`` or a ``storage``.

        Raises:
            InputError: there is one of that name.
        """
        known = self._types if element.tag == "storage_type" else self._storages
        name = self._reader.text(element, "id")
        if name in known:
            told = f"there is already a {element.tag} {name!r}, of line {known[name].line}"
            raise self._reader.fail(element, told)
        known[name] = element

    def mount(self, host: str, element: Element) -> None:
        """Take a ``mount`` of a host; what it mounts has been called ``storageId`` and ``id``."""
        name = element.attributes.get("storageId") or element.attributes.get("id")
        if not name:
            raise self._reader.fail(element, "needs the attribute storageId")
        self._mounts.setdefault(name, []).append((host, element.attributes.get("name", ""), element))

    def placed(self) -> Iterator[PlacedDisk]:
        """Every storage, as a disk of the host that it is attached to.

        Raises:
            InputError: a storage of no type or on no host, a mount of no storage, or a malformed type.
        """
        reader = self._reader
        for name, mounts in self._mounts.items():
            if name not in self._storages:
                raise reader.fail(mounts[0][2], f"there is no storage {name!r} to mount")
        kinds = {name: self._kind(element) for name, element in self._types.items()}
        for name, element in self._storages.items():
            wanted = reader.text(element, "typeId")
            if wanted not in kinds:
                raise reader.fail(element, f"there is no storage_type {wanted!r}")
            kind, mounts = kinds[wanted], self._mounts.get(name, [])
            host = element.attributes.get("attach", "")
            if not host:
                # Until SimGrid 3.11 a storage was on the host that mounts it.
                if not mounts:
                    raise reader.fail(element, "needs the attribute attach: the host that it is on")
                host = mounts[0][0]
            point = next((point for on, point, _ in mounts if on == host), "")
            properties = {**kind.properties, **_properties(reader, element)}
            disk = Disk(name, kind.read, kind.write, kind.capacity, point, properties)
            yield PlacedDisk(host, disk, element.line, str(element))

    def _kind(self, element: Element) -> _Kind:
        reader = self._reader
        # Version 3 wrote the figures of the model as ordinary properties.
        figures = _properties(reader, element)
        for child in element.children:
            if child.tag == "model_prop":
                figures[reader.text(child, "id")] = child.attributes.get("value", "")
        for key in ("Bread", "Bwrite"):
            if key not in figures:
                raise reader.fail(element, f"needs a model_prop {key}: its bandwidth, such as 100MBps")
        read = _bandwidth(reader, element, "model_prop Bread", figures["Bread"])
        write = _bandwidth(reader, element, "model_prop Bwrite", figures["Bwrite"])
        size = element.attributes.get("size")
        try:
            capacity = None if size is None else size_bytes(size)
        except ValueError as why:
            raise reader.fail(element, f"size {why}") from None
        return _Kind(read, write, capacity, _properties(reader, element))


def _properties(reader: ElementReader, element: Element) -> dict[str, str]:
    properties = {key: element.attributes[key] for key in _KEPT if key in element.attributes}
    for child in element.children:
        if child.tag == "prop":
            properties[reader.text(child, "id")] = child.attributes.get("value", "")
    return properties


def _bandwidth(reader: ElementReader, element: Element, key: str, written: str) -> float:
    try:
        value = quantity(written, BANDWIDTHS, "100MBps")
    except ValueError as why:
        raise reader.fail(element, f"{key} {why}") from None
    if not value > 0:
        raise reader.fail(element, f"{key} {written!r} must be above 0")
    return value
