"""One run of ``easy`` (HPC) and ``bebida`` (Big Data) behind the broker, every figure computed by hand.

Six hosts of 1 flop/s. Big Data profiles: ``m`` 60 flops, ``r`` 24 flops, ``mr`` is m then r, ``nap`` lasts
10 s on any host; ``restart_cost`` is 5 s. HPC jobs are delays. A prolog takes 2 s and 1 s more for each
host that changes hands, from the moment Big Data is told; victims have a grace of 3 s; an epilog takes 4 s;
hosts that changed hands go back 1 s after it.

| date | what happens |
|---|---|
| 0    | a (mr, asks for 6) starts on 0-5: m would end at 10, r at 14. |
| 4    | h1 (2 hosts, 20 s) wants 0-1. Prolog of 2 + 2 s: until 8. a has until 7. |
| 7    | a is killed with 42 of m's 60 flops done, which are lost: 7 s on six hosts. a#1 (m again) starts |
|      | on 2-5: m would end at 22. Big Data leaves 0-1, the prolog goes on. |
| 8    | h1 starts, until 28. |
| 10   | b (m, asks for 2) waits: no host is idle. |
| 16   | h2 (1 host, 10 s) wants 2. Prolog of 2 + 1 s: until 19, as long as the grace. |
| 19   | a#1 is killed with 48 of 60 flops done: 12 s on four hosts are lost. a#2 starts on 3-5: m to 39, |
|      | r to 47. h2 starts, until 29. b waits. |
| 28   | h1 is over, hosts 0-1 are cleaned until 32. |
| 29   | h2 is over, host 2 is cleaned until 33. |
| 30   | h3 (2 hosts, 5 s) wants 0-1, which Big Data does not have: no prolog, but they are not clean. |
| 32   | h3 starts, until 37. Hosts 0-1 would go back at 33, but are used then: they do not. |
| 34   | Big Data has host 2 again. b starts on it (60 s). a#2 has 13 s left, too little for a restart. |
| 37   | h3 is over. It took no host from Big Data: no epilog, 0-1 go back at once. a#2 has 10 s left, of |
|      | which more hosts would save 5 s, no more than a restart costs. b has 57 s left, on two hosts half |
|      | of it: it is stopped, keeps its 3 flops, and b#1 starts on 0-1, until 65.5. |
| 38   | c (mr, asks for 3) starts on 2: m would end at 98. |
| 39   | d (nap, asks for 2) waits for two hosts. |
| 47   | a#2 is over. c (75 flops left) would need 75 s on one host, 25 s on three: it is stopped and |
|      | keeps its 9 flops; c#1 starts on 2-4: m (51 flops) to 64, r to 72. d waits, only host 5 is idle. |
| 64   | h4 (4 hosts, 10 s) wants 0-3. Prolog of 2 + 4 s: until 70. b#1 and c#1 have until 67. |
| 65   | h5 (6 hosts, 5 s) waits in its own scheduler: h4 may take until 84 there. |
| 65.5 | b#1 is over by itself. |
| 66   | h6 (2 hosts, at most 10 s) may go before h5. It wants 4-5. Prolog of 2 + 2 s: until 70. c#1, |
|      | which is on host 4 too, has no more time for that. |
| 67   | c#1 is killed; m is kept, the 3 s of r on three hosts are lost. Big Data leaves everything. |
| 70   | h4 starts, until 80, and h6, until 75. |
| 75   | h6 is over, 4-5 are cleaned until 79 and go back 1 s later. |
| 80   | h4 is over, 0-3 are cleaned until 84. Big Data is given 4-5, and h5 wants all six in the same |
|      | instant: prolog of 2 + 2 s: until 84. Big Data has not heard of that yet and starts c#2 (r, asks |
|      | for 3) on 4-5; it has until 83. |
| 83   | c#2 is killed: 3 s on two hosts are lost. Big Data leaves 4-5. |
| 84   | 0-3 are clean, the prolog has passed: h5 starts, until 89. What h4 left would go back at 85, but |
|      | is used then. |
| 89   | h5 is over. It took 4-5 from Big Data, so its hosts are cleaned until 93 and go back at 94. |
| 94   | c#3 (r) starts on 0-2 until 102, d on 3-4 until 104. |
"""

from __future__ import annotations

import pytest
from shared_park import SECOND, Records, workload

