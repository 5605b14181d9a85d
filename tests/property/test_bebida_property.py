"""Random jobs on our simulator while a broker takes and gives hosts: no work is lost or done twice.

The twin of what is left is the unrolled list of parts: finished ones go, the first of the rest keeps a share.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playback import SECOND, JobList, Journal
from scripted_broker import Move, ScriptedBroker, place, unrolled

from batpy.platforms.platform import Host, Platform
from batpy.protocol.hostset import HostSet
from batpy.schedulers import make_scheduler
from batpy.schedulers.bigdata.remains import composed_object, profile_tree, remains, scaled
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run

HOSTS = 6
FLAGS = ("profile_reuse", "forward_profiles", "acknowledge_dynamic_jobs")
LEAVES: dict[str, Any] = {
    "p": {"type": "parallel_homogeneous_total", "cpu": 24e6, "com": 0, "io_reads": 10.0},
    "q": {"type": "parallel_homogeneous_total", "cpu": 7e6, "com": 0},
    "z": {"type": "parallel_homogeneous_total", "cpu": 0, "com": 0},
    "h": {"type": "parallel_homogeneous", "cpu": 5e6, "com": 0},
    "d": {"type": "delay", "delay": 3.5},
}


@st.composite
def profile_sets(draw: st.DrawFn) -> dict[str, Any]:
    profiles = dict(LEAVES)
    for number in range(draw(st.integers(1, 4))):
        # Two in three have parts that scale only; deeper ones name those made before.
        names = [name for name in profiles if name not in ("h", "d") or number % 3 == 2]
        seq = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3))
        profiles[f"s{number}"] = {"type": "composed", "seq": seq, "repeat": draw(st.integers(1, 3))}
    return profiles


@st.composite
def host_sets(draw: st.DrawFn) -> HostSet:
    first = draw(st.integers(0, HOSTS - 1))
    return ((first, draw(st.integers(first, HOSTS - 1))),)


@st.composite
def move_lists(draw: st.DrawFn) -> list[Move]:
    """Takes and gives; at the end everything is given back."""
    dates = st.one_of(st.integers(1, 60).map(lambda s: s * SECOND), st.integers(SECOND, 60 * SECOND))
    moves = [
        Move(draw(dates), draw(st.booleans()), draw(host_sets())) for _ in range(draw(st.integers(0, 8)))
    ]
    return [*moves, Move(61 * SECOND, False, ((0, HOSTS - 1),))]


def play(
    profiles: dict[str, Any], jobs: list[dict[str, Any]], moves: list[Move], spec: str, **config: Any
) -> tuple[ScriptedBroker, Journal]:
    platform = Platform("six", tuple(Host(i, f"h{i}", speeds=(1e6,)) for i in range(HOSTS)))
    journal = Journal()
    settings = {"dynamic_jobs": True, **config}
    simulator = Simulator(platform, [JobList(jobs, profiles)], journal, SimulatorConfig(**settings))
    broker = ScriptedBroker(make_scheduler(spec), moves, profiles)
    run(simulator, broker)
    simulator.check()
    broker.check_end()
    return broker, journal


def check_work(broker: ScriptedBroker, jobs: list[dict[str, Any]]) -> None:
    """Follow each job from attempt to attempt."""
    attempts: dict[str, list[str]] = {}
    for id_, job in broker.jobs.items():
        attempts.setdefault(job.get("parent_job", id_), []).append(id_)
    assert sorted(attempts) == sorted(f"w0!{job['id']}" for job in jobs)
    for chain in attempts.values():
        for last, following in zip(chain, [*chain[1:], None], strict=True):
            parts = unrolled(broker.jobs[last]["profile"], broker.profiles)
            if following is None:
                assert broker.states[last] == "COMPLETED_SUCCESSFULLY"
                continue
            assert broker.states[last] == "COMPLETED_KILLED"
            over, share = place(broker.jobs[last]["profile"], broker.profiles, broker.kills[last])
            left = parts[over:]
            if not broker.why[last] and share > 0:
                left[0] = scaled(left[0], 1.0 - share)
            assert unrolled(broker.jobs[following]["profile"], broker.profiles) == left
            assert broker.jobs[following]["res"] == broker.jobs[last]["res"]


@pytest.mark.parametrize("spec", ["bebida", "bebida[rebalance=always]", "bebida[rebalance=never]"])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_work_is_conserved_whatever_the_broker_takes(spec: str, data: st.DataObject) -> None:
    profiles = data.draw(profile_sets())
    jobs = [
        {
            "id": str(number),
            "subtime": data.draw(st.integers(0, 20)),
            "res": data.draw(st.integers(1, HOSTS)),
            "profile": data.draw(st.sampled_from(sorted(profiles))),
        }
        for number in range(data.draw(st.integers(1, 6)))
    ]
    config = {key: data.draw(st.booleans()) for key in FLAGS}
    # With latency, jobs end by themselves between the wish to kill them and the kill.
    config["latency"] = data.draw(st.sampled_from([0, 0, 700_000]))
    broker, _ = play(profiles, jobs, data.draw(move_lists()), spec, **config)
    check_work(broker, jobs)


@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_two_runs_are_equal(data: st.DataObject) -> None:
    profiles = data.draw(profile_sets())
    jobs = [
        {"id": str(i), "subtime": i, "res": 1 + i % HOSTS, "profile": name}
        for i, name in enumerate(sorted(profiles))
    ]
    moves = data.draw(move_lists())
    first, again = (play(profiles, jobs, moves, "bebida") for _ in range(2))
    assert first[1].records == again[1].records
    assert first[0].log == again[0].log


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_what_is_left_is_the_rest_of_the_unrolled_parts(data: st.DataObject) -> None:
    profiles = data.draw(profile_sets())
    name = data.draw(st.sampled_from(sorted(profiles)))
    keep = data.draw(st.booleans())

    def progress(of: str) -> dict[str, Any]:
        raw = profiles[of]
        if raw["type"] != "composed":
            return {"profile_name": of, "progress": data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))}
        index = data.draw(st.integers(0, len(raw["seq"]) * raw["repeat"] - 1))
        inside = progress(raw["seq"][index % len(raw["seq"])])
        return {"profile_name": of, "current_task_index": index, "current_task": inside}

    def store(tree: Any) -> str:
        if tree.name is not None:
            return str(tree.name)
        parts = [store(part) for part in tree.parts]
        new = f"new{len(profiles)}"
        profiles[new] = composed_object(tree, parts) if parts else tree.raw
        return new

    told = progress(name)
    over, share = place(name, profiles, told)
    expected = unrolled(name, profiles)[over:]
    if keep and share > 0:
        expected[0] = scaled(expected[0], 1.0 - share)
    left = remains(profile_tree(name, profiles.get, {}), told, keep=keep)
    assert unrolled(store(left), profiles) == expected
