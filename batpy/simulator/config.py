"""What a simulation is told beside its platform and workloads."""

from __future__ import annotations

import msgspec

from batpy.kernel.ticks import DEFAULT_TICKS_PER_SECOND


class SimulatorConfig(msgspec.Struct, frozen=True):
    """Options of the simulator; every date and duration in ticks.

    Attributes:
        ticks_per_second: resolution of the run.
        time_step: 0 to consult the scheduler at every event, else only at multiples of it.
        latency: added once to each delivery to the scheduler and once to each application of its decisions
            (Batsim's internal messages cost simulated time; some peers need a first start after 0).
        strict: a refused decision ends the run; else it changes nothing and the run goes on.
        forward_profiles: JOB_SUBMITTED carries the profile. Streamed workloads turn it on.
        dynamic_jobs, acknowledge_dynamic_jobs, profile_reuse: dynamic registration, as in Batsim 4.2.1.
        compute_sharing: several jobs may share a compute host; ``storage_sharing`` likewise.
        forward_unknown_events: generic external events are passed on.
        split_kill_ack: JOB_KILLED names only jobs that were still running (pybatsim fails on mixed ones).
        sched_config: text passed to the scheduler in SIMULATION_BEGINS.
        wants: extensions asked for on behalf of a peer that cannot say HELLO.
        seed: recorded in the journal.
        energy: hosts consume energy and have pstates that the scheduler may change.
    """

    ticks_per_second: int = DEFAULT_TICKS_PER_SECOND
    time_step: int = 0
    latency: int = 0
    strict: bool = True
    forward_profiles: bool = False
    dynamic_jobs: bool = False
    acknowledge_dynamic_jobs: bool = False
    profile_reuse: bool = False
    compute_sharing: bool = False
    storage_sharing: bool = True
    forward_unknown_events: bool = False
    split_kill_ack: bool = False
    sched_config: str = ""
    wants: tuple[str, ...] = ()
    seed: int = 0
    energy: bool = False
