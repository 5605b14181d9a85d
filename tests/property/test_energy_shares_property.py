"""Joules of jobs and of the rest, in random runs: they are all joules, and the audit finds nothing wrong."""

from __future__ import annotations

import random

import pytest
from random_power import random_run

from batpy.models.energy_shares import EnergyShares
from batpy.protocol import records as r
from batpy.results.laws import Laws
from batpy.results.laws_energy import EnergyLaws

BLOCK = 10
HOSTS, SECOND = 3, 10


@pytest.mark.parametrize("sharing", [False, True], ids=["exclusive", "shared"])
@pytest.mark.parametrize("block", range(4))
def test_shares_of_jobs_and_the_rest_are_all_joules_and_lawful(block: int, sharing: bool) -> None:
    for seed in range(block * BLOCK, block * BLOCK + BLOCK):
        _, journal = random_run(seed, sharing=sharing)
        ended = [record for record in journal.of(r.EnergyMeasured) if record.event == "e"]
        [ends] = journal.of(r.EnergyEnds)
        whole = sum(record.fair_joules for record in ended) + ends.idle + ends.sleeping + ends.switching
        assert whole == pytest.approx(ends.joules, rel=1e-12), f"seed {seed}"
        assert all(record.fair_joules >= 0 for record in ended), f"seed {seed}"
        if not sharing:
            # Who has a host alone pays for all of it, as with Batsim.
            for record in ended:
                assert record.fair_joules == pytest.approx(record.job_joules, abs=1e-3), f"seed {seed}"
        laws, energy = Laws(), EnergyLaws()
        findings = [
            str(f) for record in journal.records for f in (*laws.check(record), *energy.check(record))
        ]
        assert findings == [], f"seed {seed}"


class SlowShares:
    """Notes what holds from when on at each host, and adds everything up at the end."""

    def __init__(self, watts: list[float]) -> None:
        # (date, idle watts, watts, kind, holders, loads) by host.
        self.notes = [[(0, w, w, 0, frozenset[str](), dict[str, float]())] for w in watts]

    def note(self, date: int, host: int, **changes: object) -> None:
        names = ("date", "idle", "watts", "kind", "holders", "loads")
        told = dict(zip(names, self.notes[host][-1], strict=True)) | changes | {"date": date}
        self.notes[host].append(tuple(told[name] for name in names))  # type: ignore[arg-type]

    def result(self, until: int) -> tuple[dict[str, float], list[float]]:
        jobs: dict[str, float] = {}
        rest = [0.0, 0.0, 0.0]
        for notes in self.notes:
            ends = [note[0] for note in notes[1:]] + [until]
            for (date, idle, watts, kind, holders, told), end in zip(notes, ends, strict=True):
                seconds = (end - date) / SECOND
                loads = {job: load for job, load in told.items() if load > 0}
                if kind and not holders:
                    loads = {}
                above = max(0.0, watts - idle) if loads else 0.0
                for job, load in loads.items():
                    jobs[job] = jobs.get(job, 0.0) + above * load / sum(loads.values()) * seconds
                for job in holders:
                    jobs[job] = jobs.get(job, 0.0) + (watts - above) / len(holders) * seconds
                if not holders:
                    rest[kind] += (watts - above) * seconds
        return jobs, rest


def test_the_accounts_agree_with_pieces_added_up_one_by_one() -> None:
    for seed in range(200):
        dice = random.Random(seed)
        watts = [dice.uniform(10, 30) for _ in range(HOSTS)]
        fast, slow = EnergyShares(watts, [0] * HOSTS, SECOND), SlowShares(watts)
        alive: dict[str, list[int]] = {}
        told: dict[str, float] = {}
        date = 0
        for step in range(30):
            date += dice.randint(0, 20)
            move, host = dice.random(), dice.randrange(HOSTS)
            if move < 0.3:
                job, hosts = f"j{step}", sorted(dice.sample(range(HOSTS), dice.randint(1, HOSTS)))
                fast.open((date, 0.0), job, hosts)
                alive[job] = hosts
                for h in hosts:
                    slow.note(date, h, holders=slow.notes[h][-1][4] | {job})
            elif move < 0.5 and alive:
                job = dice.choice(sorted(alive))
                hosts = alive.pop(job)
                told[job] = fast.close((date, 0.0), job, hosts, range(HOSTS))
                for h in range(HOSTS):
                    left = {j: load for j, load in slow.notes[h][-1][5].items() if j != job}
                    slow.note(date, h, holders=slow.notes[h][-1][4] - {job}, loads=left)
            elif move < 0.75:
                loads = {j: dice.choice([0.0, 1.0, dice.random()]) for j in sorted(alive)} or None
                fast.weigh((date, 0.0), host, loads)
                slow.note(date, host, loads=loads or {})
            else:
                idle, drawn, kind = dice.uniform(0, 30), dice.uniform(0, 100), dice.randrange(3)
                fast.change((date, 0.0), host, idle, drawn, kind)
                slow.note(date, host, idle=idle, watts=drawn, kind=kind)
        running = fast.running((date, 0.0))
        jobs, rest = slow.result(date)
        assert fast.rest == pytest.approx(rest), f"seed {seed}"
        assert told == pytest.approx({job: jobs.get(job, 0.0) for job in told}), f"seed {seed}"
        assert running == pytest.approx(sum(jobs.get(job, 0.0) for job in alive)), f"seed {seed}"
