"""Whatever several schedulers do on one park, the broker keeps its promises.

Each scenario has 2 to 5 tenants that do anything legal, some of them brokers themselves, random jobs,
failures, prologs, policies and late decisions. Simulator and ledger check themselves after each step.
"""

from __future__ import annotations

import pytest
from shared_park import SharedRun, random_scenario

from batpy.protocol.records import Ended, Started, Submitted
from batpy.protocol.sharing_records import HostsCleared, Lent, StartAsked, StartDropped, StartReleased

BUNCHES, EACH = 40, 50


def check_totals(run: SharedRun) -> None:
    """Every job ends once; every start is released or dropped, and every released one cleared."""
    submitted = [r.job for r in run.journal if isinstance(r, Submitted)]
    started = [r.job for r in run.journal if isinstance(r, Started)]
    ended = [r.job for r in run.journal if isinstance(r, Ended)]
    assert sorted(started) == sorted(ended)
    assert len(set(started)) == len(started)
    assert set(started) <= set(submitted)
    asked = {r.start for r in run.sharing if isinstance(r, StartAsked)}
    released = {r.start for r in run.sharing if isinstance(r, StartReleased)}
    dropped = {r.start for r in run.sharing if isinstance(r, StartDropped)}
    cleared = {r.start for r in run.sharing if isinstance(r, HostsCleared)}
    assert released | dropped == asked
    assert not released & dropped
    assert cleared == released
    assert any(isinstance(r, Lent) for r in run.sharing)


@pytest.mark.parametrize("bunch", range(BUNCHES))
def test_random_tenants_keep_every_invariant(bunch: int) -> None:
    for seed in range(bunch * EACH, (bunch + 1) * EACH):
        try:
            check_totals(random_scenario(seed))
        except Exception as why:
            raise AssertionError(f"scenario {seed}: {type(why).__name__}: {why}") from why


def test_two_runs_of_one_seed_are_byte_identical() -> None:
    for seed in range(5000, 5060):
        assert random_scenario(seed).raw == random_scenario(seed).raw, seed