from batpy.broker.core import BrokerCore
from batpy.broker.registry import make_policy
from batpy.broker.service import Broker
from batpy.broker.tenants import TenantConfig
from batpy.platforms.platform import Host, Platform
from batpy.protocol import hostset
from batpy.protocol import records as s
from batpy.protocol import sharing_records as b
from batpy.results.accounting.account import Account
from batpy.results.accounting.figures import figures
from batpy.results.accounting.fold import account_records
from batpy.results.accounting.tables import sharing_tables
from batpy.schedulers import make_scheduler
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run
from batpy.transport.link import InProcessLink

POLICY = "bebida[prolog_base=2,prolog_per_node=1,prolog_width=1,grace=3,epilog_base=4,recommission=1]"
NAPS = {f"{n}s": {"type": "delay", "delay": n} for n in (5, 10, 20)}
PROFILES = {
    "m": {"type": "parallel_homogeneous_total", "cpu": 60, "com": 0},
    "r": {"type": "parallel_homogeneous_total", "cpu": 24, "com": 0},
    "mr": {"type": "composed", "seq": ["m", "r"]},
    "nap": {"type": "delay", "delay": 10},
}
HPC = [
    {"id": "1", "subtime": 4, "res": 2, "profile": "20s", "walltime": 30},
    {"id": "2", "subtime": 16, "res": 1, "profile": "10s", "walltime": 30},
    {"id": "3", "subtime": 30, "res": 2, "profile": "5s", "walltime": 10},
    {"id": "4", "subtime": 64, "res": 4, "profile": "10s", "walltime": 20},
    {"id": "5", "subtime": 65, "res": 6, "profile": "5s", "walltime": 20},
    {"id": "6", "subtime": 66, "res": 2, "profile": "5s", "walltime": 10},
]
BDA = [
    {"id": "a", "subtime": 0, "res": 6, "profile": "mr"},
    {"id": "b", "subtime": 10, "res": 2, "profile": "m"},
    {"id": "c", "subtime": 38, "res": 3, "profile": "mr"},
    {"id": "d", "subtime": 39, "res": 2, "profile": "nap"},
]
Run = tuple[list[s.AnyRecord], list[b.AnySharingRecord], Account]


@pytest.fixture(scope="module")
def played() -> Run:
    """Both journals of the run, and its accounts."""
    platform = Platform("six", tuple(Host(i, f"h{i}", speeds=(1.0,)) for i in range(6)))
    ours, theirs = Records(), Records()
    config = SimulatorConfig(dynamic_jobs=True, acknowledge_dynamic_jobs=True, profile_reuse=True)
    simulator = Simulator(platform, [workload("h", HPC, NAPS), workload("b", BDA, PROFILES)], ours, config)
    tenants = [
        TenantConfig("hpc", ("h",)),
        TenantConfig("bda", ("b",), dynamic_jobs=True, acknowledge_dynamic_jobs=True, profile_reuse=True),
    ]
    core = BrokerCore(make_policy(POLICY), POLICY, tenants, theirs, check=True)
    seats = [make_scheduler("easy"), make_scheduler("bebida[restart_cost=5]")]
    run(simulator, Broker(core, [InProcessLink(seat) for seat in seats]).handle)
    return ours.rows, theirs.rows, account_records(ours.rows, theirs.rows)


def test_every_attempt_starts_and_ends_where_and_when_it_was_computed(played: Run) -> None:
    ours, _, _ = played
    hosts = {r.job: (hostset.to_text(r.alloc), r.time / SECOND) for r in ours if isinstance(r, s.Started)}
    ends = {r.job: (r.time / SECOND, r.state) for r in ours if isinstance(r, s.Ended)}
    ok, killed = "COMPLETED_SUCCESSFULLY", "COMPLETED_KILLED"
    assert {job: (*hosts[job], *ends[job]) for job in hosts} == {
        "b!a": ("0-5", 0, 7, killed),
        "b!a#1": ("2-5", 7, 19, killed),
        "h!1": ("0-1", 8, 28, ok),
        "h!2": ("2", 19, 29, ok),
        "b!a#2": ("3-5", 19, 47, ok),
        "h!3": ("0-1", 32, 37, ok),
        "b!b": ("2", 34, 37, killed),
        "b!b#1": ("0-1", 37, 65.5, ok),
        "b!c": ("2", 38, 47, killed),
        "b!c#1": ("2-4", 47, 67, killed),
        "h!4": ("0-3", 70, 80, ok),
        "h!6": ("4-5", 70, 75, ok),
        "b!c#2": ("4-5", 80, 83, killed),
        "h!5": ("0-5", 84, 89, ok),
        "b!c#3": ("0-2", 94, 102, ok),
        "b!d": ("3-4", 94, 104, ok),
    }
    assert (ours[-1].time / SECOND, getattr(ours[-1], "outcome", "")) == (104, "done")


