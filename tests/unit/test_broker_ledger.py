"""The ledger of who may use and who uses which host, and that it notices when it contradicts itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from batpy.broker.ledger import Ledger, Loan, NodeState, Use, Vector
from batpy.protocol import hostset
from batpy.protocol.messages import Json

ALL, LOW, HIGH = ((0, 3),), ((0, 1),), ((2, 3),)


def records(**more: object) -> list[Json]:
    return [{"id": i, "name": f"n{i}", "state": "idle", "properties": {}, **more} for i in range(4)]


def ledger(*, shared: bool = False) -> Ledger:
    """Two tenants that may use everything; 1 uses the low half, 0 waits for host 3 of the high one."""
    book = Ledger(records(), (ALL, ALL), shared=shared)
    book.lend(0, ALL)
    book.lend(1, ALL)
    book.occupy(7, 1, LOW, NodeState.BUSY)
    book.ask_back(1, ((3, 3),))
    book.check()
    return book


def test_loans_have_ids_and_close_host_by_host() -> None:
    book = Ledger(records(), (ALL, ALL))
    assert [book.lend(0, ALL), book.lend(1, LOW), book.lend(1, HIGH)] == [0, 1, 2]
    book.ask_back(1, ((1, 2),))
    assert (book.lent[1], book.leaving[1]) == (((0, 0), (3, 3)), ((1, 2),))
    book.take_back(1, ((1, 2),))
    assert book.loans == (Loan(0, 0, ALL), Loan(1, 1, ((0, 0),)), Loan(2, 1, ((3, 3),)))
    book.ask_back(1, ((0, 0),))
    book.take_back(1, ((0, 0),))
    assert [loan.id for loan in book.loans] == [0, 2]
    assert book.lend(1, LOW) == 3
    book.check()


def test_each_state_of_a_host_and_which_goes_first() -> None:
    book = Ledger(records(), (ALL, HIGH))
    book.lend(0, ALL)
    assert book.state_of(3) is NodeState.FREE
    book.lend(1, HIGH)
    assert (book.state_of(0), book.state_of(3)) == (NodeState.FREE, NodeState.HELD)
    book.occupy(1, 0, ((3, 3),), NodeState.PROLOG)
    for state in (NodeState.PROLOG, NodeState.BUSY, NodeState.EPILOG):
        book.become(1, state)
        assert book.state_of(3) is state
    book.ask_back(1, HIGH)
    assert book.state_of(3) is NodeState.DRAINING
    book.down = ((3, 3),)
    assert book.state_of(3) is NodeState.DOWN
    assert book.state_of(2) is NodeState.DRAINING


def test_hosts_that_are_away_at_the_beginning_are_down() -> None:
    away = records()
    away[2]["state"] = "unavailable"
    assert Ledger(away, (ALL,)).down == ((2, 2),)


def test_amounts_count_cores_memory_and_gpus() -> None:
    rows = records(core=4, memory=8e9, gpus=1)
    rows[3] = {"id": 3, "properties": {"core": "16", "memory": "32GiB", "gpus": "2"}}
    book = Ledger(rows, (ALL,))
    assert book.cores() == (4, 4, 4, 16)
    assert book.amount(HIGH) == Vector(2, 20, 8_000_000_000, 3)


def test_jobs_of_one_tenant_share_a_host_only_where_that_is_allowed() -> None:
    for shared in (False, True):
        book = ledger(shared=shared)
        assert book.occupied(((1, 2),), 0)
        assert book.occupied(((1, 2),), 1) is not shared
        assert not book.occupied(((2, 2),), 1)


def test_a_shared_host_is_busy_until_the_last_job_has_left_it() -> None:
    book = ledger(shared=True)
    book.occupy(8, 1, ((1, 2),), NodeState.BUSY)
    book.check()
    book.release(7)
    assert book.busy[1] == ((1, 2),)
    book.check()
    book.release(8)
    assert book.busy[1] == ()


def _forge_lent(book: Ledger) -> None:
    book.lent[0] = LOW


def _forge_leaving(book: Ledger) -> None:
    book.leaving[1] = HIGH


def _forge_loan(book: Ledger) -> None:
    book._loans[9] = Loan(9, 0, LOW)


def _forge_empty(book: Ledger) -> None:
    book._loans[9] = Loan(9, 0, ())


def _forge_busy(book: Ledger) -> None:
    book.busy[1] = ALL


def _forge_use(book: Ledger) -> None:
    book._uses[8] = Use(8, 1, ((1, 1),), NodeState.BUSY)


def _forge_tenant(book: Ledger) -> None:
    book.occupy(8, 0, ((1, 2),), NodeState.BUSY)


def _forge_sight(book: Ledger) -> None:
    book.visible = (LOW, ALL)


@pytest.mark.parametrize(
    ("forge", "told"),
    [
        (_forge_lent, "sets disagree with the loans"),
        (_forge_leaving, "both lent and leaving"),
        (_forge_loan, "two loans of one tenant share a host"),
        (_forge_empty, "an empty loan"),
        (_forge_busy, "the busy set disagrees with the uses"),
        (_forge_use, "two uses of one host"),
        (_forge_tenant, "a host with two tenants"),
        (_forge_sight, "lent hosts that the tenant cannot see"),
    ],
)
def test_every_forged_contradiction_is_found(forge: Callable[[Ledger], None], told: str) -> None:
    book = ledger()
    forge(book)
    with pytest.raises(AssertionError, match=told):
        book.check()


def test_what_contradicts_the_books_cannot_be_written() -> None:
    book = ledger()
    with pytest.raises(AssertionError, match="lent twice"):
        book.lend(0, LOW)
    with pytest.raises(AssertionError, match="lent while it leaves"):
        book.lend(1, ((3, 3),))
    with pytest.raises(AssertionError, match="asked for hosts that are not lent"):
        book.ask_back(1, HIGH)
    with pytest.raises(AssertionError, match="took back what it was not asked for"):
        book.take_back(1, HIGH)
    with pytest.raises(AssertionError, match="cannot see"):
        Ledger(records(), (LOW,)).lend(0, ALL)
    assert hostset.size(book.lent[0]) == 4
