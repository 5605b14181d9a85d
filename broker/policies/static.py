"""Fixed shares of the park: nothing is ever lent beyond them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from batpy.base.errors import InputError
from batpy.broker.policy import ParkView, SharingPolicy
from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet

_ROUNDING = 1e-9  # what a sum of decimal parts may be off
_PART = re.compile(r"(?P<tenant>[^:=\s]+):(?P<share>[0-9][0-9.+-]*)")


@dataclass(frozen=True)
class StaticOptions:
    """Options of ``static``.

    Attributes:
        shares: of each tenant, with spaces between, as ``hpc:0-63 bda:64-99+120`` (hosts), ``hpc:64
            bda:48`` (how many) or ``hpc:0.6 bda:0.4`` (parts of the park). Numbers and parts are given out
            from host 0 on in the order of the tenants. Empty for equal parts.
    """

    shares: str = ""

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for part in self.shares.split():
            match = _PART.fullmatch(part)
            if match is None or match["tenant"] in seen:
                raise ValueError(
                    f"{part!r} is not TENANT:SHARE, each tenant once, such as hpc:0-63 or hpc:0.5"
                )
            seen.add(match["tenant"])
        parts = [part.partition(":")[2] for part in self.shares.split()]
        if (total := sum(_part(text) for text in parts if _is_part(text))) > 1 + _ROUNDING:
            raise ValueError(f"the parts of the park add up to {total:g}; together they can be 1 at most")


class Static(SharingPolicy):
    """Each tenant has its own hosts, always; it sees no others."""

    Options = StaticOptions

    def __init__(self, options: StaticOptions | None = None) -> None:
        self._wanted = (options or StaticOptions()).shares
        self._shares: tuple[HostSet, ...] = ()

    def begin(self, park: ParkView) -> None:
        """See ``SharingPolicy``."""
        super().begin(park)
        texts = dict(part.split(":", 1) for part in self._wanted.split())
        if not texts:
            texts = {tenant: repr(1 / len(park.tenants)) for tenant in park.tenants}
        for tenant in texts:
            if tenant not in park.tenants:
                raise _wrong(f"there is no scheduler {tenant!r}; choose from {', '.join(park.tenants)}")
        shares: list[HostSet] = []
        free, part = 0, 0.0
        for tenant in park.tenants:
            text = texts.get(tenant)
            if text is None:
                raise _wrong(f"the share of scheduler {tenant!r} is missing")
            if "-" in text or "+" in text:
                shares.append(_hosts(text))
            elif _is_part(text):
                first = round(part * park.nb_hosts)
                part += _part(text)
                shares.append(_span(first, round(part * park.nb_hosts)))
            else:
                shares.append(_span(free, free + int(text)))
                free += int(text)
        if free > park.nb_hosts:
            raise _wrong(f"the shares add up to {free} hosts, the park has {park.nb_hosts}")
        self._shares = tuple(shares)
        self._check()

    def _check(self) -> None:
        """Every tenant has hosts, no host has two tenants."""
        park = self.park
        for tenant, hosts in zip(park.tenants, self._shares, strict=True):
            if not hosts:
                raise _wrong(f"the share of scheduler {tenant!r} is empty")
            if lost := hostset.difference(hosts, park.hosts):
                raise _wrong(
                    f"the share of scheduler {tenant!r} has host {lost[0][0]}, the park 0-{park.nb_hosts - 1}"
                )
        for i, mine in enumerate(self._shares):
            for j in range(i):
                if both := hostset.intersection(mine, self._shares[j]):
                    names = f"{park.tenants[j]!r} and {park.tenants[i]!r}"
                    raise _wrong(f"the shares of schedulers {names} both have host {both[0][0]}")

    def visible(self, tenant: int) -> HostSet:
        """The tenant's share."""
        return self._shares[tenant]


def _hosts(text: str) -> HostSet:
    pieces = text.split("+")
    try:
        if not all(pieces):
            raise ValueError("a host is missing beside a +")
        return hostset.parse(" ".join(pieces))
    except ValueError as why:
        raise _wrong(f"{text!r} is no set of hosts such as 0-63+70 ({why})") from None


def _is_part(text: str) -> bool:
    return "." in text and not any(mark in text for mark in "+-")


def _part(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is no part of the park such as 0.5") from None


def _span(first: int, end: int) -> HostSet:
    return ((first, end - 1),) if end > first else ()


def _wrong(problem: str) -> InputError:
    return InputError(problem, source="static[shares=...]")
