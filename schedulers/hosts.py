"""Which hosts a job gets: pure functions over ``HostSet``, and the same sets as bit masks.

A *chooser* takes the free hosts and a number; it answers with the hosts it takes and those left, or None if
its rule cannot be met. Masks (bit i is host i) serve where many sets are intersected.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from batpy.protocol.hostset import HostSet, normalise

Chooser = Callable[[HostSet, int], tuple[HostSet, HostSet] | None]


def first_fit(free: HostSet, count: int) -> tuple[HostSet, HostSet] | None:
    """Take the *count* lowest-numbered hosts."""
    if not free or count < 1:
        return None
    first, last = free[0]
    length = last - first + 1
    if length > count:  # the common case needs no loop
        return ((first, first + count - 1),), ((first + count, last), *free[1:])
    if length == count:
        return free[:1], free[1:]
    position = 0
    for first, last in free:
        length = last - first + 1
        if length >= count:
            break
        count -= length
        position += 1
    else:
        return None
    if length == count:
        return free[: position + 1], free[position + 1 :]
    taken = (*free[:position], (first, first + count - 1))
    return taken, ((first + count, last), *free[position + 1 :])


def contiguous(free: HostSet, count: int) -> tuple[HostSet, HostSet] | None:
    """Take *count* consecutive hosts of the lowest-numbered run that has them; None if none has."""
    if count < 1:
        return None
    for position, (first, last) in enumerate(free):
        if last - first + 1 >= count:
            return _from_run(free, position, count)
    return None


def best_fit(free: HostSet, count: int) -> tuple[HostSet, HostSet] | None:
    """Take the shortest run that has *count* hosts (the lowest-numbered of equal ones).

    If none is long enough, take the longest run whole and go on with the rest of the request: few pieces.
    """
    if count < 1:
        return None
    whole: list[tuple[int, int]] = []
    while True:
        best = longest = -1
        best_length = longest_length = 0
        for position, (first, last) in enumerate(free):
            length = last - first + 1
            if length >= count:
                if best < 0 or length < best_length:
                    best, best_length = position, length
                    if length == count:
                        break
            elif length > longest_length:
                longest, longest_length = position, length
        if best >= 0:
            taken, rest = _from_run(free, best, count)
            return (tuple(sorted((*whole, *taken))) if whole else taken), rest
        if longest < 0:
            return None
        whole.append(free[longest])
        free = free[:longest] + free[longest + 1 :]
        count -= longest_length


def _from_run(free: HostSet, position: int, count: int) -> tuple[HostSet, HostSet]:
    """Take the first *count* hosts of one run that has them."""
    first, last = free[position]
    end = first + count - 1
    left = () if end == last else ((end + 1, last),)
    return ((first, end),), free[:position] + left + free[position + 1 :]


CHOOSERS: dict[str, Chooser] = {"first_fit": first_fit, "contiguous": contiguous, "best_fit": best_fit}


def give_back(free: HostSet, hosts: HostSet) -> HostSet:
    """Free hosts once *hosts*, none of which is among them, come back."""
    if not free:
        return hosts
    if len(hosts) > 2 and len(hosts) * 8 > len(free) + 16:
        return normalise(free + hosts)
    for low, high in hosts:
        first, last = low, high
        position = bisect_left(free, (first,))
        after = position
        if position and free[position - 1][1] + 1 == first:
            position -= 1
            first = free[position][0]
        if after < len(free) and free[after][0] == last + 1:
            last = free[after][1]
            after += 1
        free = (*free[:position], (first, last), *free[after:])
    return free


# --------------------------------------------------------------------------- bit masks


def to_mask(hosts: HostSet) -> int:
    """Bit i is set if host i is a member."""
    mask = 0
    for first, last in hosts:
        mask |= ((1 << (last - first + 1)) - 1) << first
    return mask


def from_mask(mask: int) -> HostSet:
    """The set a mask stands for."""
    pairs = []
    base = 0
    while mask:
        skip = (mask & -mask).bit_length() - 1
        mask >>= skip
        base += skip
        run = (~mask & (mask + 1)).bit_length() - 1
        pairs.append((base, base + run - 1))
        mask >>= run
        base += run
    return tuple(pairs)