def test_prologs_epilogs_and_loans_have_the_computed_dates(played: Run) -> None:
    _, theirs, _ = played
    jobs = {r.start: r.job for r in theirs if isinstance(r, b.StartAsked)}
    prologs = [r for r in theirs if isinstance(r, b.PrologBegins)]
    # From the moment when the hosts are clear.
    assert [(jobs[r.start], r.time / SECOND, r.until / SECOND) for r in prologs] == [
        ("h!1", 7, 8), ("h!2", 19, 19), ("h!4", 67, 70), ("h!6", 67, 70), ("h!5", 84, 84),
    ]  # fmt: skip
    epilogs = [r for r in theirs if isinstance(r, b.EpilogBegins)]
    assert [(jobs[r.start], r.time / SECOND, r.until / SECOND) for r in epilogs] == [
        ("h!1", 28, 32), ("h!2", 29, 33), ("h!6", 75, 79), ("h!4", 80, 84), ("h!5", 89, 93),
    ]  # fmt: skip
    lent = [r for r in theirs if isinstance(r, b.Lent)]
    assert [(r.tenant, hostset.to_text(r.hosts), r.time / SECOND) for r in lent] == [
        ("hpc", "0-5", 0), ("bda", "0-5", 0),
        ("bda", "2", 34), ("bda", "0-1", 37), ("bda", "4-5", 80), ("bda", "0-5", 94),
    ]  # fmt: skip


def test_loans_are_as_computed(played: Run) -> None:
    """Loan 1 goes back in four pieces, in the order in which they are vacated.

    Core-seconds: 2 x 7, 1 x 19, 1 x 67, 1 x (67 - 34), 2 x (67 - 37), 2 x 67, 2 x 3; to the end 6 x 104, 6
    x 10.
    """
    assert sharing_tables(played[2])["loans.csv"].splitlines() == [
        "loan,tenant,hosts,cores,lent_at,asked_at,vacated_at,how,revocation,wanted_by,core_seconds",
        "1,bda,0-1,2,0,4,7,acknowledged,0,h!1,14",
        "1,bda,2,1,0,16,19,acknowledged,1,h!2,19",
        "1,bda,3,1,0,64,67,acknowledged,2,h!4,67",
        "2,bda,2,1,34,64,67,acknowledged,2,h!4,33",
        "3,bda,0-1,2,37,64,67,acknowledged,2,h!4,60",
        "1,bda,4-5,2,0,66,67,acknowledged,3,h!6,134",
        "4,bda,4-5,2,80,80,83,acknowledged,4,h!5,6",
        "0,hpc,0-5,6,0,,,,,,624",
        "5,bda,0-5,6,94,,,,,,60",
    ]


