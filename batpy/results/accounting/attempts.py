"""The life of a job behind a broker, and of the work that its attempts share."""

from __future__ import annotations

from batpy.protocol.hostset import EMPTY, HostSet

NO_TENANT = -1


class Attempt:
    """One job as the simulator knows it. Dates are ticks, -1 as long as they have not come.

    Attributes:
        tenant: rank, ``NO_TENANT`` until the broker has told.
        original: what it is an attempt at.
        subtime: its submission.
        asked, clear, released: its start was asked for, all its hosts were vacated, it was passed on.
        start, end: it ran from and until.
        alloc: its compute hosts.
        cores: of these together.
        state: how it ended, "" as long as it has not.
        killed: on demand.
        revoked: killed while one of its hosts was being taken from its tenant.
        leaf_since: tick at which the leaf began in which it was killed, -1 if not told.
        whole: its work (flops, bytes, seconds), empty if not told.
        finished, done: of a killed one, work of leaves that were over, and all that was done.
    """

    __slots__ = (
        *("alloc", "asked", "clear", "cores", "done", "end", "finished", "job", "killed", "leaf_since"),
        *("original", "profile", "released", "revoked", "start", "state", "subtime", "tenant", "whole"),
    )

    def __init__(self, job: str) -> None:
        self.job = job
        self.tenant = NO_TENANT
        self.profile = ""
        self.subtime = self.asked = self.clear = self.released = self.start = self.end = -1
        self.alloc: HostSet = EMPTY
        self.cores = 0
        self.state = ""
        self.killed = self.revoked = False
        self.leaf_since = -1
        self.whole: tuple[float, ...] = ()
        self.finished: tuple[float, ...] = ()
        self.done: tuple[float, ...] = ()
        self.original = Original(self)

    def executed(self, horizon: int) -> int:
        """Ticks on each of its hosts so far."""
        if self.start < 0:
            return 0
        return (self.end if self.end >= 0 else horizon) - self.start


class Original:
    """A job that a user submitted, with all attempts at it in the order of their submission."""

    __slots__ = ("attempts",)

    def __init__(self, first: Attempt) -> None:
        self.attempts = [first]

    def join(self, other: Original) -> None:
        """*other* turns out to be further attempts at this job."""
        if other is not self:
            for attempt in other.attempts:
                attempt.original = self
            self.attempts += other.attempts
