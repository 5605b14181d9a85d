"""Sets of hosts and their relation to procset, which users of pybatsim hold."""

from __future__ import annotations

import pytest
from procset import ProcSet

from batpy.protocol import hostset


@pytest.mark.parametrize("text", ["", "3", "0-3 5 8-9"])
def test_a_set_goes_to_procset_and_comes_back(text: str) -> None:
    hosts = hostset.parse(text)
    there = hostset.to_procset(hosts)
    assert there == ProcSet.from_str(text)
    assert str(there) == hostset.to_text(hosts)
    assert hostset.from_procset(there) == hosts


def test_anything_else_is_refused_as_a_procset() -> None:
    with pytest.raises(TypeError, match=r"want a procset.ProcSet, got \[1, 2\]"):
        hostset.from_procset([1, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["a", "1-", "-1", "3-1", "1.5", "9" * 19, "\N{ARABIC-INDIC DIGIT ONE}"])
def test_a_text_that_is_no_set_is_refused_with_its_element(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a host id or an interval a-b|ends before it begins"):
        hostset.parse(f"0 {text} 7")
