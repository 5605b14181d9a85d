"""Random runs with energy: jobs share hosts, use those of others, end early; pstates change."""

from __future__ import annotations

import random
from typing import Any

from playback import JobList, Journal, job
from powered import SPEEDS, host
from sharing_platforms import ClusterNetwork

from batpy.platforms.platform import Platform
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run

# Two pstates to compute in: 0 and 4. Idle watts differ from those of next to no load.
WATTS = "30:40:100, 9.75:9.75, 200:230, 425:425, 20:21:60"
PROPERTIES = {"role": "", "wattage_per_state": WATTS, "sleep_pstates": "1:2:3"}


class RandomPeer:
    """Starts jobs on random hosts, switches hosts, and kills jobs; much of it is refused."""

    def __init__(self, dice: random.Random, hosts: int, *, io: bool) -> None:
        self.dice = dice
        self.io = io
        self.hosts = hosts
        self.waiting: list[tuple[str, int]] = []
        self.running: set[str] = set()
        self.calls = 40

    def __call__(self, request: m.Message) -> m.Message:
        dice, now = self.dice, request.now
        for event in request.events:
            if isinstance(event, m.JobSubmitted):
                self.waiting.append((event.job_id, event.job["res"]))
            elif isinstance(event, m.JobCompleted):
                self.running.discard(event.job_id)
            elif isinstance(event, m.SimulationEnds):
                return m.Message(now, [])
        said: list[m.Event] = []
        if self.calls:
            self.calls -= 1
            said.append(m.CallMeLater(now, now + dice.randint(1, 3_000_000)))
            if dice.random() < 0.5:
                first = dice.randrange(self.hosts)
                last = min(self.hosts - 1, first + dice.randrange(2))
                said.append(m.SetResourceState(now, ((first, last),), dice.choice([0, 0, 1, 4])))
            if self.running and dice.random() < 0.2:
                said.append(m.KillJob(now, (dice.choice(sorted(self.running)),)))
        elif self.waiting:
            # At last everything is awake and every job is started or rejected.
            said += [m.RejectJob(now, id_) for id_, _ in self.waiting]
            self.waiting.clear()
        for id_, count in list(self.waiting):
            if dice.random() < 0.5:
                said.append(self._start(now, id_, count))
        return m.Message(now, said)

    def _start(self, now: int, id_: str, count: int) -> m.Event:
        dice = self.dice
        alloc = hostset.from_ids(sorted(dice.sample(range(self.hosts), count)))
        self.running.add(id_)
        io = None
        if self.io and dice.random() < 0.3:
            others = hostset.from_ids(sorted(dice.sample(range(self.hosts), 2)))
            io = m.IoJob(others, dice.choice(["half", "talk"]), None)
        return m.ExecuteJob(now, id_, alloc, None, None, io)


PROFILES: dict[str, Any] = {
    "delay": {"type": "delay", "delay": 3.3},
    "one": {"type": "parallel_homogeneous", "cpu": 2.7e8, "com": 0},
    "half": {"type": "parallel", "cpu": [1e8, 2.5e8], "com": [0, 0, 0, 0]},
    "talk": {"type": "parallel_homogeneous", "cpu": 1e8, "com": 1.2e8},
    "both": {"type": "composed", "repeat": 2, "seq": ["one", "delay"]},
}
SIZES = {"delay": (1, 3), "one": (1, 3), "half": (2, 2), "both": (1, 2), "talk": (2, 3)}


def random_run(seed: int, *, sharing: bool) -> tuple[Simulator, Journal]:
    """One run to its end, and its records."""
    dice, count = random.Random(seed), 4
    jobs = []
    for number in range(12):
        profile = dice.choice(sorted(PROFILES))
        limit = {"walltime": dice.uniform(0.5, 8)} if dice.random() < 0.3 else {}
        size = dice.randint(*SIZES[profile])
        jobs.append(job(number, dice.uniform(0, 30), size, profile, **limit))
    park = Platform(
        "park",
        tuple(
            host(i, speeds=(*SPEEDS, 5.3e7), cores=dice.choice([1, 2, 4]), properties=PROPERTIES)
            for i in range(count)
        ),
        network=ClusterNetwork(count),
    )
    journal = Journal()
    config = SimulatorConfig(energy=True, compute_sharing=sharing, strict=False)
    simulator = Simulator(park, [JobList(jobs, PROFILES)], journal, config)
    run(simulator, RandomPeer(dice, count, io=sharing))
    simulator.check()
    return simulator, journal
