"""Cost of the accounts of a shared run a job: half of the jobs take their hosts from the other tenant.

The machine's speed is printed beside it, as the time of a write to a dict: compare ratios.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import shared_story as story

from batpy.protocol import records as s
from batpy.protocol import sharing_records as b
from batpy.results.accounting.run import account_run, finish_accounts
from batpy.results.audit import audit

pytestmark = pytest.mark.bench

JOBS = 100_000
HOSTS = 256
OK, KILLED = "COMPLETED_SUCCESSFULLY", "COMPLETED_KILLED"
WORK = (8.0, 0.0, 0.0, 2.0, 0.0, 0.0, 4.0, 0.0, 0.0)


def shared_run(jobs: int) -> tuple[list[s.AnyRecord], list[b.AnySharingRecord]]:
    """Pairs of jobs on eight hosts: one of bda, which a job of hpc drives away after four ticks."""
    park = ((0, HOSTS - 1),)
    ours: list[s.AnyRecord] = [s.RunBegins(0, "1", 1, HOSTS, 0, False, {})]
    theirs: list[b.AnySharingRecord] = [
        b.SharingBegins(0, 0, "1", 1, "bebida", ("hpc", "bda"), (park, park), HOSTS, (2,) * HOSTS),
        b.Lent(0, 0, 0, "hpc", park),
        b.Lent(0, 0, 1, "bda", park),
    ]
    for i in range(jobs // 2):
        t, first, big, small = i * 12, i * 8 % HOSTS, f"d!{i}", f"h!{i}"
        hosts, start = ((first, first + 7),), 2 * i
        ours += [s.Submitted(t, big, "p", t, 8, -1), s.Started(t, big, hosts)]
        ours += [s.Submitted(t + 4, small, "q", t + 4, 8, -1)]
        ours += [s.KillAsked(t + 4, (big,), {}, (t + 2,), (WORK,)), s.Ended(t + 4, big, KILLED, -1)]
        ours += [s.Started(t + 6, small, hosts), s.Ended(t + 10, small, OK, 0)]
        theirs += [b.JobOwned(t, i, big, "bda"), b.StartAsked(t, i, start, "bda", big, hosts)]
        theirs += [b.StartReleased(t, i, start), b.JobOwned(t + 4, i, small, "hpc")]
        theirs += [b.StartAsked(t + 4, i, start + 1, "hpc", small, hosts)]
        theirs += [b.RevokeAsked(t + 4, i, i, "bda", hosts, start + 1), b.HostsCleared(t + 4, i, start)]
        theirs += [b.EndTold(t + 4, i, big), b.Vacated(t + 4, i, i, "bda", hosts, b.ACKNOWLEDGED)]
        theirs += [b.PrologBegins(t + 4, i, start + 1, t + 6), b.StartReleased(t + 6, i, start + 1)]
        theirs += [b.EpilogBegins(t + 10, i, start + 1, t + 11), b.EndTold(t + 10, i, small)]
        theirs += [b.HostsCleared(t + 11, i, start + 1), b.Lent(t + 11, i, i + 2, "bda", hosts)]
    end = ours[-1].time + 1
    return [*ours, s.RunEnds(end, "done")], [*theirs, b.SharingEnds(end, jobs, "done")]


def test_accounts_and_audit_of_a_shared_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begun, scratch = time.perf_counter(), {}
    for i in range(1_000_000):
        scratch[i & 1023] = i
    speed = (time.perf_counter() - begun) * 1e3
    story.write(tmp_path, *shared_run(JOBS))
    told = []
    for name, work in (("accounts", account_run), ("with tables", finish_accounts), ("audit", audit)):
        begun = time.perf_counter()
        work(tmp_path)
        told.append(f"{name} {time.perf_counter() - begun:.2f} s")
    with capsys.disabled():
        print(f"\n{JOBS} jobs: {', '.join(told)}; a dict write {speed:.0f} ns")
