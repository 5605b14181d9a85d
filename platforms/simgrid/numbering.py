"""From descriptions to numbered hosts: inheritance, roles and Batsim's numbering.

Rules of Batsim 4.2.1: compute hosts first, in lexicographic order of their names, then storage hosts in the
same order; the master has no number. Properties of a zone reach every host inside, inner zones win; those of
a cluster reach each of its hosts twice, as its own and as its zone's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from batpy.base.errors import InputError
from batpy.platforms.disks import Disk
from batpy.platforms.platform import Host, Platform
from batpy.platforms.simgrid.disks import PlacedDisk, add_disk
from batpy.platforms.simgrid.zones import ClusterDescription, HostDescription, ZoneDescription
from batpy.platforms.units import size_bytes

MASTER = "master"
STORAGE = "storage"
# What a user may write, and what it means for the numbering.
ROLES = {"": "", "compute_node": "", MASTER: MASTER, STORAGE: STORAGE}
DEFAULT_MASTER = "master_host"


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user says beside the file.

    Attributes:
        master_host: name of the master unless a host has that role; None for ``master_host`` if it exists.
        roles: host name to role, in place of the file's.
        mmax: keep only the first so many compute hosts; 0 for all.
        cores, memory, gpus: per host, for hosts that do not say it themselves; memory in bytes.
    """

    master_host: str | None = None
    roles: Mapping[str, str] | None = None
    mmax: int = 0
    cores: int = 1
    memory: int | None = None
    gpus: int = 0


