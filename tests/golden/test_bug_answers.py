"""Small inputs behind public bug reports, and the right answer of each (energy is looked at elsewhere)."""

from __future__ import annotations

from pathlib import Path

import pytest
from playback import SECOND, Greedy, Journal

from batpy.platforms.builders import hosts
from batpy.platforms.load import load_platform
from batpy.platforms.platform import Platform
from batpy.protocol import messages as m
from batpy.protocol import records as r
from batpy.schedulers.registry import make_scheduler
from batpy.simulator.core import Simulator, run
from batpy.workloads.load import load_workload

Spans = dict[str, tuple[float, float, str]]
DONE = "COMPLETED_SUCCESSFULLY"


def play(bugs: Path, name: str, platform: Platform, scheduler: str) -> tuple[Journal, Spans]:
    journal = Journal()
    simulator = Simulator(platform, [load_workload(bugs / f"{name}.json", "w0")], journal)
    run(simulator, make_scheduler(scheduler).handle)
    simulator.check()
    return journal, {job.removeprefix("w0!"): span for job, span in journal.spans().items()}


@pytest.fixture
def bugs(shared: Path) -> Path:
    return shared / "data/bugs"


def test_batsim34_a_run_whose_jobs_are_all_rejected_ends(bugs: Path) -> None:
    journal, spans = play(bugs, "batsim34_all_rejected", hosts(2), "fcfs")
    assert [record.job for record in journal.of(r.Rejected)] == ["w0!0", "w0!1", "w0!2"]
    assert not spans
    assert journal.of(r.RunEnds)[0].outcome == "done"


def test_batsim23_zeros_in_cpu_vectors_are_legal_and_all_zero_ends_at_once(bugs: Path) -> None:
    _, spans = play(bugs, "batsim23_zero_vectors", hosts(4, speed=1e9), "fcfs")
    assert spans == {
        "j0001": (0, 1, DONE),
        "j1010": (10, 11, DONE),
        "j1011": (20, 21, DONE),
        "j0000": (30, 30, DONE),
        "j1111": (40, 41, DONE),
    }


def test_batsim51_a_job_on_two_hosts_is_cut_at_its_walltime(bugs: Path) -> None:
    platform = load_platform(bugs / "batsim51_platform.xml")
    _, spans = play(bugs, "batsim51_walltime3", platform, "fcfs")
    assert spans == {"0": (0, 3, "COMPLETED_WALLTIME_REACHED")}


def test_batsim62_two_tasks_on_a_host_of_two_cores_do_not_slow_each_other(bugs: Path) -> None:
    def ask(request: m.Message) -> m.Message:
        starts: list[m.Event] = []
        for event in request.events:
            if isinstance(event, m.JobSubmitted):
                mapping = {str(executor): 0 for executor in range(event.job["res"])}
                starts.append(m.ExecuteJob(request.now, event.job_id, ((0, 0),), mapping))
        return m.Message(request.now, starts)

    journal = Journal()
    platform = load_platform(bugs / "batsim62_two_core.xml")
    run(Simulator(platform, [load_workload(bugs / "batsim62_two_core.json", "w0")], journal), ask)
    assert journal.spans() == {"w0!1task": (0, 10, DONE), "w0!2tasks": (100, 110, DONE)}


def test_batsim67_ends_and_a_submission_of_one_instant_travel_together(bugs: Path) -> None:
    ask = Greedy()
    workload = load_workload(bugs / "batsim67_same_time.json", "w0")
    run(Simulator(hosts(2, speed=1e9), [workload], Journal()), ask)
    [message] = [message for message in ask.heard if message.now == 10 * SECOND]
    told = sorted((type(event).__name__, getattr(event, "job_id", "")) for event in message.events)
    assert told == [
        ("JobCompleted", "w0!1"),
        ("JobCompleted", "w0!2"),
        ("JobSubmitted", "w0!3"),
        ("Notify", ""),
    ]


@pytest.mark.parametrize("name", ["flux572_easy17", "flux572_easy17_nowalltime"])
def test_flux572_easy_packs_seventeen_jobs_into_seven_waves(bugs: Path, name: str) -> None:
    _, spans = play(bugs, name, hosts(4), "easy")
    assert len(spans) == 17
    assert max(end for _, end, _ in spans.values()) == 140


def test_zero_runtime_jobs_start_and_end_once_and_no_walltime_is_unbounded(bugs: Path) -> None:
    journal, spans = play(bugs, "zero_runtime", hosts(1), "fcfs")
    assert spans == {"0": (0, 0, DONE), "1": (0, 5, DONE), "2": (5, 5, DONE), "3": (5, 10, DONE)}
    assert len(journal.of(r.Started)) == len(journal.of(r.Ended)) == 4
