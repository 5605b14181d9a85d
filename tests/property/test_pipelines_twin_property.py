"""The next-event engine against a twin that executes every tick: 1,000 random workloads in both modes."""

from __future__ import annotations

import random

import pytest
from pipeline_cases import both, random_case

from batpy.models.containers import growth, memory

BLOCK = 100


def check(seeds: range, compat: str, *, shared: bool = False) -> None:
    for seed in seeds:
        fast, slow = both(*random_case(random.Random(seed), compat, shared=shared))
        for what, seen in fast.items():
            assert seen == slow.get(what), f"seed {seed}: {what}"


@pytest.mark.parametrize("compat", ["eudoxia", ""], ids=["compat", "repaired"])
@pytest.mark.parametrize("block", range(10))
def test_engine_and_twin_agree(block: int, compat: str) -> None:
    check(range(block * BLOCK, (block + 1) * BLOCK), compat)


@pytest.mark.parametrize("compat", ["eudoxia", ""], ids=["compat", "repaired"])
def test_engine_and_twin_agree_about_a_shared_storage(compat: str) -> None:
    check(range(9000, 9200), compat, shared=True)


@pytest.mark.parametrize("compat", ["eudoxia", ""], ids=["compat", "repaired"])
def test_long_reads_are_added_piece_by_piece(compat: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "CHUNK", 7)
    monkeypatch.setattr(memory, "FEW", 2)
    monkeypatch.setattr(growth, "KEPT", 16)
    check(range(5000, 5060), compat)
    check(range(6000, 6060), compat, shared=True)


def test_asked_in_every_tick_the_shipped_policies_decide_the_same() -> None:
    for seed in range(7000, 7100):
        table, arrivals = random_case(random.Random(seed), "")
        assert both(table, arrivals)[0] == both(table, arrivals, every_tick=True)[0], f"seed {seed}"
