"""Rules about one event's own form that its types cannot say; both codecs apply them on reading.

Whether a decision is possible (the job exists, the hosts are free) is for the simulator's gate.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from batpy.protocol import messages as m
from batpy.protocol import vocabulary
from batpy.protocol.hostset import HostSet, is_canonical, parse

# The latest date there is, 1e18 s, at the finest resolution.
MAX_TICK = 10**27
MAX_TICKS_PER_SECOND = 10**9
MAX_HOST = 2**31 - 1
# Largest message that is read at all; the profiles of a whole workload travel in the first one.
MAX_BYTES = 2**30


class FormError(ValueError):
    """A field breaks a rule: where (inside the event's data) and which."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem


def read_hosts(path: str, text: str) -> HostSet:
    """Read an interval set; the error names *path*."""
    try:
        hosts = parse(text)
    except ValueError as error:
        raise FormError(path, str(error)) from None
    if hosts and hosts[-1][1] > MAX_HOST:
        raise FormError(path, f"host id {hosts[-1][1]} is larger than {MAX_HOST}")
    return hosts


def check_hosts(path: str, hosts: HostSet) -> None:
    """Refuse intervals that are not in canonical form."""
    if not is_canonical(hosts):
        raise FormError(path, "intervals must be ascending, disjoint and not adjacent")
    if hosts and hosts[-1][1] > MAX_HOST:
        raise FormError(path, f"host id {hosts[-1][1]} is larger than {MAX_HOST}")


def _begins(event: m.SimulationBegins) -> None:
    offer = event.batpy
    if offer is not None and not 1 <= offer.ticks_per_second <= MAX_TICKS_PER_SECOND:
        raise FormError("batpy.ticks_per_second", f"must be between 1 and {MAX_TICKS_PER_SECOND}")


def _resource_state_changed(event: m.ResourceStateChanged) -> None:
    if not is_int_text(event.state):
        raise FormError("state", f"{event.state!r} is not the number of a pstate")


def _execute(event: m.ExecuteJob) -> None:
    if not event.alloc:
        raise FormError("alloc", "the set of hosts is empty")
    if event.mapping is not None:
        for executor, position in event.mapping.items():
            if not (executor.isascii() and executor.isdigit()):
                raise FormError("mapping", f"{executor!r} is not the number of an executor")
            if position < 0:
                raise FormError(f"mapping.{executor}", f"{position} is not a position in the allocation")
    io_job = event.additional_io_job
    if io_job is not None and not io_job.alloc:
        raise FormError("additional_io_job.alloc", "the set of hosts is empty")


def _set_resource_state(event: m.SetResourceState) -> None:
    if not event.resources:
        raise FormError("resources", "the set of hosts is empty")


def _kill(event: m.KillJob) -> None:
    if not event.job_ids:
        raise FormError("job_ids", "the list of jobs is empty")


def _call_me_later(event: m.CallMeLater) -> None:
    if not 0 <= event.at <= MAX_TICK:
        raise FormError("timestamp", "the date is out of range")


def _query(event: m.Query) -> None:
    if not event.requests:
        raise FormError("requests", "no request is named")


def _answer(event: m.Answer) -> None:
    if (event.consumed_energy is None) == (event.estimate_waiting_time is None):
        raise FormError("", "must hold exactly one of consumed_energy and estimate_waiting_time")


def _notify(event: m.Notify) -> None:
    if event.type in vocabulary.MACHINE_NOTICES:
        if event.resources is None:
            raise FormError("resources", "is missing")
        if event.content is not None:
            raise FormError("content", f"{event.type} has none")
        return
    if event.resources is not None:
        raise FormError("resources", f"{event.type} has none, only machine events do")
    if event.content is None:
        return
    if event.type in vocabulary.PLAIN_NOTICES:
        raise FormError("content", f"{event.type} has none")
    if event.content.get("type") != event.type or len(event.content) < 2:
        raise FormError("content", f"must be the whole event object, its type {event.type!r} included")


# Class of an event to the check of its own form; raises FormError.
RULES: dict[type[m.Event], Callable[[Any], None]] = {
    m.SimulationBegins: _begins,
    m.ResourceStateChanged: _resource_state_changed,
    m.ExecuteJob: _execute,
    m.SetResourceState: _set_resource_state,
    m.KillJob: _kill,
    m.CallMeLater: _call_me_later,
    m.Query: _query,
    m.Answer: _answer,
    m.Notify: _notify,
}


_HOSTS = ("alloc", "resources")
_AT = re.compile(r"^(?P<problem>.*?)(?: - at `(?:key` in `)?\$\.?(?P<path>.*)`)?$", re.DOTALL)


def check_event(event: m.Event) -> None:
    """Refuse an event that a codec could not write, or whose reader would refuse it; for what a user made.

    Raises:
        FormError: a field is not of its type or breaks a rule of ``RULES``.
    """
    try:
        msgspec.convert(msgspec.to_builtins(event), type(event))
    except (TypeError, ValueError, OverflowError, RecursionError) as why:
        parts = _AT.match(str(why))
        assert parts is not None  # the pattern matches any text
        problem = parts["problem"]
        raise FormError(parts["path"] or "", problem[:1].lower() + problem[1:]) from None
    for name in _HOSTS:
        if (hosts := getattr(event, name, None)) is not None:
            check_hosts(name, hosts)
    if (io_job := getattr(event, "additional_io_job", None)) is not None:
        check_hosts("additional_io_job.alloc", io_job.alloc)
    if (rule := RULES.get(type(event))) is not None:
        rule(event)


def is_int_text(text: str) -> bool:
    """True for an integer written in plain ASCII digits, such as ``0`` or ``-1`` (19 digits at most)."""
    digits = text[1:] if text.startswith("-") else text
    return digits.isascii() and digits.isdigit() and len(digits) < 20
