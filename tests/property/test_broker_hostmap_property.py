"""Own numbers of hosts and the park's are each other's inverse, whatever the tenant sees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batpy.broker.hostmap import HostMap
from batpy.protocol import hostset

some = st.sets(st.integers(0, 40))


@given(seen=some, asked=some)
def test_to_own_and_to_park_are_inverse_and_keep_the_order(seen: set[int], asked: set[int]) -> None:
    hosts = HostMap(hostset.from_ids(seen))
    own = hosts.to_own(hostset.from_ids(asked))
    # The slow twin: a host's own number is its place among those that are seen.
    place = {host: number for number, host in enumerate(sorted(seen))}
    assert set(hostset.ids(own)) == {place[host] for host in asked & seen}
    assert hostset.is_canonical(own)
    assert hosts.to_park(own) == hostset.from_ids(asked & seen)
    assert hosts.size == len(seen)
    for host, number in place.items():
        assert hosts.one_to_park(number) == host


@given(seen=some, own=st.sets(st.integers(0, 60), min_size=1))
def test_own_numbers_beyond_what_is_seen_are_named(seen: set[int], own: set[int]) -> None:
    hosts = HostMap(hostset.from_ids(seen))
    if max(own) < len(seen):
        assert hosts.to_own(hosts.to_park(hostset.from_ids(own))) == hostset.from_ids(own)
        return
    there = f"it sees hosts 0-{len(seen) - 1}" if seen else "it sees no host"
    with pytest.raises(ValueError, match=f"host {max(own)} does not exist for it; {there}"):
        hosts.to_park(hostset.from_ids(own))
