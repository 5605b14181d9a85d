"""Applications of stages in the simulator: when they end, what a kill tells, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from playback import SECOND, Greedy, JobList, Journal, hosts, job, play

from batpy.base.errors import InputError, RemoteProtocolError
from batpy.platforms.platform import Host, Platform
from batpy.protocol import messages as m
from batpy.protocol import records as r
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run

Stage = dict[str, Any]


def stage(id: int, durations: list[float], *parents: int, **more: Any) -> Stage:
    return {"id": id, "tasks": len(durations), "durations": durations, "parents": list(parents), **more}


def app(*stages: Stage, **fields: Any) -> dict[str, Any]:
    return {"type": "stage_dag", "stages": list(stages), **fields}


def end_of(profile: dict[str, Any], res: int = 1, **options: Any) -> float:
    """Seconds that a job takes on so many hosts of one core."""
    _, journal = play([job("a", res=res, profile="p")], {"p": profile}, **options)
    start, end, state = journal.spans()["w0!a"]
    assert (start, state) == (0, m.COMPLETED_SUCCESSFULLY)
    return end


def kill_at(profile: dict[str, Any], at: float, res: int = 1, **options: Any) -> tuple[m.Json, r.KillAsked]:
    """What the scheduler and the journal are told when a job is killed."""
    date = round(at * SECOND)
    ask = Greedy({0: lambda t: [m.CallMeLater(t, date)], date: lambda t: [m.KillJob(t, ["w0!a"])]})
    _, journal = play([job("a", res=res, profile="p")], {"p": profile}, ask, **options)
    [told] = ask.events(m.JobKilled)
    [record] = journal.of(r.KillAsked)
    return told.job_progress["w0!a"], record


def test_tasks_take_the_slots_of_all_hosts() -> None:
    waves = app(stage(0, [3, 1, 1, 4]), stage(1, [2, 2, 2], 0))
    # One slot a core, two hosts: 3 | 1, 1, 4 until 6; then 2 | 2 and 2 until 10.
    assert end_of(waves, res=2) == 10
    assert end_of({**waves, "slots": {"0": 2}}, res=2) == 4 + 2
    assert end_of({**waves, "slots": {"0": [3, 1]}}, res=2) == 4 + 2
    assert end_of(waves) == 15


def test_jobs_share_slots_and_think() -> None:
    stages = (stage(0, [2, 2, 2]), stage(1, [5], job=1), stage(2, [1], job=2))
    jobs = [{"id": 0}, {"id": 1, "think": 1}, {"id": 2, "after": 0, "think": 3.5}]
    # Job 0 until 4, job 1 from 2 to 7, job 2 from 7.5.
    assert end_of(app(*stages, jobs=jobs), res=2) == 8.5


def test_the_longest_way_goes_first_if_one_says_so() -> None:
    stages = (stage(0, [4]), stage(1, [1]), stage(2, [5], 1))
    # One slot: 4, 1, 5 either way. With two: stage 1 first, so that stage 2 runs beside stage 0.
    assert end_of(app(*stages)) == 10
    wide = (stage(0, [4, 4]), stage(1, [1]), stage(2, [5], 1))
    assert end_of(app(*wide), res=2) == 4 + 1 + 5
    assert end_of(app(*wide, order="critical_path"), res=2) == 4 + 4


def test_slots_are_those_of_each_resource_profile() -> None:
    resources = [
        {"id": 0, "executor": {"cores": 2}, "task": {"cpus": 1}},
        {"id": 1, "executor": {"cores": 4, "gpu": 1}, "task": {"cpus": 1, "gpu": 0.5}},
    ]
    stages = (stage(0, [1] * 8), stage(1, [1] * 8, profile=1))
    platform = Platform("p", tuple(Host(i, f"n{i}", cores=4) for i in range(2)))
    journal = Journal()
    profile = app(*stages, resources=resources)
    simulator = Simulator(
        platform, [JobList([job("a", res=2, profile="p")], {"p": profile})], journal, SimulatorConfig()
    )
    run(simulator, Greedy())
    # Profile 0: two executors of two tasks on each host, one wave; profile 1: one of two, two waves.
    assert journal.spans()["w0!a"][1] == 2


def test_executors_come_and_go() -> None:
    executors = [
        {"host": 0, "slots": 1, "end": 5},
        {"host": 1, "slots": 2, "start": 2},
        {"host": 5, "slots": 1, "start": 100},
    ]
    # As in a replay: 0-4, 4-8 (begun before it left), two from 2 to 6, and the fifth after them.
    assert end_of(app(stage(0, [4] * 5), executors=executors), res=2) == 10
    early = [{"host": 0, "slots": 1, "end": 1}]
    late = app(stage(0, [1]), jobs=[{"id": 0, "think": 2}], executors=early)
    with pytest.raises(InputError, match="profile p: no executor of resource profile 0 ever comes"):
        end_of(late)


def near(**fields: Any) -> dict[str, Any]:
    """Two tasks whose input lies on the second host; read from afar, they take 2 s more."""
    one = stage(0, [3, 3], near=[[0], [0]], input=2e6)
    rates = {"remote_bandwidth": 4e5, "local_bandwidth": 2e6}
    return app(one, hosts=["host1"], **rates, **fields)


def test_tasks_far_from_their_input_take_longer() -> None:
    assert end_of(near(), res=2) == 5
    assert end_of(near(slots={"0": 2}), res=2) == 3
    assert end_of(near()) == 5 + 5  # on host 0 alone
    elsewhere = {**near(), "hosts": ["host9"]}
    assert end_of(elsewhere, res=2) == 5


def test_delay_scheduling_waits_for_the_host_of_the_input() -> None:
    # The second task waits 3 s and gets the slot that the first one leaves, or gives up after 1 s.
    assert end_of(near(delay={"wait": 4}), res=2) == 6
    assert end_of(near(delay={"wait": 1}), res=2) == 1 + 5
    assert end_of(near(delay={"wait": 0}), res=2) == 5
    # After the first task, offers of host 0 are turned down twice, one at each heartbeat.
    assert end_of(near(delay={"skips": 2, "heartbeat": 1.5}), res=2) == 6
    assert end_of(near(delay={"skips": 2, "heartbeat": 0.25}), res=2) == 0.75 + 5
    assert end_of(near(delay={"skips": 0}), res=2) == 5


def test_parts_of_a_sequence_go_on_without_a_gap_of_rounding() -> None:
    profiles = {
        "third": app(stage(0, [0.333333])),
        "p": {"type": "composed", "seq": ["third"], "repeat": 3},
    }
    _, journal = play([job("a", profile="p")], profiles, ticks_per_second=7)
    # 0.999999 s are 6.999993 ticks: 7, not three times three.
    assert journal.of(r.Ended)[0].time == 7


def test_a_walltime_stops_an_application_and_its_very_end_does_not() -> None:
    profile = {"p": app(stage(0, [4]))}
    _, journal = play([job("a", profile="p", walltime=3), job("b", profile="p", walltime=4)], profile)
    assert journal.spans() == {
        "w0!a": (0, 3, m.COMPLETED_WALLTIME_REACHED),
        "w0!b": (0, 4, m.COMPLETED_SUCCESSFULLY),
    }


def test_return_codes_are_those_of_the_profile() -> None:
    _, journal = play([job("a", profile="p")], {"p": app(stage(0, [4]), ret=3)})
    assert journal.of(r.Ended)[0].return_code == 3


def test_a_kill_tells_what_is_done_and_where() -> None:
    jobs = [{"id": 0}, {"id": 1, "after": 0, "think": 2}, {"id": 2, "think": 9}]
    dag = app(stage(0, [1, 2, 1, 4]), stage(1, [2, 2, 9], 0), stage(2, [1], job=1), jobs=jobs)
    # Host 0 runs tasks 0 and 2, then 3 from 2 on; host 1 runs task 1.
    progress, record = kill_at(dag, 3, res=2)
    assert progress == {
        "profile_name": "p",
        "progress": 5 / 22,
        "elapsed": 3,
        "jobs": {"think": {"2": 6}},
        "stages": [
            {"id": 0, "done": "0-2", "outputs": {"0": "0 2", "1": "1"}, "running": [[3, 0, 1]]},
        ],
    }
    assert record.work[0] == pytest.approx((0, 0, 22, 0, 0, 0, 0, 0, 5))
    assert record.leaf_since == (0,)
    later, _ = kill_at(dag, 8.5, res=2)
    assert [one["id"] for one in later["stages"]] == [0, 1]
    assert later["stages"][1]["running"] == [[2, 0, 0.5]]
    assert "outputs" not in later["stages"][1]  # nobody reads what stage 1 writes
    over, _ = kill_at(dag, 18, res=2)
    assert over["jobs"] == {"over": [0, 2], "think": {"1": 1}}
    assert kill_at({**dag, "shuffle": "external"}, 3, res=2)[0]["stages"][0]["done"] == "0-2"
    assert "outputs" not in kill_at({**dag, "shuffle": "external"}, 3, res=2)[0]["stages"][0]


def test_a_kill_at_the_start_or_at_the_end_of_a_task() -> None:
    dag = app(stage(0, [2, 2]))
    progress, _ = kill_at(dag, 2)
    assert progress["stages"] == [{"id": 0, "done": "0"}]
    empty, _ = kill_at(app(stage(0, []), jobs=[{"id": 0, "think": 5}]), 1)
    assert (empty["progress"], empty["stages"]) == (1.0, [])


def test_what_a_task_had_done_before_counts() -> None:
    left = app(stage(0, [4, 4, 4], left="1-2", resumed={"1": 3}))
    assert end_of(left) == 1 + 4
    progress, record = kill_at(left, 0.5)
    assert progress["stages"] == [{"id": 0, "running": [[1, 0, 3.5]]}]
    assert record.work[0] == pytest.approx((0, 0, 5, 0, 0, 0, 0, 0, 0.5))


def test_time_read_from_afar_is_not_work() -> None:
    progress, record = kill_at(near(), 2.5)
    assert progress["stages"] == [{"id": 0, "running": [[0, 0, 1.5]]}]
    assert record.work[0] == pytest.approx((0, 0, 6, 0, 0, 0, 0, 0, 1.5))


def test_an_application_inside_a_sequence_is_killed_as_its_part() -> None:
    profiles = {"one": app(stage(0, [2])), "p": {"type": "composed", "seq": ["one"], "repeat": 4}}
    date = 5 * SECOND
    ask = Greedy({0: lambda t: [m.CallMeLater(t, date)], date: lambda t: [m.KillJob(t, ["w0!a"])]})
    _, journal = play([job("a", profile="p")], profiles, ask)
    [told] = ask.events(m.JobKilled)
    tree = told.job_progress["w0!a"]
    assert (tree["current_task_index"], tree["current_task"]["progress"]) == (2, 0.5)
    assert journal.of(r.KillAsked)[0].work[0] == pytest.approx((0, 0, 8, 0, 0, 4, 0, 0, 5))


def test_hosts_without_slots_or_that_do_not_compute_are_refused() -> None:
    two = app(stage(0, [1]), slots={"0": [0, 1]})
    with pytest.raises(
        RemoteProtocolError, match="profile 'p' of job w0!a has no slot for resource profile 0"
    ):
        end_of(two)
    assert end_of(two, res=2) == 1
    storage = Platform("p", hosts(1).compute, (Host(1, "disk", role="storage"),))
    simulator = Simulator(
        storage,
        [JobList([job("a", subtime=1, res=2, profile="p")], {"p": two})],
        Journal(),
        SimulatorConfig(storage_sharing=False),
    )
    on_both = Greedy({SECOND: lambda t: [m.ExecuteJob(t, "w0!a", ((0, 1),))]})
    with pytest.raises(RemoteProtocolError, match="would compute on host 1, which has the role storage"):
        run(simulator, on_both)


def test_the_seed_decides_the_order_of_drawn_tasks() -> None:
    table = [float(i) for i in range(1, 18)]
    drawn = app({"id": 0, "tasks": 17, "times": table})
    ends = {end_of(drawn, res=3, seed=seed) for seed in range(5)}
    assert len(ends) > 1
    assert end_of(drawn, res=3, seed=4) == end_of(drawn, res=3, seed=4)
