"""What a calibration learns from, and what machines can do as logs tell it."""

from __future__ import annotations

import msgspec
import pytest

from batpy.base.errors import InputError
from batpy.workloads.stages import calibration_rows as rows
from batpy.workloads.stages.calibration import inflation_for, inflations
from batpy.workloads.stages.calibration_platform import figures_from
from batpy.workloads.stages.calibration_rows import Run, runs_of
from batpy.workloads.stages.graph import Application, Executor, Stage, table_of
from batpy.workloads.stages.inflation import Inflation, fit_inflation
from batpy.workloads.stages.roofline import Bandwidth, StageWork, busy_slots
from batpy.workloads.stages.tally import Tally

S = 1_000_000


def stage(id: int = 0, begin: float = 0, end: float = 10, tasks: int = 4, **more: object) -> Stage:
    seconds = more.pop("each", 5)
    assert isinstance(seconds, int | float)
    times = [round(seconds * S)] * tasks
    known = {
        "id": id, "tasks": tasks, "done": tasks, "submitted_us": round(begin * S),
        "completed_us": round(end * S), "cpu_us": 8 * S, "wall_us": sum(times), "run_us": sum(times),
        "times_us": table_of(times), **more,
    }  # fmt: skip
    return msgspec.convert(known, Stage)


def executor(id: str, cores: int = 4, joined: float = 0, left: float | None = None) -> Executor:
    gone = None if left is None else round(left * S)
    return Executor(id=id, host=id, cores=cores, joined_us=round(joined * S), left_us=gone)


def run_of(
    *stages: Stage, executors: tuple[Executor, ...] = (executor("a"),), **more: object
) -> tuple[Run, Tally]:
    tally = Tally()
    known = {"id": "app", "framework": "spark", "hosts": 1, "slots": 4, **more}
    application = Application(**known, executors=executors, stages=stages)  # type: ignore[arg-type]
    (run,) = runs_of([application], tally)
    return run, tally


def test_a_stage_alone_is_learnt_from() -> None:
    run, tally = run_of(stage(input_bytes=7, output_bytes=8, shuffle_remote_bytes=9, shuffle_local_bytes=3))
    (row,) = run.rows
    assert (row.cpu, row.read, row.write, row.net, row.local, row.wall) == (8, 7, 8, 9, 3, 10)
    assert (row.tasks, row.slots, row.hosts, row.kept) == (4, 4, 1, None)
    assert run.amount == 27
    assert run.executors == 1
    assert not tally.report()


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (stage(end=0), rows.NO_DATES),
        (stage(submitted_us=None), rows.NO_DATES),
        (stage(cpu_us=0), rows.NOTHING),
        (stage(lost=1), rows.PARTIAL),
        (stage(failure="fetch failed"), rows.PARTIAL),
        (stage(tasks=4, done=3), rows.PARTIAL),
    ],
)
def test_others_are_left_out_with_a_reason(made: Stage, why: str) -> None:
    run, tally = run_of(made)
    assert run.rows == ()
    assert tally.skipped == {why: 1}
    assert tally.first[why] == "calibration: app stage 0"


def test_a_stage_that_waited_for_executors_is_left_out() -> None:
    late = (executor("a", joined=2),)
    run, tally = run_of(stage(), executors=late)
    assert (run.rows, tally.skipped) == ((), {rows.WAITED: 1})
    run, _ = run_of(stage(), executors=(executor("a", joined=0.9),))
    assert len(run.rows) == 1, "a tenth of its time is tolerated"


def test_slots_are_those_there_were_while_it_ran() -> None:
    run, _ = run_of(stage(), executors=(executor("a"), executor("b", joined=5), executor("c", left=2.5)))
    assert run.rows[0].slots == 4 + 2 + 1
    assert run.executors == 2


def test_stages_that_share_slots_are_known_by_what_they_kept_busy() -> None:
    """Four tasks and two on four slots: both want more than there is. Two and two do not."""
    run, tally = run_of(stage(0, each=6), stage(1, tasks=2, each=8))
    assert [row.kept for row in run.rows] == [2.4, 1.6]
    assert tally.noted == {rows.SHARED: 2}
    run, tally = run_of(stage(0, tasks=2), stage(1, tasks=2))
    assert [row.kept for row in run.rows] == [None, None]
    run, tally = run_of(stage(0), stage(1, begin=9.5, end=20))
    assert [row.kept for row in run.rows] == [None, None], "a twentieth of its time is tolerated"


@pytest.mark.parametrize(
    ("times", "tasks", "slots", "busy"),
    [
        ([1, 1, 1, 1], 4, 2, 2.0),
        ([1, 1, 1], 3, 2, 1.5),  # the last wave fills half
        ([1, 1, 4], 3, 8, 1.5),  # a straggler
        ([4, 1, 1, 1, 1], 5, 2, 2.0),
        ([1, 1, 1, 1, 4], 5, 2, 8 / 6),
        ([], 5, 2, 5 / 3),
        ([0, 0], 2, 4, 2.0),
        ([], 0, 4, 1.0),
    ],
)
def test_busy_slots(times: list[int], tasks: int, slots: int, busy: float) -> None:
    assert busy_slots(times, tasks, slots) == pytest.approx(busy)


