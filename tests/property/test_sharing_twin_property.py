"""The sharing engine against its slow twin: 2,000 random small cases, and some with many tasks."""

from __future__ import annotations

import random

import pytest
from sharing_cases import bridged_case, crowd_case, disagreements, random_case

from batpy.models.sharing import filling

BLOCK = 100


@pytest.mark.parametrize("textbook", [False, True], ids=["simgrid", "textbook"])
@pytest.mark.parametrize("block", range(10))
def test_engine_and_twin_agree_on_random_cases(block: int, textbook: bool) -> None:
    for seed in range(block * BLOCK, block * BLOCK + BLOCK):
        assert disagreements(random_case(random.Random(seed)), textbook) == [], f"seed {seed}"


@pytest.mark.parametrize("textbook", [False, True], ids=["simgrid", "textbook"])
def test_the_form_for_many_tasks_agrees_as_well(textbook: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "MANY", 1)
    for seed in range(2000, 2200):
        assert disagreements(random_case(random.Random(seed)), textbook) == [], f"seed {seed}"


@pytest.mark.parametrize("textbook", [False, True], ids=["simgrid", "textbook"])
def test_engine_and_twin_agree_on_crowds(textbook: bool) -> None:
    for seed in range(12):
        assert disagreements(crowd_case(random.Random(seed), 40), textbook) == [], f"seed {seed}"


@pytest.mark.parametrize("many", [1, 10**9], ids=["numpy", "python"])
@pytest.mark.parametrize("textbook", [False, True], ids=["simgrid", "textbook"])
def test_engine_and_twin_agree_on_crowds_that_some_tasks_join(
    textbook: bool, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "MANY", many)
    for seed in range(60):
        case = bridged_case(random.Random(seed), 20)
        assert disagreements(case, textbook) == [], f"seed {seed}"


def test_durations_are_as_exact_after_thirty_years_at_a_microsecond() -> None:
    late = 10**9 * 10**6
    for seed in range(60):
        case = random_case(random.Random(seed))
        assert disagreements(case, False, ticks_per_second=1e6, late=late) == [], f"seed {seed}"
