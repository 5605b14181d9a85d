"""How profiles refer to one another, and how long those of known length last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from batpy.base.errors import InputError
from batpy.workloads.profile import Composed, Delay, Profile, Recv

MAX_NESTING = 200
"""Sequences and ``recv`` profiles that stand one in another; no workload of a user comes near."""


def references(profile: Profile) -> tuple[str, ...]:
    """Names of the profiles that *profile* may run."""
    if isinstance(profile, Composed):
        return profile.seq
    if isinstance(profile, Recv):
        return tuple(name for name in (profile.success, profile.failure, profile.timeout) if name)
    return ()


def reachable(profiles: Mapping[str, Profile], roots: Iterable[str]) -> list[str]:
    """Names that *roots* lead to, themselves included, each one after those it refers to.

    Names that are not among *profiles* are passed over.

    Raises:
        InputError: a profile leads back to itself (Batsim 4.2.1 would never return from it); the path names
            it and the problem shows the way round.
    """
    done: dict[str, None] = {}
    for root in roots:
        if root in done or root not in profiles:
            continue
        way: dict[str, Iterable[str]] = {root: iter(references(profiles[root]))}
        while way:
            name = next(reversed(way))
            for following in way[name]:
                if following in way:
                    names = list(way)
                    loop = [*names[names.index(following) :], following]
                    raise InputError(
                        f"refers to itself: {' -> '.join(loop)}; a sequence must end",
                        path=f"profiles.{following}",
                    )
                if following not in done and following in profiles:
                    way[following] = iter(references(profiles[following]))
                    break
            else:
                del way[name]
                done[name] = None
    return list(done)


def refuse_deep_nesting(profiles: Mapping[str, Profile], names: Iterable[str]) -> None:
    """Check how deep profiles stand one in another.

    Args:
        names: those to look at, each one after those it refers to, as :func:`reachable` gives them.

    Raises:
        InputError: naming the innermost profile that is too deep.
    """
    depths: dict[str, int] = {}
    for name in names:
        inner = references(profiles[name])
        depths[name] = 1 + max((depths[part] for part in inner), default=0) if inner else 0
        if depths[name] > MAX_NESTING:
            raise InputError(f"is nested deeper than {MAX_NESTING} levels", path=f"profiles.{name}")


def run_times(profiles: Mapping[str, Profile], roots: Iterable[str]) -> dict[str, tuple[float, int] | None]:
    """Seconds and return code of delays and of sequences made of them; None where hosts or peers decide.

    Raises:
        InputError: as :func:`reachable`.
    """
    known: dict[str, tuple[float, int] | None] = {}
    for name in reachable(profiles, roots):
        profile = profiles[name]
        if isinstance(profile, Delay):
            known[name] = (profile.delay, profile.ret)
        elif isinstance(profile, Composed):
            known[name] = _sequence(profile, known)
        else:
            known[name] = None
    return known


def _sequence(profile: Composed, known: Mapping[str, tuple[float, int] | None]) -> tuple[float, int] | None:
    """A sequence ends with the first part that fails, and with that part's code (Batsim 4.2.1)."""
    total = 0.0
    for name in profile.seq:
        part = known.get(name)
        if part is None:
            return None
        total += part[0]
        if part[1] != 0:
            return total, part[1]
    return total * profile.repeat, profile.ret