def test_shuffled_data_spread_over_other_numbers_of_hosts() -> None:
    work = StageWork(cpu=1, read=0, write=0, net=70, local=50, tasks=4, slots=4, hosts=2)
    assert [work.crossing(hosts) for hosts in (1, 2, 3, 12)] == [0, 70, 80, 110]
    fixed = StageWork(cpu=1, read=0, write=0, net=70, tasks=4, slots=4, hosts=2)
    assert fixed.crossing(12) == 70


def test_bandwidths_are_what_the_fastest_got_while_they_waited() -> None:
    made = [
        stage(n, begin=20 * n, end=20 * n + 10, input_bytes=n * 10**8, blocked_us=10 * S)
        for n in range(1, 12)
    ]
    run, _ = run_of(*made)
    figures = figures_from([run])
    assert figures.read == Bandwidth(rate=1e8, scope="slot", basis="time blocked")  # 9th decile of 1e7..11e7
    assert (figures.write.basis, figures.net.basis) == ("nominal", "nominal")
    given = Bandwidth(rate=5.0, scope="all")
    assert figures_from([run], read=given, speed=3.0).read is given


def test_where_no_task_waited_there_is_a_bound_from_below() -> None:
    run, _ = run_of(stage(shuffle_remote_bytes=8 * 10**7, fetch_wait_us=1000))
    assert figures_from([run]).net == Bandwidth(rate=4e6, scope="slot", basis="time run, at least")


def test_small_amounts_tell_nothing_of_bandwidths() -> None:
    run, _ = run_of(stage(input_bytes=3_999_999, blocked_us=10 * S))
    assert figures_from([run]).read.basis == "nominal"


def test_runs_of_one_application_are_known_by_name_and_stages() -> None:
    first, _ = run_of(stage(0), stage(1), id="a_1", name="nightly")
    again, _ = run_of(stage(0), stage(1), id="a_2", name="nightly")
    shell, _ = run_of(stage(0), id="a_3", name="nightly")
    unnamed, _ = run_of(stage(0), id="a_4")
    same, _ = run_of(stage(0), id="a_4~2")
    assert first.family == again.family != shell.family
    assert unnamed.family == same.family


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1e9", Bandwidth(rate=1e9)),
        ("2e8/slot", Bandwidth(rate=2e8, scope="slot")),
        ("5/all", Bandwidth(rate=5.0, scope="all")),
        ("7/host", Bandwidth(rate=7.0, scope="host")),
    ],
)
def test_bandwidths_are_read(text: str, found: Bandwidth) -> None:
    assert Bandwidth.parse(text) == found
    assert found.capacity(3.5, 2) == found.rate * {"slot": 3.5, "host": 2, "all": 1}[found.scope]


@pytest.mark.parametrize("text", ["", "fast", "0", "-1", "nan", "inf", "1e9/", "1e9/rack", "1/host/all"])
def test_others_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="must be bytes per second from 1 on"):
        Bandwidth.parse(text)


def test_work_grows_along_a_line_with_executors() -> None:
    found = fit_inflation({10: 100.0, 50: 136.0}, "q1")
    assert (found.executors, found.a) == (10, pytest.approx(0.09))
    assert found.factor(100, 10) == pytest.approx(1.81)
    assert found.factor(10, 50) == pytest.approx(1 / 1.36)
    line = {count: 7 * (1 + 0.2 * (count / 5 - 1)) for count in (5, 10, 40, 80)}
    assert fit_inflation(line).a == pytest.approx(0.2)
    assert fit_inflation({10: 100.0, 20: 90.0}).a == pytest.approx(-0.1)


def test_a_line_that_falls_to_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="no work would be left on 200 executors"):
        fit_inflation({10: 100.0, 20: 90.0}, "q1").factor(200, 10)


@pytest.mark.parametrize("measured", [{}, {10: 1.0}, {10: 1.0, 20: 0.0}, {0: 1.0, 20: 1.0}])
def test_too_little_is_no_inflation(measured: dict[float, float]) -> None:
    with pytest.raises(InputError, match="inflation of a query"):
        fit_inflation(measured)


def test_inflation_is_found_in_runs_on_several_counts_of_executors() -> None:
    def on(count: int, each: float, bytes: int = 100) -> Run:
        executors = tuple(executor(f"e{n}") for n in range(count))
        return run_of(stage(each=each, input_bytes=bytes), executors=executors, name="q")[0]

    runs = [on(2, 5), on(4, 6), on(4, 8), on(2, 9, bytes=200)]
    (found,) = inflations(runs)
    assert found == Inflation(query=runs[0].family, executors=2, a=pytest.approx(0.4), bytes=100)
    assert inflation_for([found], runs[0], 6) == pytest.approx(1.8)
    assert inflation_for([found], runs[3], 6) == 1.0, "of another size"
