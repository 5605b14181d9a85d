"""Replay of CPU usage traces: reading their files, and how long they take on shared cores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playback import SECOND, Greedy, Journal, job

from batpy.base.errors import InputError, RemoteProtocolError
from batpy.models.sharing.work import busy_cores
from batpy.platforms.platform import Host, Platform
from batpy.protocol import messages as m
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run
from batpy.workloads.batsim_json import BatsimWorkload, read_batsim_json
from batpy.workloads.profile import UsageTrace

TEN_CORES = Platform("ten cores", tuple(Host(k, f"host{k}", speeds=(100.0,), cores=10) for k in range(2)))
TRACE = {"type": "usage_trace", "trace": "traces/list.txt"}


def write(folder: Path, *ranks: str, jobs: list[dict[str, Any]] | None = None, **profiles: Any) -> Path:
    """A workload with one trace of these ranks."""
    (folder / "traces").mkdir(exist_ok=True)
    for number, lines in enumerate(ranks):
        (folder / f"traces/rank{number}.txt").write_text(lines)
    names = "\n".join(f"rank{number}.txt" for number in range(len(ranks)))
    (folder / "traces/list.txt").write_text(names + "\n")
    path = folder / "w.json"
    tree = {
        "nb_res": 2,
        "jobs": jobs or [job("a", profile="t")],
        "profiles": {"t": TRACE, **profiles},
    }
    path.write_text(json.dumps(tree))
    return path


def play(
    workload: BatsimWorkload, ask: Greedy | None = None, **options: Any
) -> dict[str, tuple[float, float, str]]:
    journal = Journal()
    run(Simulator(TEN_CORES, [workload], journal, SimulatorConfig(**options)), ask or Greedy())
    return journal.spans()


def test_a_trace_holds_the_phases_of_its_ranks_in_order(tmp_path: Path) -> None:
    path = write(tmp_path, "0 m_usage 0.86 1186\n0 m_usage 1 4e2\n", "\n1 m_usage 0 7\n\n")
    profile = read_batsim_json(path).profiles["t"]
    assert isinstance(profile, UsageTrace)
    assert profile.ranks == (((0.86, 1186.0), (1.0, 400.0)), ((0.0, 7.0),))


@pytest.mark.parametrize(
    ("usage", "cores", "busy"),
    [(0, 10, 1), (0.04, 10, 1), (0.25, 10, 3), (0.14, 10, 1), (0.97, 100, 97), (1, 1, 1)],
)
def test_a_usage_keeps_whole_cores_busy_and_at_least_one(usage: float, cores: int, busy: int) -> None:
    assert busy_cores(usage, cores) == busy


def test_phases_follow_each_other_and_the_job_ends_with_its_last_rank(tmp_path: Path) -> None:
    # 1000 flops at 100 flop/s are 10 s whatever the usage; rank 1 has two phases and one without work.
    ranks = ("0 m_usage 1 1000\n", "1 m_usage 0.1 1000\n1 m_usage 1 0\n1 m_usage 0.5 500\n")
    path = write(tmp_path, *ranks, jobs=[job("a", res=2, profile="t")])
    assert play(read_batsim_json(path)) == {"w0!a": (0, 15, "COMPLETED_SUCCESSFULLY")}


def test_ranks_on_one_host_share_its_cores(tmp_path: Path) -> None:
    # Rank 2 is on the host of rank 0: 6 + 6 cores are wanted and 10 there, so each of the 12 computations
    # runs at 10/12 of its speed.
    ranks = [f"{rank} m_usage 0.6 1000\n" for rank in range(3)]
    path = write(tmp_path, *ranks, jobs=[job("a", res=2, profile="t")])
    assert play(read_batsim_json(path))["w0!a"][1] == 12


def test_the_job_may_say_which_executor_runs_which_rank(tmp_path: Path) -> None:
    ranks = [f"{rank} m_usage 1 1000\n" for rank in range(2)]
    together = job("a", res=2, profile="t", smpi_ranks_to_hosts_mapping=[1, 1])
    assert play(read_batsim_json(write(tmp_path, *ranks, jobs=[together])))["w0!a"][1] == 20
    short = job("a", res=2, profile="t", smpi_ranks_to_hosts_mapping=[1])
    with pytest.raises(RemoteProtocolError, match=r"profile 't' of job w0!a has 2 ranks; smpi_ranks"):
        play(read_batsim_json(write(tmp_path, *ranks, jobs=[short])))


def test_replays_share_cores_with_parallel_tasks(tmp_path: Path) -> None:
    # One executor of 1000 flops beside 10 busy cores: eleven equal shares of 10 cores, 11 s for 1000 flops.
    jobs = [job("a", profile="t"), job("b", profile="p"), job("c", profile="p")]
    path = write(
        tmp_path, "0 m_usage 1 1000\n", jobs=jobs, p={"type": "parallel_homogeneous", "cpu": 1e3, "com": 0}
    )

    def ask(request: m.Message) -> m.Message:
        starts: list[m.Event] = [
            m.ExecuteJob(request.now, event.job_id, ((0, 0),) if event.job_id != "w0!c" else ((1, 1),))
            for event in request.events
            if isinstance(event, m.JobSubmitted)
        ]
        return m.Message(request.now, starts)

    journal = Journal()
    config = SimulatorConfig(compute_sharing=True)
    run(Simulator(TEN_CORES, [read_batsim_json(path)], journal, config), ask)
    assert {job: end for job, (_, end, _) in journal.spans().items()} == {"w0!a": 11, "w0!b": 11, "w0!c": 10}


def test_parts_of_a_sequence_follow_at_exact_dates(tmp_path: Path) -> None:
    # 1/3 s each: the ticks do not add up.
    rank = "0 m_usage 1 33.333333333333336\n"
    path = write(
        tmp_path, rank, jobs=[job("a", profile="s")], s={"type": "composed", "seq": ["t"], "repeat": 3000}
    )
    assert play(read_batsim_json(path))["w0!a"][1] == 1000


@pytest.mark.parametrize(
    ("walltime", "end", "state"),
    [(9, 9, "COMPLETED_WALLTIME_REACHED"), (10, 10, "COMPLETED_SUCCESSFULLY")],
)
def test_the_walltime_stops_every_rank(tmp_path: Path, walltime: float, end: float, state: str) -> None:
    jobs = [job("a", res=2, profile="t", walltime=walltime), job("b", subtime=1, profile="t")]
    path = write(tmp_path, "0 m_usage 1 1000\n", "1 m_usage 1 500\n", jobs=jobs)
    # Job b has its host to itself: nothing of job a is left on it. Both its ranks are on one host.
    spans = play(read_batsim_json(path))
    assert spans["w0!a"] == (0, end, state)
    # 500 flops of each rank at half speed, then 500 more of rank 0 alone.
    assert spans["w0!b"] == (end, end + 15, "COMPLETED_SUCCESSFULLY")


def test_a_kill_stops_every_rank_and_progress_is_not_reported(tmp_path: Path) -> None:
    path = write(tmp_path, "0 m_usage 1 1000\n")
    ask = Greedy(
        {
            0: lambda now: [m.CallMeLater(now, SECOND)],
            SECOND: lambda now: [m.KillJob(now, ["w0!a"])],
        }
    )
    assert play(read_batsim_json(path), ask)["w0!a"] == (0, 1, "COMPLETED_KILLED")
    [killed] = ask.events(m.JobKilled)
    assert killed.job_progress == {"w0!a": {"profile_name": "t", "current_task_index": -1}}
    assert ask.events(m.JobCompleted)[0].return_code == -1


def test_a_trace_without_work_ends_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "0 m_usage 1 0\n", "")
    assert play(read_batsim_json(path))["w0!a"] == (0, 0, "COMPLETED_SUCCESSFULLY")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("0 m_usage 0.5\n", ":1: must be RANK m_usage USAGE FLOPS, got '0 m_usage 0.5'"),
        ("0 m_usage 1 5\n0 compute 5 5\n", ":2: must be RANK m_usage USAGE FLOPS, got '0 compute 5 5'"),
        ("1 m_usage 0.5 10\n", ":1: must be of rank 0, got '1'"),
        ("0 m_usage 1.5 10\n", ":1: the usage must be a number from 0 to 1, got '1.5'"),
        ("0 m_usage nan 10\n", ":1: the usage must be a number from 0 to 1, got 'nan'"),
        ("0 m_usage half 10\n", ":1: the usage must be a number from 0 to 1, got 'half'"),
        ("0 m_usage 1 -1\n", ":1: the flops must be a finite number of at least 0, got '-1'"),
        ("0 m_usage 1 inf\n", ":1: the flops must be a finite number of at least 0, got 'inf'"),
    ],
)
def test_a_malformed_trace_is_refused_with_file_and_line(tmp_path: Path, lines: str, problem: str) -> None:
    path = write(tmp_path, lines)
    with pytest.raises(InputError) as caught:
        read_batsim_json(path, source="in/w.json")
    assert str(caught.value) == f"in/traces/rank0.txt{problem}"


def test_a_missing_trace_is_refused_where_it_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "0 m_usage 1 1\n")
    (tmp_path / "traces/list.txt").write_text("rank0.txt\n\nrank7.txt\n")
    with pytest.raises(
        InputError, match=r"^in/traces/list\.txt:3: the trace 'rank7\.txt' of rank 1 cannot be"
    ):
        read_batsim_json(path, source="in/w.json")
    (tmp_path / "traces/list.txt").write_text("\n")
    with pytest.raises(InputError, match=r"^in/traces/list\.txt: lists no trace"):
        read_batsim_json(path, source="in/w.json")
    (tmp_path / "traces/list.txt").unlink()
    with pytest.raises(
        InputError, match=r"^in/w\.json: profiles\.t\.trace: 'traces/list\.txt' cannot be read: No"
    ):
        read_batsim_json(path, source="in/w.json")
