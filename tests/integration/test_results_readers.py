"""Files that others read, and files that a killed process leaves."""

from __future__ import annotations

import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from playback import job
from powered import park, simulate, to

from batpy.protocol.records import AnyRecord, Ended, Rejected, RunBegins, RunEnds, Started, Submitted
from batpy.results.audit import audit
from batpy.results.journal import BUNCH, JournalReader
from batpy.results.recorder import RunRecorder

pytestmark = pytest.mark.integration

S = 1_000_000
OK = "COMPLETED_SUCCESSFULLY"

RUN: list[AnyRecord] = [
    RunBegins(0, "1", S, 8, 0, False, {"w0": "x"}),
    Submitted(0, "w0!1", "p", 0, 4, 100 * S),
    Started(0, "w0!1", ((0, 3),)),
    Submitted(S, "w0!2", "p", S, 6, -1),
    Submitted(S, "w0!3", "p", S, 60, -1),
    Rejected(S, "w0!3"),
    Ended(10 * S, "w0!1", OK, 0),
    Started(10 * S, "w0!2", ((0, 4), (7, 7))),
    Ended(30 * S, "w0!2", OK, 0),
    RunEnds(30 * S, "done"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    recorder = RunRecorder(tmp_path)
    for record in RUN:
        recorder.write(record)
    recorder.close()
    return tmp_path


def test_evalys_reads_the_jobs(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from evalys.jobset import JobSet  # type: ignore[import-untyped]

        jobs = JobSet.from_csv(str(folder / "jobs.csv"), resource_bounds=(0, 7))
        frame = jobs.df
        utilisation = jobs.utilisation
        by_name = {str(name): row for name, row in zip(frame.jobID, frame.itertuples(), strict=True)}
        assert str(by_name["2"].allocated_resources) == "0-4 7"
        assert (by_name["2"].starting_time, by_name["2"].finish_time) == (10, 30)
        assert by_name["2"].waiting_time == 9
        busy = utilisation.load.to_dict()
        assert (busy[0], busy[10], busy[30]) == (4, 6, 0)


def test_evalys_reads_the_machine_states(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from evalys.mstates import MachineStatesChanges  # type: ignore[import-untyped]

        states = MachineStatesChanges(str(folder / "machine_states.csv"))
        assert states.df.nb_computing.tolist()[-1] == 0
        assert set(states.df[["nb_idle", "nb_computing"]].sum(axis=1)) == {8}


@pytest.fixture
def powered(tmp_path: Path) -> Path:
    """A job on host 0; host 1 is switched off and on again."""
    full = {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}
    script = {2: [to(1, 1)], 10: [to(0, 1)]}
    recorder = RunRecorder(tmp_path)
    for record in simulate(park(2), script, [job(0, 1, profile="full")], {"full": full})[1].records:
        recorder.write(record)
    recorder.close()
    return tmp_path


def test_evalys_reads_the_jobs_and_pstates_of_a_run_with_energy(powered: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from evalys.jobset import JobSet
        from evalys.pstates import PowerStatesChanges  # type: ignore[import-untyped]

        jobs = JobSet.from_csv(str(powered / "jobs.csv"), resource_bounds=(0, 1))
        assert jobs.df.fair_share_energy.tolist() == jobs.df.consumed_energy.tolist() == [1000]
        changes = PowerStatesChanges(str(powered / "pstate_changes.csv"))
        asleep = changes.pseudo_jobs[changes.pseudo_jobs.pstate == 1]
        assert asleep[["begin", "end"]].to_numpy().tolist() == [[4, 10]]


WRITER = f"""
import os, signal, sys
from batpy.protocol.records import Rejected, RunBegins, Submitted
from batpy.results.recorder import RunRecorder
recorder = RunRecorder(sys.argv[1])
recorder.write(RunBegins(0, "1", 1, 8, 0, False, {{}}))
for i in range({3 * BUNCH}):
    recorder.write(Submitted(i, f"w0!{{i}}", "p", i, 1, -1))
    recorder.write(Rejected(i, f"w0!{{i}}"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_everything_up_to_the_last_flush_survives_a_kill(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", WRITER, str(tmp_path)], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    reader = JournalReader(tmp_path / "journal.msgpack")
    count = len(list(reader))
    assert count == 6 * BUNCH
    assert (reader.complete, reader.truncated) == (False, 0)
    result = audit(tmp_path)
    assert (result.passed, result.outcome) == (True, "incomplete")
