"""Applications run again on their own slots."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
import spark_logs as logs

from batpy.base.errors import InputError
from batpy.cli.main import main
from batpy.models.dag.replay import LEVELS, replay, replay_error, task_times
from batpy.workloads.stages.graph import AppJob, Application, Executor, ResourceProfile, Stage, table_of

US = 1_000_000


def stage(
    id: int,
    seconds: list[int],
    *,
    job: int = 0,
    parents: tuple[int, ...] = (),
    profile: int = 0,
    attempt: int = 0,
) -> Stage:
    times = [second * US for second in seconds]
    return Stage(
        id=id,
        tasks=len(times),
        done=len(times),
        attempt=attempt,
        job=job,
        parents=parents,
        profile=profile,
        wall_us=sum(times),
        times_us=table_of(times),
        durations_us=tuple(times),
    )


def job(id: int, submitted: int, completed: int | None = None, think: int = 0) -> AppJob:
    done = None if completed is None else completed * US
    return AppJob(id=id, submitted_us=submitted * US, completed_us=done, think_us=think * US)


def executor(id: str, cores: int, joined: int = 0, left: int | None = None, profile: int = 0) -> Executor:
    gone = None if left is None else left * US
    return Executor(id=id, host=id, cores=cores, profile=profile, joined_us=joined * US, left_us=gone)


def app(
    *stages: Stage,
    jobs: tuple[AppJob, ...] = (job(0, 0, 9),),
    executors: tuple[Executor, ...] = (executor("e", 2),),
) -> Application:
    return Application(id="a", framework="spark", jobs=jobs, executors=executors, stages=stages)


def ends(application: Application, level: str = "task") -> dict[tuple[int, int], tuple[float, float]]:
    found = replay(application, level).stages  # type: ignore[arg-type]
    return {key: (begin / US, end / US) for key, (begin, end) in found.items()}


def test_tasks_take_slots_in_turn_and_children_wait_for_their_parents() -> None:
    found = ends(app(stage(0, [3, 1, 1, 4]), stage(1, [2], parents=(0,))))
    # Two slots: 3 | 1, 1, then 4 on the first that is free (at 2): to 6.
    assert found == {(0, 0): (0, 6), (1, 0): (6, 8)}


def test_jobs_share_the_slots_the_earlier_job_first() -> None:
    jobs = (job(0, 0, 7, think=0), job(1, 1, 9, think=1))
    found = ends(app(stage(0, [2, 2, 2]), stage(1, [5], job=1), jobs=jobs))
    # Job 1 came at 1; at 2 both slots are free: the last task of job 0 takes one, job 1 the other.
    assert found == {(0, 0): (0, 4), (1, 0): (2, 7)}


def test_a_job_follows_the_one_that_had_ended_before_it() -> None:
    jobs = (job(0, 0, 5), job(1, 8, 10, think=3))
    found = replay(app(stage(0, [2]), stage(1, [1], job=1), jobs=jobs), "task")
    assert found.jobs == {0: (0, 2 * US), 1: (5 * US, 6 * US)}
    assert found.makespan_us == 6 * US


def test_slots_are_those_of_the_resource_profile() -> None:
    wide = Application(
        id="a",
        framework="spark",
        jobs=(job(0, 0, 9),),
        profiles=(
            ResourceProfile(id=0),
            ResourceProfile(id=1, executor={"gpu": 1}, task={"cpus": 1, "gpu": 1}),
        ),
        executors=(executor("a", 2), executor("b", 8, joined=4, profile=1)),
        stages=(stage(0, [3, 3]), stage(1, [2, 2], profile=1)),
    )
    # Profile 1 has one slot, from 4 on, however many cores its executor has.
    assert ends(wide) == {(0, 0): (0, 3), (1, 0): (4, 8)}


def test_executors_join_and_leave() -> None:
    found = ends(app(stage(0, [4] * 5), executors=(executor("a", 1, left=5), executor("b", 2, joined=2))))
    # a: 0-4, 4-8 (begun before it left); b: two from 2 to 6; the fifth waits for a slot of b.
    assert found == {(0, 0): (0, 10)}


def test_the_last_executor_stays_while_there_is_work() -> None:
    assert ends(app(stage(0, [3, 3]), executors=(executor("a", 1, left=2),))) == {(0, 0): (0, 6)}


def test_a_further_attempt_follows_the_one_before_and_children_follow_it() -> None:
    again = stage(0, [2], attempt=1)
    assert ends(app(stage(0, [3]), again, stage(1, [1], parents=(0,)))) == {
        (0, 0): (0, 3),
        (0, 1): (3, 5),
        (1, 0): (5, 6),
    }


def test_stages_without_tasks_and_jobs_without_stages_end_at_once() -> None:
    empty = Stage(id=0, tasks=4, job=0)
    jobs = (job(0, 0, 1), job(1, 1, 1, think=0), job(2, 2, 3, think=1))
    found = replay(app(empty, stage(1, [2], parents=(0,), job=2), jobs=jobs), "task")
    assert found.jobs == {0: (0, 0), 1: (0, 0), 2: (1 * US, 3 * US)}


def test_traces_without_executors_run_on_so_many_slots() -> None:
    bare = Application(id="a", framework="mapreduce", slots=3, stages=(stage(0, [2] * 4),))
    assert replay(bare, "task").makespan_us == 4 * US
    assert replay(bare, "task", slots=4).makespan_us == 2 * US
    claimed = 10**12  # what a log claims costs no memory
    assert replay(bare, "task", slots=claimed).makespan_us == 2 * US
    unknown = Application(id="a", framework="mapreduce", stages=(stage(0, [2]),))
    with pytest.raises(InputError, match="neither executors nor slots are known"):
        replay(unknown, "task")


def test_what_cannot_be_replayed_is_refused() -> None:
    with pytest.raises(InputError, match="no stage ran"):
        replay(app())
    with pytest.raises(InputError, match="no executor of resource profile 1 ever comes"):
        replay(app(stage(0, [1], profile=1)))
    kept = Stage(id=0, tasks=1, done=1, wall_us=5)
    with pytest.raises(InputError, match="the tasks of stage 0 were not kept"):
        replay(app(kept), "task")
    with pytest.raises(InputError, match="no job with a recorded end"):
        replay_error(app(stage(0, [1]), jobs=(job(0, 0),)), "task")


def test_drawn_times_have_the_total_of_the_recorded_ones() -> None:
    tailed = stage(0, [1] * 30 + [2] * 5 + [90])
    drawn = task_times(tailed, "q16", Random(1))
    assert len(drawn) == 36
    assert (min(drawn), max(drawn)) == (1 * US, 90 * US)
    assert sum(drawn) == pytest.approx(tailed.wall_us, rel=0.01)
    assert task_times(tailed, "even", Random(1)) == [round(130 * US / 36)] * 36
    assert task_times(tailed, "task", Random(1)) == list(tailed.durations_us)


def test_the_same_seed_draws_the_same() -> None:
    long = app(stage(0, list(range(1, 30))), executors=(executor("e", 3),))
    assert replay(long, "q16", seed=4) == replay(long, "q16", seed=4)
    assert len({replay(long, "q16", seed=seed).makespan_us for seed in range(6)}) > 1


def test_errors_are_those_of_the_makespan_and_of_long_jobs() -> None:
    jobs = (job(0, 0, 5), job(1, 8, 10, think=3))
    found = replay_error(app(stage(0, [4]), stage(1, [1], job=1), jobs=jobs), "task")
    assert found.recorded_us == 10 * US
    assert found.error == pytest.approx(-0.2)  # 0-4 and 7-8 instead of 0-5 and 8-10
    assert found.job_error == pytest.approx((0.2 + 0.5) / 2)


def test_the_table_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log").write_bytes(logs.lines(logs.small()))
    assert main(["workload", "replay", "log"]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert shown[0] == ["application", "recorded,", "s", *LEVELS]
    # 1.3 s of the first job instead of 2, 2 s of the second as recorded: 23.3 s in all instead of 24.
    assert shown[1] == ["app-1", "24.0", *["-2.9", "%", "(17.5)"] * 3, "-3.5", "%", "(21.3)"]
    assert main(["workload", "replay", "log", "--json", "--draws", "1"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["task"]["error"] == pytest.approx(-0.7 / 24)
    assert main(["workload", "import", "spark", "log", "-o", "g.json", "--level", "graph"]) == 0
    capsys.readouterr()
    assert main(["workload", "replay", "g.json"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[2] == "-"
    assert main(["workload", "replay", "log", "--draws", "0"]) == 2
    assert "--draws: must be at least 1, got 0" in capsys.readouterr().err