def number_hosts(
    whole: ZoneDescription, source: str, choices: Choices, notice: Callable[[str], None]
) -> Platform:
    """The platform of a described file.

    Raises:
        InputError: two hosts of one name, an unknown role, two masters, a compute host that cannot
            compute, or a host named by *choices* that does not exist.
    """
    return _Numbering(source, choices, notice).platform(whole)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What hosts of one element have in common; large clusters are cheap because they share one."""

    description: HostDescription
    role: str
    cores: int
    memory: int | None
    gpus: int
    properties: dict[str, str]
    zone_properties: dict[str, str]
    disks: tuple[Disk, ...] = ()

    def host(self, number: int, name: str) -> Host:
        description = self.description
        return Host(
            number,
            name,
            self.role,
            description.speeds,
            self.cores,
            description.pstate,
            self.memory,
            self.gpus,
            self.properties,
            self.zone_properties,
            self.disks,
        )


class _Numbering:
    def __init__(self, source: str, choices: Choices, notice: Callable[[str], None]) -> None:
        self.source = source
        self.choices = choices
        self.notice = notice
        self.roles = dict(choices.roles or {})

    def platform(self, whole: ZoneDescription) -> Platform:
        kinds: dict[str, _Kind] = {}
        for name, kind in self._expand(whole, {}):
            if name in kinds:
                first = kinds[name].description.line
                raise self._fail(kind.description, f"there is already a host {name!r}, of line {first}")
            kinds[name] = kind
        for placed in whole.disks:
            self._place(placed, kinds)
        for name in self.roles:
            if name not in kinds:
                raise InputError(f"there is no host {name!r} to give a role to", source=self.source)
        master = self._master(kinds)
        ordered = sorted(kinds)
        compute = [name for name in ordered if name != master and kinds[name].role != STORAGE]
        storage = [name for name in ordered if name != master and kinds[name].role == STORAGE]
        self._check_compute(compute, kinds)
        if self.choices.mmax:
            compute = compute[: self.choices.mmax]
        return Platform(
            self.source,
            tuple([kinds[name].host(number, name) for number, name in enumerate(compute)]),
            tuple([kinds[name].host(number, name) for number, name in enumerate(storage, len(compute))]),
            master,
        )

    def _place(self, placed: PlacedDisk, kinds: dict[str, _Kind]) -> None:
        """Give a disk to its host."""
        kind = kinds.get(placed.host)
        disks = None if kind is None else add_disk(kind.disks, placed.disk)
        if kind is None or disks is None:
            told = f"there is no host {placed.host!r} to attach it to"
            if kind is not None:
                told = f"host {placed.host!r} already has a disk of this name"
            raise InputError(told, source=self.source, line=placed.line, path=placed.title)
        kinds[placed.host] = replace(kind, disks=disks)

    def _check_compute(self, names: list[str], kinds: Mapping[str, _Kind]) -> None:
        if not names:
            raise InputError("has no compute host", source=self.source)
        for name in names:
            description = kinds[name].description
            if not max(description.speeds):
                problem = f"{name!r} computes but has speed 0; give it a speed, or the role master or storage"
                raise self._fail(description, problem)

    def _fail(self, description: HostDescription, problem: str) -> InputError:
        return InputError(problem, source=self.source, line=description.line, path=description.title)

    def _expand(self, zone: ZoneDescription, inherited: dict[str, str]) -> Iterator[tuple[str, _Kind]]:
        around = {**inherited, **zone.properties}
        for member in zone.members:
            if isinstance(member, ZoneDescription):
                yield from self._expand(member, around)
            elif isinstance(member, ClusterDescription):
                inside = {**around, **member.host.properties} if member.forms_zone else around
                shared = self._kind("", member.host, inside)
                for name in member.names():
                    own = self.roles and name in self.roles
                    yield name, self._kind(name, member.host, inside) if own else shared
            elif isinstance(member, HostDescription):
                yield member.name, self._kind(member.name, member, around)

    def _kind(self, name: str, description: HostDescription, around: dict[str, str]) -> _Kind:
        role = self.roles.get(name, description.properties.get("role", ""))
        if role not in ROLES:
            known = ", ".join(sorted(filter(None, ROLES)))
            raise self._fail(description, f"unknown role {role!r}; known: {known}")
        memory, gpus = self._memory(description), self._count_of(description, "gpus", self.choices.gpus)
        # Schedulers learn memory and GPUs from properties only, so those the user gave beside the file join.
        properties = {} if memory is None else {"memory": str(memory)}
        if gpus:
            properties["gpus"] = str(gpus)
        properties |= description.properties
        properties["role"] = role
        cores = self._cores(description)
        return _Kind(description, ROLES[role], cores, memory, gpus, properties, around, description.disks)

    def _cores(self, description: HostDescription) -> int:
        if description.cores is not None:
            return description.cores
        return self._count_of(description, "cores", self.choices.cores) or 1

    def _count_of(self, description: HostDescription, key: str, default: int) -> int:
        text = description.properties.get(key)
        if text is None:
            return default
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            self._ignored(description, key, text, "is not a count")
            return default
        return int(text)

    def _memory(self, description: HostDescription) -> int | None:
        text = description.properties.get("memory")
        if text is None:
            return self.choices.memory
        try:
            return size_bytes(text)
        except ValueError:
            self._ignored(description, "memory", text, "is not a size such as 64GiB")
            return self.choices.memory

    def _ignored(self, description: HostDescription, key: str, text: str, why: str) -> None:
        # Properties are the user's own words to Batsim, so a word of ours in another sense is no error.
        self.notice(
            f"{self.source}:{description.line}: {description.title}: {key} {text!r} {why}; it is ignored"
        )

    def _master(self, kinds: Mapping[str, _Kind]) -> str | None:
        masters = [name for name, kind in kinds.items() if kind.role == MASTER]
        if len(masters) > 1:
            second = kinds[masters[1]].description
            raise self._fail(second, f"two hosts have the role master: {masters[0]!r} and {masters[1]!r}")
        chosen = self.choices.master_host
        if masters:
            if chosen not in (None, masters[0]):
                self.notice(f"{self.source}: {masters[0]!r} has the role master, so {chosen!r} is not it")
            return masters[0]
        if chosen is not None and chosen not in kinds:
            raise InputError(f"there is no host {chosen!r} to be the master", source=self.source)
        name = DEFAULT_MASTER if chosen is None else chosen
        if name in kinds:
            return name
        similar = next((name for name in sorted(kinds) if name.startswith("master")), None)
        hint = f"; if {similar!r} is the master, say so" if similar else ""
        self.notice(
            f"{self.source}: no host has the role master and none is called {DEFAULT_MASTER!r} "
            f"(Batsim refuses such a platform); all hosts are numbered{hint}"
        )
        return None
