"""What a sharing policy answers with: plain values, carried out by the broker in list order.

Hosts are the park's ids, durations ticks, tenants their rank (0 is served first).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from batpy.protocol.hostset import HostSet

OnTimeout = Literal["seize", "cancel", "fail"]


@dataclass(frozen=True, slots=True)
class Grant:
    """Pass the start on as soon as its hosts are in nobody's use."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Pass the start on when these tenants are away from its hosts, all jobs on them are over, and the
    prolog has passed.

    Attributes:
        clear_of: tenants that must have vacated the hosts.
        prolog: ticks from now on that the preparation takes at least.
    """

    clear_of: tuple[int, ...]
    prolog: int = 0


@dataclass(frozen=True, slots=True)
class Deny:
    """Refuse the start: the scheduler broke the policy's rule, told in *reason*."""

    reason: str


@dataclass(frozen=True, slots=True)
class Revoke:
    """Ask a tenant to vacate hosts that are lent to it.

    A tenant that does not speak the sharing extension is not asked: its jobs there are killed after the
    grace. A start for whose sake hosts of its own are asked back waits until these are vacated.

    Attributes:
        grace: ticks that its victims may still run.
        timeout: ticks after which ``on_timeout`` happens; None for never.
        on_timeout: ``seize`` the hosts and kill what still runs there; ``cancel`` the start that wants them
            and take the revocation back; ``fail``: the tenant counts as failed.
    """

    tenant: int
    hosts: HostSet
    grace: int = 0
    timeout: int | None = None
    on_timeout: OnTimeout = "seize"


@dataclass(frozen=True, slots=True)
class Give:
    """Let a tenant use hosts again, after *delay* ticks."""

    tenant: int
    hosts: HostSet
    delay: int = 0


@dataclass(frozen=True, slots=True)
class Clean:
    """Keep the hosts of a job that ended for an epilog.

    Attributes:
        ticks: how long.
        blocking: the tenant is told that the job is over only after it.
    """

    ticks: int
    blocking: bool = False


@dataclass(frozen=True, slots=True)
class Timer:
    """Call the policy's ``timer(key)`` at a date in ticks."""

    key: str
    at: int


Action = Grant | Hold | Deny | Revoke | Give | Clean | Timer
