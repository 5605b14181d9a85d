"""Batsim's tables of energy, ``consumed_energy.csv`` and ``pstate_changes.csv``: what a run with energy adds.

Columns as in Batsim 4.2.1; dates are exact decimals.
"""

from __future__ import annotations

from batpy.protocol.hostset import size, to_text
from batpy.protocol.records import EnergyBegins, EnergyEnds, EnergyMeasured, PstateAsked
from batpy.results.decimals import fixed_text, shortened

CONSUMED_ENERGY = "consumed_energy.csv"
PSTATE_CHANGES = "pstate_changes.csv"
ENERGY_TABLES = (CONSUMED_ENERGY, PSTATE_CHANGES)

CONSUMED_ENERGY_HEADER = "time,energy,event_type,wattmin,epower\n"
PSTATE_CHANGES_HEADER = "time,machine_id,new_pstate\n"

# What stands for a pstate while hosts are on their way (Batsim 4.2.1).
TO_COMPUTE, TO_SLEEP = -1, -2


class EnergyFold:
    """Follows the records of energy.

    Args:
        begins: the record that says that a run has energy.
        ticks_per_second: resolution of the run.

    Attributes:
        of_job: joules of each job whose end is near, until its row is written: of its whole hosts, and its
            fair share of them.
        joules: of all hosts, as measured last.
        ends: where all joules went, None unless the run is whole.
        switched_off, switched_on: number of hosts whose switching has begun.
        energy_rows, pstate_rows: rows that nobody has taken yet.
    """

    def __init__(self, begins: EnergyBegins, ticks_per_second: int) -> None:
        self._second = ticks_per_second
        self._fixed = fixed_text(ticks_per_second)
        self.of_job: dict[str, tuple[float, float]] = {}
        self.joules = 0.0
        self.ends: EnergyEnds | None = None
        self.switched_off = self.switched_on = 0
        self.energy_rows: list[str] = []
        self.pstate_rows = [f"0,{to_text(hosts)},{pstate}\n" for pstate, hosts in begins.pstates]
        self._at_first_submission: float | None = None
        self._at_last_end: float | None = None
        self._before = (0, 0.0, 0.0)

    def consumed(self) -> float:
        """Joules of all hosts from the first submission to the last end of a job; 0 if no job has ended."""
        if self._at_last_end is None:
            return 0.0
        return self._at_last_end - (self._at_first_submission or 0.0)

    def measured(self, record: EnergyMeasured) -> None:
        """Take what was measured."""
        event = record.event
        self.joules = record.joules
        if not event:
            self._at_first_submission = record.joules
            return
        if event == "e":
            self.of_job[record.job] = (record.job_joules, record.fair_joules)
            self._at_last_end = record.joules
        time, joules, lag = record.time, record.joules, record.lag
        earlier, had, lagged = self._before
        ticks = time - earlier + (lag - lagged)
        # Within a tick nothing but float noise would be divided.
        power = f"{(joules - had) * self._second / ticks:.6f}" if ticks >= 1 else "NA"
        self._before = (time, joules, lag)
        self.energy_rows.append(
            f"{self._fixed(time)},{joules:.6f},{event},{record.least_watts:.6f},{power}\n"
        )

    def asked(self, record: PstateAsked) -> None:
        """Take a change of pstates that begins or is complete."""
        self.switched_off += size(record.off)
        self.switched_on += size(record.on)
        state = record.state if record.done else TO_SLEEP if record.sleep else TO_COMPUTE
        self.pstate_rows.append(f"{shortened(self._fixed(record.time))},{to_text(record.hosts)},{state}\n")

    def ended(self, record: EnergyEnds) -> None:
        """Take where all joules went."""
        self.ends = record
        self.joules = record.joules
