"""The laws of energy and power states, checked on records one by one, from the watts that the journal tells.

What hosts without a job draw is recomputed exactly. What hosts with a job draw depends on loads, which the
journal does not hold: it must lie between the least and the most watts of their pstates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.records import (
    AnyRecord,
    Ended,
    EnergyBegins,
    EnergyEnds,
    EnergyMeasured,
    HostPower,
    HostsSwitched,
    PstateAsked,
    Record,
    RunBegins,
    RunEnds,
    Started,
)
from batpy.results.laws import Finding
from batpy.results.watts import AWAKE, SLEEPS, SWITCHES_OFF, SWITCHES_ON, Watts

# Float noise of sums, as a share of them.
NOISE = 1e-9
# Dates of ends are exact to less than a tick, and two of them may be told in either order.
SLACK_TICKS = 2

_DOES = {SLEEPS: "sleeps", SWITCHES_OFF: "is being switched off", SWITCHES_ON: "is being switched on"}


class _Request(msgspec.Struct, eq=False):
    """A SET_RESOURCE_STATE that is not complete.

    Attributes:
        left: hosts that are on their way.
    """

    hosts: HostSet
    state: int
    left: int = 0


class EnergyLaws:
    """Checks records in their order; ``check`` yields what is wrong with each.

    Does nothing in runs without energy.
    """

    def __init__(self) -> None:
        self._hosts = 0
        self._second = 1
        self._watts: Watts | None = None
        self._allocs: dict[str, HostSet] = {}
        # Exact dates of the ends that are told next: ticks after the tick of their record.
        self._lags: dict[str, float] = {}
        # Date, target and request of each host that is being switched.
        self._ways: dict[int, tuple[int, int, _Request]] = {}
        self._requests: list[_Request] = []
        self._measured = (0.0, 0.0, 0.0)
        self._fair = 0.0
        self._ends: EnergyEnds | None = None
        self._checks: dict[type[Record], Callable[[Any], Iterator[Finding]]] = {
            Started: self._start,
            Ended: self._end,
            PstateAsked: self._asked,
            HostsSwitched: self._switched,
            EnergyMeasured: self._measure,
            EnergyEnds: self._energy_ends,
            RunEnds: self._run_ends,
        }

    def check(self, record: AnyRecord) -> Iterator[Finding]:
        """Every law the next record breaks."""
        if self._watts is not None:
            if checker := self._checks.get(type(record)):
                yield from checker(record)
        elif type(record) is RunBegins:
            self._hosts = record.nb_compute + record.nb_storage
            self._second = record.ticks_per_second
        elif type(record) is EnergyBegins:
            self._watts = Watts(self._hosts, self._second, record)
            if not record.powers:
                # A journal of an older version: nothing can be recomputed from it.
                self._checks = {EnergyMeasured: self._measure}

    # ------------------------------------------------------------------ power states

    def _start(self, record: Started) -> Iterator[Finding]:
        watts = self._known()
        watts.advance(record.time)
        hosts = list(watts.existing(record.alloc))
        for host in hosts:
            if watts.does[host] != AWAKE:
                text = f"it starts on host {host}, which {_DOES[watts.does[host]]}"
                yield _finding("start-on-sleeping-host", record.job, record, text)
            watts.hold(host, 1)
        self._allocs[record.job] = record.alloc

    def _end(self, record: Ended) -> Iterator[Finding]:
        watts, alloc = self._known(), self._allocs.pop(record.job, hostset.EMPTY)
        watts.advance(record.time, self._lags.pop(record.job, 0.0))
        for host in watts.existing(alloc):
            watts.hold(host, -1)
        yield from ()

    def _asked(self, record: PstateAsked) -> Iterator[Finding]:
        watts = self._known()
        watts.advance(record.time)
        if record.done:
            yield from self._done(record)
            return
        off, on = set(watts.existing(record.off)), set(watts.existing(record.on))
        request = _Request(record.hosts, record.state)
        self._requests.append(request)
        for host in watts.existing(record.hosts):
            power = watts.powers[host]
            if power is None or not 0 <= record.state < len(power.speeds):
                text = f"it has no pstate {record.state}"
                yield _finding("no-such-pstate", f"host {host}", record, text)
            elif host in off or host in on:
                yield from self._leave(request, record, host, power, away=host in on)
            elif watts.does[host] != AWAKE:
                text = f"it changes to pstate {record.state} at once; {self._place(host)}"
                yield _finding("switching-skipped", f"host {host}", record, text)
            else:
                watts.bring(host, record.state, AWAKE)

    def _done(self, record: PstateAsked) -> Iterator[Finding]:
        """A request is complete: all of its hosts have been where they were to go."""
        for request in self._requests:
            if not request.left and (request.hosts, request.state) == (record.hosts, record.state):
                self._requests.remove(request)
                return
        text = f"it is said to be in pstate {record.state}, and not all of it has been there"
        yield _finding("pstate-not-reached", f"host {hostset.to_text(record.hosts)}", record, text)

    def _leave(
        self, request: _Request, record: PstateAsked, host: int, power: HostPower, *, away: bool
    ) -> Iterator[Finding]:
        """A host begins to be switched."""
        watts, subject = self._known(), f"host {host}"
        asleep = watts.does[host] == SLEEPS
        if watts.does[host] not in (AWAKE, SLEEPS) or asleep != away:
            text = f"it begins to go to pstate {record.state}; {self._place(host)}"
            yield _finding("switching-impossible", subject, record, text)
        if watts.jobs[host]:
            yield _finding("switched-under-a-job", subject, record, "a job runs on it")
        sleep = watts.pstate[host] if away else record.state
        way = next((ways[2 if away else 1] for ways in power.sleeps if ways[0] == sleep), None)
        if way is None or not (0 <= way < len(power.speeds) and power.speeds[way] > 0):
            yield _finding("switching-impossible", subject, record, f"pstate {sleep} is no sleep with ways")
            return
        self._ways[host] = (record.time, record.state, request)
        request.left += 1
        watts.bring(host, way, SWITCHES_ON if away else SWITCHES_OFF)

    def _switched(self, record: HostsSwitched) -> Iterator[Finding]:
        watts = self._known()
        for host in watts.existing(record.hosts):
            power, way = watts.powers[host], self._ways.pop(host, None)
            if power is None or way is None or way[1] != record.state:
                text = f"it reaches pstate {record.state}, to where it was not on its way"
                yield _finding("switching-impossible", f"host {host}", record, text)
                continue
            way[2].left -= 1
            exact = self._second / power.speeds[watts.pstate[host]]
            took = record.time - way[0]
            if not exact - min(0.5, NOISE * max(1.0, exact)) <= took < exact + 1:
                flop = f"one flop in pstate {watts.pstate[host]} takes {exact:.9g}"
                text = f"its switching took {took} ticks, {flop}"
                yield _finding("switching-time", f"host {host}", record, text)
            watts.advance(record.time, min(0.0, exact - took))
            watts.bring(host, record.state, SLEEPS if record.sleep else AWAKE)

    def _place(self, host: int) -> str:
        watts = self._known()
        told = _DOES.get(watts.does[host], "is awake")
        return f"it {told}, in pstate {watts.pstate[host]}"

    # ------------------------------------------------------------------ joules

    def _measure(self, record: EnergyMeasured) -> Iterator[Finding]:
        watts, joules = self._known(), record.joules
        watts.advance(record.time, record.lag)
        had, low, high = self._measured
        if joules < had:
            text = f"{joules:.6f} J consumed until now, {had:.6f} J before"
            yield _finding("consumed-energy-falls", "hosts", record, text)
        least, most = watts.least - low, watts.most - high
        self._measured = (joules, watts.least, watts.most)
        slack = NOISE * joules + watts.ticks(SLACK_TICKS)
        if watts.is_told and not least - slack <= joules - had <= most + slack:
            text = (
                f"{joules - had:.6f} J since the last measurement; states and watts of the hosts allow "
                f"{least:.6f} to {most:.6f} J"
            )
            yield _finding("joules-impossible", "hosts", record, text)
        if record.event == "e":
            self._fair += record.fair_joules
            self._lags[record.job] = record.lag

    def _energy_ends(self, record: EnergyEnds) -> Iterator[Finding]:
        watts, self._ends = self._known(), record
        watts.advance(record.time)
        whole = record.jobs + record.idle + record.sleeping + record.switching
        yield from _differ(
            "joules-do-not-add-up", record, record.joules, whole, "jobs and the rest have", 0.0
        )
        if record.joules < self._measured[0]:
            text = f"{record.joules:.6f} J consumed in all, {self._measured[0]:.6f} J before"
            yield _finding("consumed-energy-falls", "hosts", record, text)
        if not self._allocs:
            told = "the fair shares of the jobs are"
            yield from _differ("joules-do-not-add-up", record, record.jobs, self._fair, told, 0.0)
        parts = (("idle", record.idle), ("sleeping", record.sleeping), ("switching", record.switching))
        for (kind, reported), made in zip(parts, watts.rest, strict=True):
            told = f"states and watts of the {kind} hosts give"
            yield from _differ("joules-wrong", record, reported, made, told, watts.slack(record.joules))

    def _run_ends(self, record: RunEnds) -> Iterator[Finding]:
        if record.outcome != "done":
            return
        for host in sorted(self._ways):
            yield _finding(
                "never-switched", f"host {host}", record, f"{self._place(host)}, and the run is done"
            )
        if self._ends is None:
            yield _finding("energy-never-ends", "journal", record, "the run is done, its joules are not told")

    def _known(self) -> Watts:
        assert self._watts is not None  # check() asks first
        return self._watts


def _differ(
    rule: str, record: EnergyEnds, reported: float, made: float, told: str, slack: float
) -> Iterator[Finding]:
    if abs(reported - made) > slack + NOISE * max(1.0, abs(record.joules)):
        yield _finding(rule, "hosts", record, f"{reported:.6f} J are reported, {told} {made:.6f} J")


def _finding(rule: str, subject: str, record: AnyRecord, text: str) -> Finding:
    return Finding(rule, subject, text, record.time)