def test_the_accounts_of_each_host_are_as_computed(played: Run) -> None:
    """By host, in seconds (one core each).

    hpc useful: host 0 and 1: h1 20, h3 5, h4 10, h5 5; host 2: h2 10, h4 10, h5 5; host 3: h4 10, h5 5;
    hosts 4 and 5: h6 5, h5 5. Prolog: 7-8 on 0-1, 67-70 on all. Blocked (idle, kept free for a start):
    65.5-67 on 0-1 for h4; 66-67 on 5 for h6; 83-84 on 4-5 for h5. Epilog: 28-32 on 0-1, 29-33 on 2, 75-79
    on 4-5, 80-84 on 0-3, 89-93 on all. Idle in its hands: the second before hosts go back (33-34 on 2,
    79-80 on 4-5, 93-94 on all).

    bda useful: a#2 28 on 3-5; b 3 on 2; b#1 28.5 on 0-1; c 9 on 2; c#1 17 (its m) on 2-4; c#3 8 on 0-2; d
    10 on 3-4. Lost and done again: a 7 on all; a#1 12 on 2-5; c#1 3 (its r) on 2-4; c#2 3 on 4-5. Lent:
    0-1: 0-7, 37-67, 94-104; 2: 0-19, 34-67, 94-104; 3: 0-67, 94-104; 4-5: also 80-83. Idle: 102-104 on 0-2,
    37-38 on 2, 47-66 and 94-104 on 5.
    """
    assert sharing_tables(played[2])["accounting.csv"].splitlines() == [
        "tenant,host,cores,lent,useful,lost,reexecuted,unfinished,overlap,"
        "busy,idle,prolog,blocked,epilog,down,unlent",
        "hpc,0,1,104,40,0,0,0,0,40,1,4,1.5,12,0,0",
        "hpc,1,1,104,40,0,0,0,0,40,1,4,1.5,12,0,0",
        "hpc,2,1,104,25,0,0,0,0,25,2,3,0,12,0,0",
        "hpc,3,1,104,15,0,0,0,0,15,1,3,0,8,0,0",
        "hpc,4,1,104,10,0,0,0,0,10,2,3,1,8,0,0",
        "hpc,5,1,104,10,0,0,0,0,10,2,3,2,8,0,0",
        "bda,0,1,47,36.5,7,7,0,0,43.5,2,0,0,0,0,0",
        "bda,1,1,47,36.5,7,7,0,0,43.5,2,0,0,0,0,0",
        "bda,2,1,62,37,22,22,0,0,59,3,0,0,0,0,0",
        "bda,3,1,77,55,22,22,0,0,77,0,0,0,0,0,0",
        "bda,4,1,80,55,25,25,0,0,80,0,0,0,0,0,0",
        "bda,5,1,80,28,22,22,0,0,50,29,0,0,0,0,0",
    ]


def test_the_work_of_each_job_is_as_computed(played: Run) -> None:
    """a: 84 flops, and 7 x 6 + 12 x 4 lost. b loses nothing. c: 84 flops, and 3 x 3 + 3 x 2 lost. d: 10 x 2.

    A disruption is a kill for the sake of a start of HPC; stopping b and c to give them more hosts is none.
    """
    assert sharing_tables(played[2])["work.csv"].splitlines() == [
        "job_id,tenant,attempts,disruptions,submission_time,starting_time,finish_time,final_state,"
        "executed,useful,lost,reexecuted,unfinished",
        "h!1,hpc,1,0,4,8,28,COMPLETED_SUCCESSFULLY,40,40,0,0,0",
        "h!2,hpc,1,0,16,19,29,COMPLETED_SUCCESSFULLY,10,10,0,0,0",
        "h!3,hpc,1,0,30,32,37,COMPLETED_SUCCESSFULLY,10,10,0,0,0",
        "b!a,bda,3,2,0,0,47,COMPLETED_SUCCESSFULLY,174,84,90,90,0",
        "b!b,bda,2,0,10,34,65.5,COMPLETED_SUCCESSFULLY,60,60,0,0,0",
        "h!6,hpc,1,0,66,70,75,COMPLETED_SUCCESSFULLY,10,10,0,0,0",
        "h!4,hpc,1,0,64,70,80,COMPLETED_SUCCESSFULLY,40,40,0,0,0",
        "h!5,hpc,1,0,65,84,89,COMPLETED_SUCCESSFULLY,30,30,0,0,0",
        "b!c,bda,4,2,38,38,102,COMPLETED_SUCCESSFULLY,99,84,15,15,0",
        "b!d,bda,1,0,39,94,104,COMPLETED_SUCCESSFULLY,20,20,0,0,0",
    ]


def test_the_figures_of_both_are_as_computed(played: Run) -> None:
    told = figures(played[2])
    hpc, bda = told.tenants["hpc"], told.tenants["bda"]
    assert (told.horizon, told.capacity) == (104, 624)
    # Held between the start asked for and the real one: h1 4, h2 3, h3 2, h4 6, h5 4, h6 4 s.
    assert hpc.held_starts == 6
    assert hpc.effectiveness == 1
    # 248 useful core-seconds of 353: a 84 of 174, b 60, c 84 of 99, d 20.
    assert bda.effectiveness == pytest.approx(248 / 353)
    assert (bda.jobs, bda.attempts, bda.disruptions, bda.restarts) == (4, 10, 4, 2)
