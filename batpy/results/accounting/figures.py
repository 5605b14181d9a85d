"""What the summary of a shared run tells about each tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from batpy.results.accounting.account import Account


class CoreSeconds(msgspec.Struct, frozen=True):
    """Core-seconds of a tenant; ``batpy.results.accounting`` defines each."""

    lent: float
    useful: float
    lost: float
    reexecuted: float
    unfinished: float
    overlap: float
    busy: float
    idle: float
    prolog: float
    blocked: float
    epilog: float


class TenantFigures(msgspec.Struct, frozen=True):
    """One tenant over the whole run; None where there is nothing to divide by.

    Attributes:
        jobs: original jobs; attempts: of them, and of what was left of them, that really started.
        disruptions: attempts killed in an instant at which a host of theirs was being taken from the tenant.
        restarts: attempts that its scheduler killed for other reasons and followed by another.
        disruptions_per_job: over the original jobs.
        disruptions_per_core_hour: over the executed core-hours.
        effectiveness: Bebida's E (IEEE Big Data 2017): core-time that was useful in the end over all that was
            spent on attempts that are over.
        recompute: share of that spent core-time which further attempts were started to do again.
        mean_waiting: seconds from a job's submission to the real start of its first attempt.
        mean_waiting_blocked: the part of it in which the start, asked for, waited until its hosts were
            vacated by other tenants and cleaned.
        mean_waiting_prolog: the part of it from the beginning of the prolog to the real start.
        held_starts: jobs whose first start really came later than it was asked for.
        dropped_starts: starts that were asked for and never passed on.
    """

    jobs: int
    attempts: int
    disruptions: int
    restarts: int
    disruptions_per_job: float | None
    disruptions_per_core_hour: float | None
    effectiveness: float | None
    recompute: float | None
    mean_waiting: float | None
    mean_waiting_blocked: float | None
    mean_waiting_prolog: float | None
    held_starts: int
    dropped_starts: int
    core_seconds: CoreSeconds


class Sharing(msgspec.Struct, frozen=True):
    """How a park was shared.

    Attributes:
        policy: as the user wrote it.
        horizon: seconds from 0 to the end of the records.
        capacity: core-seconds until then: all states of all hosts add up to it.
        down, unlent: core-seconds that belong to no tenant.
        tenants: by name, in order of rank.
    """

    policy: str
    horizon: float
    capacity: float
    down: float
    unlent: float
    tenants: dict[str, TenantFigures]


def figures(account: Account) -> Sharing:
    """The figures of the accounts."""
    begins = account.begins
    second = begins.ticks_per_second
    nobody = account.totals(-1)
    return Sharing(
        policy=begins.policy,
        horizon=account.horizon / second,
        capacity=sum(begins.cores) * account.horizon / second,
        down=nobody["down"] / second,
        unlent=nobody["unlent"] / second,
        tenants={name: _tenant(account, rank, second) for rank, name in enumerate(begins.tenants)},
    )


def _tenant(account: Account, rank: int, second: int) -> TenantFigures:
    counts, sums = account.counts[rank], account.totals(rank)
    spent = sums["useful"] + sums["lost"]
    executed = spent + sums["unfinished"]
    return TenantFigures(
        jobs=counts.jobs,
        attempts=counts.attempts,
        disruptions=counts.disruptions,
        restarts=counts.restarts,
        disruptions_per_job=_ratio(counts.disruptions, counts.jobs),
        disruptions_per_core_hour=_ratio(counts.disruptions * 3600 * second, executed),
        effectiveness=_ratio(sums["useful"], spent),
        recompute=_ratio(sums["reexecuted"], spent),
        mean_waiting=_ratio(counts.waiting, counts.first_starts * second),
        mean_waiting_blocked=_ratio(counts.blocked, counts.first_starts * second),
        mean_waiting_prolog=_ratio(counts.prolog, counts.first_starts * second),
        held_starts=counts.held_starts,
        dropped_starts=counts.dropped_starts,
        core_seconds=CoreSeconds(*(sums[name] / second for name in CoreSeconds.__struct_fields__)),
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
