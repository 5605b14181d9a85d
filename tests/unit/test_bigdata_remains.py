"""What is left of a job that was stopped."""

from __future__ import annotations

from typing import Any

import pytest

from batpy.base.errors import RemoteProtocolError
from batpy.schedulers.bigdata.remains import ProfileTree, composed_object, profile_tree, remains, scaled

PROFILES: dict[str, Any] = {
    "a": {"type": "parallel_homogeneous_total", "cpu": 100, "com": 8.0, "ret": 3, "io_reads": 40},
    "b": {"type": "parallel_homogeneous_total", "cpu": 200, "com": 0},
    "d": {"type": "delay", "delay": 60},
    "seq": {"type": "composed", "seq": ["a", "b", "a"]},
    "twice": {"type": "composed", "seq": ["a", "b"], "repeat": 4, "note": "mine"},
    "nest": {"type": "composed", "seq": ["b", "twice", "b"], "ret": 7},
    "mixed": {"type": "composed", "seq": ["a", "d"]},
    "loop": {"type": "composed", "seq": ["a", "loop"]},
    "open": {"type": "composed", "seq": ["a", "nowhere"]},
}


def tree(name: str) -> ProfileTree:
    return profile_tree(name, PROFILES.get, {})


def leaf(name: str, share: float) -> dict[str, Any]:
    return {"profile_name": name, "progress": share}


def at(name: str, index: int, inside: dict[str, Any]) -> dict[str, Any]:
    return {"profile_name": name, "current_task_index": index, "current_task": inside}


def shape(node: ProfileTree) -> Any:
    """Name, or for what is new its parts and repetitions, or its work."""
    if node.name is not None:
        return node.name
    if node.parts:
        parts = [shape(part) for part in node.parts]
        return (parts, node.repeat) if node.repeat > 1 else parts
    return {key: node.raw[key] for key in ("cpu", "delay") if key in node.raw}


@pytest.mark.parametrize("keep", [False, True])
def test_nothing_done_leaves_the_profile_itself(keep: bool) -> None:
    whole = tree("nest")
    assert remains(whole, {}, keep=keep) is whole
    assert remains(whole, at("nest", 0, leaf("b", 0.0)), keep=keep) is whole
    single = tree("a")
    assert remains(single, leaf("a", 0.0), keep=keep) is single


def test_a_single_part_restarts_or_keeps_its_progress() -> None:
    single = tree("a")
    assert remains(single, leaf("a", 0.25), keep=False) is single
    left = remains(single, leaf("a", 0.25), keep=True)
    assert (left.name, left.base) == (None, "a")
    assert left.raw == {"type": "parallel_homogeneous_total", "cpu": 75, "com": 6, "ret": 3, "io_reads": 30}
    assert left.scales
    assert left.flops == 75


@pytest.mark.parametrize(
    ("name", "progress", "preempted", "rebalanced"),
    [
        ("seq", at("seq", 1, leaf("b", 0.5)), ["b", "a"], [{"cpu": 100.0}, "a"]),
        ("seq", at("seq", 2, leaf("a", 0.5)), ["a"], [{"cpu": 50.0}]),
        ("seq", at("seq", 0, leaf("a", 0.5)), "seq", [{"cpu": 50.0}, "b", "a"]),
        # ``current_task_index`` counts over the repetitions.
        ("twice", at("twice", 2, leaf("a", 0.0)), (["a", "b"], 3), (["a", "b"], 3)),
        ("twice", at("twice", 3, leaf("b", 0.5)), ["b", (["a", "b"], 2)], [{"cpu": 100.0}, (["a", "b"], 2)]),
        ("twice", at("twice", 5, leaf("b", 0.0)), ["b", "a", "b"], ["b", "a", "b"]),
        ("twice", at("twice", 7, leaf("b", 0.5)), ["b"], [{"cpu": 100.0}]),
        (
            "nest",
            at("nest", 1, at("twice", 1, leaf("b", 0.5))),
            ["b", (["a", "b"], 3), "b"],
            [{"cpu": 100.0}, (["a", "b"], 3), "b"],
        ),
        ("nest", at("nest", 2, leaf("b", 0.5)), ["b"], [{"cpu": 100.0}]),
        ("mixed", at("mixed", 1, leaf("d", 0.5)), ["d"], [{"delay": 30.0}]),
    ],
)
def test_finished_parts_are_not_done_again(
    name: str, progress: dict[str, Any], preempted: Any, rebalanced: Any
) -> None:
    assert shape(remains(tree(name), progress, keep=False)) == preempted
    assert shape(remains(tree(name), progress, keep=True)) == rebalanced


def test_what_is_left_does_not_grow_deeper_with_each_kill() -> None:
    left = remains(tree("twice"), at("twice", 1, leaf("b", 0.5)), keep=True)
    assert shape(left) == [{"cpu": 100.0}, (["a", "b"], 3)]
    left = remains(left, at("", 1, at("", 0, leaf("a", 0.5))), keep=True)
    assert shape(left) == [{"cpu": 50.0}, "b", (["a", "b"], 2)]
    left = remains(left, at("", 2, at("", 1, leaf("b", 0.5))), keep=True)
    assert shape(left) == [{"cpu": 100.0}, "a", "b"]


def test_parts_whose_progress_is_not_told_restart() -> None:
    told = {"profile_name": "b", "current_task_index": -1}
    assert shape(remains(tree("seq"), at("seq", 1, told), keep=True)) == ["b", "a"]


def test_a_job_that_was_all_but_over_ends_as_it_would_have() -> None:
    left = remains(tree("nest"), at("nest", 2, leaf("b", 1.0)), keep=True)
    assert shape(left) == [{"cpu": 0.0}]
    assert left.raw["ret"] == 7


def test_users_own_fields_stay() -> None:
    left = remains(tree("twice"), at("twice", 2, leaf("a", 0.0)), keep=False)
    assert composed_object(left, ["a", "b"]) == {
        "type": "composed",
        "seq": ["a", "b"],
        "repeat": 3,
        "note": "mine",
    }


def test_progress_of_another_profile_is_the_peers_fault() -> None:
    with pytest.raises(RemoteProtocolError, match="index 8 of profile 'twice', which has 8 parts"):
        remains(tree("twice"), at("twice", 8, leaf("a", 0.5)), keep=False)


def test_only_jobs_all_of_whose_parts_scale_do() -> None:
    assert [tree(name).scales for name in ("a", "seq", "nest", "d", "mixed")] == [True] * 3 + [False] * 2
    assert tree("nest").flops == 2 * 200 + 4 * 300


def test_profiles_that_cannot_be_resolved_do_not_scale() -> None:
    assert not tree("loop").scales
    assert not tree("open").scales
    assert not profile_tree("nowhere", PROFILES.get, {}).scales
    deep = {f"n{i}": {"type": "composed", "seq": [f"n{i + 1}"]} for i in range(5000)} | {
        "n5000": PROFILES["a"]
    }
    assert not profile_tree("n0", deep.get, {}).scales


def test_wide_nests_are_not_unrolled() -> None:
    wide = {f"n{i}": {"type": "composed", "seq": [f"n{i + 1}"] * 9, "repeat": 9} for i in range(60)}
    assert profile_tree("n0", (wide | {"n60": PROFILES["a"]}).get, {}).flops == 100 * 81.0**60


def test_vectors_are_scaled_and_settings_are_not() -> None:
    raw = {"type": "parallel", "cpu": [10, 20], "com": [0, 4, 4, 0], "ret": 2, "cores_per_executor": 4}
    assert scaled(raw, 0.5) == {**raw, "cpu": [5, 10], "com": [0, 2, 2, 0]}
