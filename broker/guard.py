"""A policy that a user wrote, between two checks: what fails or means nothing is told before it is recorded.

The broker trusts what it is answered. An answer that cannot be carried out would leave half of it in the
ledger and in the journal, and the fault would show up much later, far from the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import NoReturn, TypeVar, get_args

from batpy.base.blame import FAILURES, blame
from batpy.base.errors import InputError
from batpy.broker.actions import Action, Clean, Deny, Give, Grant, Hold, OnTimeout, Revoke, Timer
from batpy.broker.policy import ParkView, SharingPolicy, StartRequest
from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet

T = TypeVar("T")

MAX_TICKS = 1 << 62
"""Longest duration and latest date: their sum is still a number that every codec and journal can hold."""

MAX_ACTIONS = 100_000
"""Actions of one answer after which it counts as endless."""

MAX_TIMERS = 1_000_000
"""Timers in a row, with not one start or end of a job nor a host vacated between them, after which a policy
counts as waking itself for ever."""

SHIPPED = "batpy.broker.policies."
_ANYWHERE: tuple[type, ...] = (Revoke, Give, Timer)
_OF_A_START: tuple[type, ...] = (Grant, Hold, Deny)
_ON_TIMEOUT = get_args(OnTimeout)


def guarded(policy: SharingPolicy, source: str) -> SharingPolicy:
    """The policy with its answers checked; those that come with the broker are left as they are.

    Args:
        source: the policy as the user named it.
    """
    return policy if type(policy).__module__.startswith(SHIPPED) else GuardedPolicy(policy, source)


class GuardedPolicy(SharingPolicy):
    """Calls another policy, and believes nothing of what it says.

    Each callback raises InputError, with the policy and the callback, if the policy fails or answers with
    something that cannot be carried out.
    """

    def __init__(self, policy: SharingPolicy, source: str) -> None:
        self._policy = policy
        self._source = source
        self._timers = 0

    def begin(self, park: ParkView) -> None:
        """See ``SharingPolicy``."""
        self.park = park
        self._guard("begin", lambda: self._policy.begin(park))
        self.lazy = bool(self._policy.lazy)

    def visible(self, tenant: int) -> HostSet:
        """See ``SharingPolicy``."""
        return self._guard("visible", lambda: self._seen(tenant, self._policy.visible(tenant)))

    def _seen(self, tenant: int, hosts: HostSet) -> HostSet:
        name = self.park.tenants[tenant]
        if problem := _no_hosts(hosts) or _beyond(hosts, self.park.hosts, "the park has no"):
            raise InputError(f"visible() answered {_short(hosts)} for scheduler {name}: {problem}")
        if not hosts:
            raise InputError(f"visible() answered () for scheduler {name}: each scheduler needs a host")
        return hosts

    def start_requested(self, start: StartRequest) -> Iterable[Action]:
        """See ``SharingPolicy``."""
        self._timers = 0
        answer = self._policy.start_requested
        return self._actions("start_requested", lambda: answer(start), _OF_A_START, start)

    def ended(self, start: StartRequest) -> Iterable[Action]:
        """See ``SharingPolicy``."""
        self._timers = 0
        return self._actions("ended", lambda: self._policy.ended(start), (Clean,))

    def released(self, start: StartRequest) -> Iterable[Action]:
        """See ``SharingPolicy``."""
        self._timers = 0
        return self._actions("released", lambda: self._policy.released(start))

    def revoked(self, tenant: int, hosts: HostSet) -> Iterable[Action]:
        """See ``SharingPolicy``."""
        self._timers = 0
        return self._actions("revoked", lambda: self._policy.revoked(tenant, hosts))

    def timer(self, key: str) -> Iterable[Action]:
        """See ``SharingPolicy``."""
        self._timers += 1
        if self._timers > MAX_TIMERS:
            raise InputError(
                f"timer() was called {MAX_TIMERS} times in a row (the last for {key!r}) and no job started "
                "or ended; ask for a Timer only while something is waited for",
                source=self._source,
            )
        return self._actions("timer", lambda: self._policy.timer(key))

    # ------------------------------------------------------------------ the two checks

    def _guard(self, method: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except FAILURES as why:
            self._raise(why, method)

    def _raise(self, why: BaseException, method: str) -> NoReturn:
        blamed = blame(why, f"{method}()", type(self._policy).__module__, self._source)
        if blamed is why:
            raise why
        raise blamed from why

    def _actions(
        self,
        method: str,
        call: Callable[[], Iterable[Action]],
        legal: tuple[type, ...] = (),
        start: StartRequest | None = None,
    ) -> tuple[Action, ...]:
        """The whole answer: what a generator still has to work out must not fail in the middle of it."""

        def checked() -> tuple[Action, ...]:
            answer = call()
            if isinstance(answer, (str, bytes)) or not isinstance(answer, Iterable):
                raise InputError(f"{method}() must answer with a list of actions, got {_short(answer)}")
            actions = tuple(islice(answer, MAX_ACTIONS + 1))
            if len(actions) > MAX_ACTIONS:
                raise InputError(f"{method}() answers with more than {MAX_ACTIONS} actions")
            self._check(method, actions, (*legal, *_ANYWHERE), start)
            return actions

        return self._guard(method, checked)

    def _check(
        self, method: str, actions: tuple[Action, ...], legal: tuple[type, ...], start: StartRequest | None
    ) -> None:
        check = _Check(self.park, start)
        said: Action | None = None
        for action in actions:
            if not isinstance(action, legal):
                names = ", ".join(kind.__name__ for kind in legal)
                problem: str | None = f"it means nothing here; choose from {names}"
            else:
                problem = check.problem(action)
            if problem is None and not isinstance(action, _ANYWHERE):
                if said is not None:
                    problem = f"it said {_short(said)} before; only one of them can hold"
                said = action
            if problem is not None:
                raise InputError(f"{method}() answered {_short(action)}: {problem}")


class _Check:
    """Checks the actions of one answer in their order.

    Args:
        start: what the answer is about, if it is a request.
    """

    def __init__(self, park: ParkView, start: StartRequest | None) -> None:
        self._park = park
        self._start = start
        self._taken: dict[int, HostSet] = {}  # by tenant: hosts that this answer revoked so far

    def problem(self, action: Action) -> str | None:
        """What is wrong with an action, or None."""
        if isinstance(action, Revoke):
            return self._revoke(action)
        if isinstance(action, Give):
            return self._tenant(action.tenant) or self._hosts(action) or _no_ticks("delay", action.delay)
        if isinstance(action, Hold):
            return self._hold(action)
        if isinstance(action, Deny):
            return None if isinstance(action.reason, str) and action.reason else "reason must be a text"
        if isinstance(action, Clean):
            return _no_ticks("ticks", action.ticks) or _no_flag("blocking", action.blocking)
        return self._timer(action) if isinstance(action, Timer) else None

    def _tenant(self, tenant: int) -> str | None:
        names = self._park.tenants
        if _is_whole(tenant) and 0 <= tenant < len(names):
            return None
        ranks = ", ".join(f"{rank} ({name})" for rank, name in enumerate(names))
        return f"there is no tenant {_short(tenant)}; choose from {ranks}"

    def _hosts(self, action: Revoke | Give) -> str | None:
        if problem := _no_hosts(action.hosts):
            return problem
        return _beyond(action.hosts, self._park.visible(action.tenant), "the tenant may never use")

    def _revoke(self, action: Revoke) -> str | None:
        if problem := self._tenant(action.tenant) or self._hosts(action):
            return problem
        tenant, start = action.tenant, self._start
        before = self._taken.get(tenant, ())
        left = hostset.difference(self._park.lent(tenant), before)
        if problem := _beyond(action.hosts, left, "not lent to the tenant:"):
            return problem
        if start is not None and start.tenant == tenant and hostset.intersection(action.hosts, start.hosts):
            return f"these are hosts that the tenant's own start {start.job} is to run on; Deny it instead"
        self._taken[tenant] = hostset.union(before, action.hosts)
        if action.on_timeout not in _ON_TIMEOUT:
            return f"on_timeout must be one of {', '.join(_ON_TIMEOUT)}, got {_short(action.on_timeout)}"
        if action.timeout is not None and (problem := _no_ticks("timeout", action.timeout)):
            return f"{problem}, or None for ever"
        return _no_ticks("grace", action.grace)

    def _hold(self, action: Hold) -> str | None:
        if not isinstance(action.clear_of, tuple):
            return f"clear_of must be a tuple of tenants, got {_short(action.clear_of)}"
        for tenant in action.clear_of:
            if problem := self._tenant(tenant):
                return problem
            if self._start is not None and tenant == self._start.tenant:
                return f"clear_of has {tenant}, the tenant that wants to start: it would wait for itself"
        return _no_ticks("prolog", action.prolog)

    def _timer(self, action: Timer) -> str | None:
        if not isinstance(action.key, str):
            return f"key must be a text, got {_short(action.key)}"
        now = self._park.now
        if not _is_whole(action.at) or not now < action.at <= MAX_TICKS:
            return f"at must be a date in whole ticks, later than now ({now}) and at most {MAX_TICKS}"
        return None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _no_ticks(name: str, value: int) -> str | None:
    if _is_whole(value) and 0 <= value <= MAX_TICKS:
        return None
    return f"{name} must be whole ticks from 0 to {MAX_TICKS}, got {_short(value)}"


def _no_flag(name: str, value: object) -> str | None:
    return None if isinstance(value, bool) else f"{name} must be True or False, got {_short(value)}"


def _no_hosts(hosts: HostSet) -> str | None:
    pairs = isinstance(hosts, tuple) and all(
        isinstance(pair, tuple) and len(pair) == 2 and all(map(_is_whole, pair)) for pair in hosts
    )
    if pairs and hostset.is_canonical(hosts):
        return None
    return "hosts must be a HostSet: a tuple of pairs (first, last) of ids, ascending, none touching the next"


def _beyond(hosts: HostSet, allowed: HostSet, what: str) -> str | None:
    more = hostset.difference(hosts, allowed)
    return f"{what} host{'s' if hostset.size(more) > 1 else ''} {hostset.to_text(more)}" if more else None
