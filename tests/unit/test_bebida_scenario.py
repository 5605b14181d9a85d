"""One run of ``bebida`` on our simulator, every date computed by hand.

Four hosts of 1 flop/s. The profiles: ``m`` 60 flops, ``r`` 24 flops, ``mr`` is m then r, ``mmr`` is twice m
then r; ``nap`` lasts 10 s on any host. ``restart_cost`` is 5 s. The broker takes hosts 2-3 at 30 s and gives
them back at 50 s, and takes host 0 from 95 s to 100 s.

| date | what happens |
|---|---|
| 0 | a (mr, asks for 4) starts on 0-3: m ends at 15, r would end at 21. b (m, asks for 3) waits. |
| 21 | a is over; b starts on 0-2 and would end at 41. c (mmr, asks for 4) gets host 3. |
| 30 | Hosts 2-3 go: b has done 27/60, c 9/60 of its first m. Both are killed and restart their part. |
|    | b#1 (60 flops) gets hosts 0-1 and would end at 60. c#1 waits. |
| 35 | d (nap, asks for 2) waits behind c#1. |
| 50 | Hosts 2-3 are back. b#1 has 20 flops left: on 3 hosts it would save 10/3 s, less than 5 s: it stays. |
|    | c#1 gets 2-3: m ends at 80. It asks for 4, nothing is free. |
| 60 | b#1 is over; 0-1 are free. c#1 (168 flops, 20 done) has 74 s left: on 4 hosts 37 s less. It is |
|    | stopped, a third of m done. c#2 (m 40, r, m, r: 148 flops) starts on 0-3: m to 70, r to 76, m to 91. |
| 95 | Host 0 goes while r (from 91) is at 16/24: c#3 is r from zero, on 1-3 until 103. d waits for 2 hosts. |
| 100 | Host 0 is back. c#3 has 3 s left, of which a fourth host saves 0.75 s: it stays. d waits. |
| 103 | c#3 is over. d runs on 0-1 until 113. |
"""

from __future__ import annotations

import pytest
from playback import SECOND, JobList, Journal
from scripted_broker import Move, ScriptedBroker

from batpy.platforms.platform import Host, Platform
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.schedulers import make_scheduler
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run

PROFILES = {
    "m": {"type": "parallel_homogeneous_total", "cpu": 60, "com": 0},
    "r": {"type": "parallel_homogeneous_total", "cpu": 24, "com": 0},
    "mr": {"type": "composed", "seq": ["m", "r"]},
    "mmr": {"type": "composed", "seq": ["m", "r"], "repeat": 2},
    "nap": {"type": "delay", "delay": 10},
}
JOBS = [
    {"id": "a", "subtime": 0, "res": 4, "profile": "mr"},
    {"id": "b", "subtime": 0, "res": 3, "profile": "m"},
    {"id": "c", "subtime": 0, "res": 4, "profile": "mmr"},
    {"id": "d", "subtime": 35, "res": 2, "profile": "nap"},
]
MOVES = [
    Move(30 * SECOND, True, ((2, 3),)),
    Move(50 * SECOND, False, ((2, 3),)),
    Move(95 * SECOND, True, ((0, 0),)),
    Move(100 * SECOND, False, ((0, 0),)),
]


def test_every_date_of_a_run_is_as_computed_by_hand() -> None:
    platform = Platform("four", tuple(Host(i, f"h{i}", speeds=(1.0,)) for i in range(4)))
    journal = Journal()
    config = SimulatorConfig(dynamic_jobs=True, acknowledge_dynamic_jobs=True, profile_reuse=True)
    simulator = Simulator(platform, [JobList(JOBS, PROFILES)], journal, config)
    broker = ScriptedBroker(make_scheduler("bebida"), MOVES, PROFILES)
    run(simulator, broker)
    broker.check_end()

    hosts = {id_.removeprefix("w0!"): hostset.to_text(alloc) for _, id_, alloc in broker.starts}
    spans = {id_.removeprefix("w0!"): span for id_, span in journal.spans().items()}
    ok, killed = "COMPLETED_SUCCESSFULLY", "COMPLETED_KILLED"
    assert {id_: (hosts[id_], *span) for id_, span in spans.items()} == {
        "a": ("0-3", 0, 21, ok),
        "b": ("0-2", 21, 30, killed),
        "c": ("3", 21, 30, killed),
        "b#1": ("0-1", 30, 60, ok),
        "c#1": ("2-3", 50, 60, killed),
        "c#2": ("0-3", 60, 95, killed),
        "c#3": ("1-3", 95, 103, ok),
        "d": ("0-1", 103, 113, ok),
    }
    assert broker.answers == [(30 * SECOND, ((2, 3),)), (95 * SECOND, ((0, 0),))]
    asked = [event.job_ids for event in broker.log if isinstance(event, m.KillJob)]
    assert asked == [["w0!b", "w0!c"], ["w0!c#1"], ["w0!c#2"]]
    parts = [broker.profiles[broker.jobs[f"w0!c#{k}"]["profile"]].get("seq") for k in (1, 2, 3)]
    assert parts[0] == ["m", "r"]
    assert broker.profiles[parts[1][0]]["cpu"] == pytest.approx(40)
    assert parts[1][1:] == ["r", "m", "r"]
    assert parts[2] == ["r"]
