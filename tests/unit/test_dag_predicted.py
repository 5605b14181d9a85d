"""Predicted applications: stages that follow their rooflines, on slots that they share."""

from __future__ import annotations

import msgspec
import pytest

from batpy.base.errors import InputError
from batpy.models.dag.predicted import Target, makespan_error, predict, transfer_error
from batpy.workloads.stages.calibration_rows import runs_of
from batpy.workloads.stages.graph import AppJob, Application, Executor, Stage, table_of
from batpy.workloads.stages.roofline import Bandwidth, Figures, Parameters
from batpy.workloads.stages.tally import Tally

S = 1_000_000
FIGURES = Figures(
    speed=1e9,
    read=Bandwidth(rate=1e8, scope="all"),
    write=Bandwidth(rate=1e8, scope="all"),
    net=Bandwidth(rate=1e8, scope="host"),
)
PLAIN = Parameters(k_cpu=1e9)


def stage(id: int, *, tasks: int = 4, cpu: float = 40, parents: tuple[int, ...] = (), **more: int) -> Stage:
    """Tasks of ten seconds, of which some compute."""
    times = [10 * S] * tasks
    return Stage(
        id=id,
        tasks=tasks,
        done=tasks,
        parents=parents,
        cpu_us=round(cpu * S),
        wall_us=sum(times),
        times_us=table_of(times),
        **more,
    )


def application(*stages: Stage, slots: int = 4, executors: tuple[Executor, ...] = ()) -> Application:
    end = AppJob(id=0, submitted_us=0, completed_us=20 * S, stages=tuple(one.id for one in stages))
    return Application(
        id="a", framework="spark", hosts=2, slots=slots, stages=stages, jobs=(end,), executors=executors
    )


def test_stages_take_the_time_of_their_rooflines_one_after_the_other() -> None:
    app = application(stage(0, input_bytes=5 * 10**8), stage(1, cpu=20, parents=(0,)))
    found = predict(app, PLAIN, Target(FIGURES))
    assert [found.walls[id, 0] for id in (0, 1)] == pytest.approx([15, 5])
    assert found.makespan == pytest.approx(20)
    assert (found.recorded, found.error) == (20, pytest.approx(0))
    assert found.dominating() == {(0, 0): "cpu", (1, 0): "cpu"}
    halved = Figures(**{**msgspec.structs.asdict(FIGURES), "read": Bandwidth(rate=4e7, scope="all")})
    assert predict(app, PLAIN, Target(halved)).dominating() == {(0, 0): "read", (1, 0): "cpu"}
    assert predict(app, PLAIN, Target(halved)).makespan == pytest.approx(27.5)


def test_stages_that_run_together_share_the_slots() -> None:
    app = application(stage(0), stage(1), stage(2, parents=(0, 1)))
    assert predict(app, PLAIN, Target(FIGURES)).makespan == pytest.approx(30)
    assert predict(app, PLAIN, Target(FIGURES, slots=8)).makespan == pytest.approx(20)
    assert predict(app, PLAIN, Target(FIGURES, slots=2)).makespan == pytest.approx(60)


def test_the_overhead_of_a_stage_takes_no_slot() -> None:
    """Two stages beside each other: their overheads pass at once, and before those that follow."""
    slow = Parameters(k_cpu=1e9, stage_overhead=3, task_overhead=1)
    app = application(stage(0), stage(1), stage(2, parents=(0, 1)))
    found = predict(app, slow, Target(FIGURES))
    assert found.makespan == pytest.approx(3 + 11 + 11 + 3 + 11)
    assert found.walls[0, 0] == pytest.approx(14)


def test_anchored_recorded_times_are_kept_on_the_platform_of_the_record() -> None:
    """Of ten seconds a task the model explains five by the processor: the other five stay with it."""
    app = application(stage(0, cpu=20), stage(1, cpu=0, parents=(0,)))
    assert predict(app, PLAIN, Target(FIGURES)).makespan == pytest.approx(5)
    assert predict(app, PLAIN, Target(FIGURES), anchor=FIGURES).makespan == pytest.approx(20)
    fast = Figures(**{**msgspec.structs.asdict(FIGURES), "speed": 2e9})
    assert predict(app, PLAIN, Target(fast), anchor=FIGURES).makespan == pytest.approx(10)
    assert predict(app, PLAIN, Target(FIGURES, inflation=1.5), anchor=FIGURES).makespan == pytest.approx(30)


@pytest.mark.parametrize("overlap", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("read", [10**8, 6 * 10**8, 9 * 10**8, 2 * 10**9])
def test_anchored_what_is_not_explained_is_the_processors(overlap: float, read: int) -> None:
    """Ten seconds were recorded. With half the bandwidth, what is read takes twice as long."""
    app = application(stage(0, cpu=4, input_bytes=read))
    parameters = Parameters(k_cpu=1e9, overlap=overlap)
    assert predict(app, parameters, Target(FIGURES), anchor=FIGURES).makespan == pytest.approx(10, abs=1e-5)
    half = Figures(**{**msgspec.structs.asdict(FIGURES), "read": Bandwidth(rate=5e7, scope="all")})
    found = predict(app, parameters, Target(half), anchor=FIGURES).makespan
    if read > 10**9:
        told = 20 + (1 - overlap) * 1, 40 + (1 - overlap) * 1
        expected = 10 * told[1] / told[0]  # longer than recorded: the figures are off
    elif overlap == 0:
        expected = 10 + read / 1e8
    elif overlap == 1:
        expected = max(10, read / 5e7)
    else:
        other = read / 1e8
        cpu = 10 - other / 2 if 10 - other / 2 >= other else 2 * (10 - other)
        expected = max(cpu, 2 * other) / 2 + (cpu + 2 * other) / 2
    assert found == pytest.approx(expected, abs=1e-4)


def test_one_run_tells_another_on_its_executors() -> None:
    def on(*names: str) -> Application:
        executors = tuple(Executor(id=name, host=name, cores=2) for name in names)
        return application(stage(0, tasks=8, cpu=80), slots=2 * len(names), executors=executors)

    known, wanted = runs_of([on("a", "b"), on("a", "b", "c", "d")], Tally())
    assert transfer_error(known, known, PLAIN, FIGURES) == pytest.approx(0)
    assert transfer_error(known, wanted, PLAIN, FIGURES) == pytest.approx(-0.5)
    assert makespan_error(wanted, PLAIN, FIGURES) == pytest.approx(-0.5)


def test_slots_must_be_known_from_somewhere() -> None:
    app = application(stage(0), slots=0)
    with pytest.raises(InputError, match="no slots are known; say how many"):
        predict(app, PLAIN, Target(FIGURES))
    assert predict(app, PLAIN, Target(FIGURES, slots=4)).makespan == pytest.approx(10)
    (run,) = runs_of([app], Tally())
    assert makespan_error(run, PLAIN, FIGURES) is None


def test_stages_of_which_nothing_was_done_take_no_time() -> None:
    app = application(stage(0), Stage(id=1, tasks=4, parents=(0,)))
    assert predict(app, PLAIN, Target(FIGURES)).makespan == pytest.approx(10)
