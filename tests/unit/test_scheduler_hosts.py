from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batpy.protocol import hostset
from batpy.schedulers.hosts import CHOOSERS, best_fit, contiguous, first_fit, from_mask, give_back, to_mask

ids = st.sets(st.integers(0, 60))


@given(ids)
def test_a_mask_is_the_same_set(hosts: set[int]) -> None:
    text = hostset.from_ids(hosts)
    assert from_mask(to_mask(text)) == text
    assert to_mask(text) == sum(1 << host for host in hosts)


@pytest.mark.parametrize("name", list(CHOOSERS))
@given(free=ids, count=st.integers(0, 62))
def test_a_chooser_splits_the_free_hosts(name: str, free: set[int], count: int) -> None:
    taken = CHOOSERS[name](hostset.from_ids(free), count)
    if taken is None:
        longest = max((b - a + 1 for a, b in hostset.from_ids(free)), default=0)
        assert count == 0 or count > (longest if name == "contiguous" else len(free))
        return
    assert all(hostset.is_canonical(part) for part in taken)
    chosen, rest = (set(hostset.ids(part)) for part in taken)
    assert len(chosen) == count
    assert chosen | rest == free
    assert not chosen & rest
    if name == "first_fit":
        assert sorted(chosen) == sorted(free)[:count]
    if name == "contiguous":
        assert len(taken[0]) == 1


@given(free=ids, hosts=ids)
def test_hosts_come_back(free: set[int], hosts: set[int]) -> None:
    back = give_back(hostset.from_ids(free - hosts), hostset.from_ids(hosts))
    assert back == hostset.from_ids(free | hosts)


def test_contiguous_takes_the_lowest_run_that_is_long_enough() -> None:
    assert contiguous(((0, 0), (2, 4), (6, 6)), 2) == (((2, 3),), ((0, 0), (4, 4), (6, 6)))
    assert contiguous(((0, 0), (2, 2)), 2) is None


def test_best_fit_leaves_long_runs_whole() -> None:
    assert best_fit(((0, 9), (11, 12), (14, 16)), 2) == (((11, 12),), ((0, 9), (14, 16)))
    assert best_fit(((0, 9), (11, 13)), 2) == (((11, 12),), ((0, 9), (13, 13)))


def test_best_fit_takes_the_longest_runs_when_none_is_long_enough() -> None:
    assert best_fit(((0, 1), (3, 5), (7, 7)), 4) == (((3, 5), (7, 7)), ((0, 1),))


def test_first_fit_takes_the_lowest_numbers() -> None:
    assert first_fit(((1, 1), (3, 5)), 3) == (((1, 1), (3, 4)), ((5, 5),))
