"""Cost of the results a job, as the simulator pays it: journal, tables, summary.

The machine's speed is printed beside it, as the time of formatting one date: compare ratios.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from batpy.protocol.records import AnyRecord, Ended, RunBegins, RunEnds, Started, Submitted
from batpy.results.audit import audit
from batpy.results.recorder import RunRecorder

pytestmark = pytest.mark.bench

JOBS = 10_000
S = 1_000_000


def run_of(jobs: int) -> list[AnyRecord]:
    """Jobs that wait, run and end at dates of their own, on 128 hosts, half of them on two intervals."""
    records: list[AnyRecord] = [RunBegins(0, "1", S, 128, 0, False, {"w0": "x"})]
    for i in range(jobs):
        job, now, first = f"w0!{i}", i * 7 * S, i * 8 % 128
        wait = i % 3 * S
        alloc = ((first, first + 3),) if i % 2 else ((first, first), (first + 2, first + 4))
        records += [
            Submitted(now, job, f"d{i % 900}", now, 4, 3600 * S, f"u{i % 50}", f"q{i % 3}"),
            Started(now + wait, job, alloc),
            Ended(now + wait + 4 * S + i, job, "COMPLETED_SUCCESSFULLY", 0),
        ]
    records.append(RunEnds(records[-1].time, "done"))
    return records


def best(attempt: Callable[[], object]) -> float:
    """Shortest of several, in microseconds a job, by the clock of this process alone."""
    times = []
    for _ in range(7):
        gc.collect()
        begun = time.process_time()
        attempt()
        times.append(time.process_time() - begun)
    return min(times) / JOBS * 1e6


def one_date() -> None:
    ticks = 1_234_567_890
    for _ in range(JOBS):
        f"{ticks // S}.{ticks % S:06d}"


@pytest.mark.parametrize(("tables", "summary"), [(False, False), (True, False), (False, True), (True, True)])
def test_cost_of_what_a_run_leaves(tables: bool, summary: bool, tmp_path: Path) -> None:
    records = run_of(JOBS)

    def record() -> None:
        recorder = RunRecorder(tmp_path, tables=tables, summary=summary)
        write = recorder.write
        for one in records:
            write(one)
        recorder.close()

    parts = "journal" + " + tables" * tables + " + summary" * summary
    print(f"\n{parts}: {best(record):.2f} us a job (one date: {best(one_date):.2f} us)")


def test_cost_of_an_audit(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path)
    for record in run_of(JOBS):
        recorder.write(record)
    recorder.close()
    assert audit(tmp_path).passed
    print(f"\naudit: {best(lambda: audit(tmp_path)):.1f} us a job (one date: {best(one_date):.2f} us)")
