"""Bottleneck conservation: the resource that a stage's roofline names is the one that decides in simulations.

What decides in a simulation is measured, not computed: each resource of the platform in turn is made 2 %
faster, and the one that shortens the run most decides. The stage goes through ``batpy workload import``'s own
way (level ``job``) and runs in the simulator, on a platform whose figures are those of the roofline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pytest
from calibrations import calibration
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from playback import Greedy, Journal

from batpy.platforms.network import Link, Route
from batpy.platforms.platform import Host, Platform
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run
from batpy.workloads.stages.calibration_rows import work_of
from batpy.workloads.stages.graph import Application, Stage, StageGraph, table_of
from batpy.workloads.stages.job_options import JobOptions
from batpy.workloads.stages.jobs import to_workload
from batpy.workloads.stages.roofline import (
    RESOURCES,
    Bandwidth,
    Figures,
    Parameters,
    Resource,
    Roofline,
    roofline,
)

SEQUENCE = Parameters(
    k_cpu=1.5e9, k_read=2.0, k_write=0.5, k_net=1.25, task_overhead=0.25, stage_overhead=1.0, overlap=0.0
)
FUSED = Parameters(k_cpu=1.5e9, k_net=1.25, overlap=1.0)
PLAIN = Parameters()
FASTER = 1.02


@dataclass(frozen=True)
class Park:
    """A platform: flops per second of a slot, bytes per second of the PFS each way, of each host's link."""

    hosts: int = 4
    cores: int = 2
    cpu: float = 1e9
    read: float = 200e6
    write: float = 100e6
    net: float = 50e6

    @property
    def figures(self) -> Figures:
        """The same as a calibration knows it."""
        return Figures(
            speed=self.cpu,
            read=Bandwidth(rate=self.read, scope="all"),
            write=Bandwidth(rate=self.write, scope="all"),
            net=Bandwidth(rate=self.net, scope="host"),
        )

    @property
    def platform(self) -> Platform:
        """The same as the simulator knows it; a host computes for all its slots."""
        hosts = tuple(Host(k, f"h{k}", speeds=(self.cpu * self.cores,)) for k in range(self.hosts))
        storage = Host(self.hosts, "pfs", role="storage", properties={"role": "storage"})
        return Platform("park", hosts, (storage,), network=TwoFabrics(self))


class TwoFabrics:
    """Between hosts a link up and a link down each; to and from the storage host a link of its own."""

    def __init__(self, park: Park) -> None:
        self.n = park.hosts
        self.links = (
            *(Link(f"up{k}", park.net, 0.0) for k in range(self.n)),
            *(Link(f"down{k}", park.net, 0.0) for k in range(self.n)),
            Link("read", park.read, 0.0),
            Link("write", park.write, 0.0),
        )

    def route(self, source: int, target: int) -> Route:
        if source == self.n:
            return Route((2 * self.n,), 0.0)
        if target == self.n:
            return Route((2 * self.n + 1,), 0.0)
        return Route((source, self.n + target), 0.0)


STRAGGLING = (*[1_000_000] * 18, 2_000_000, 3_500_000)
EVEN = (1_000_000,) * 16


def application(
    *,
    cpu: float = 60.0,
    read: float = 1e9,
    write: float = 1e9,
    net: float = 1e9,
    times: tuple[int, ...] = STRAGGLING,
) -> Application:
    """One stage, recorded on the hosts and slots of a park."""
    stage = Stage(
        id=0,
        tasks=len(times),
        done=len(times),
        wall_us=sum(times),
        cpu_us=round(cpu * 1e6),
        times_us=table_of(times),
        durations_us=times,
        input_bytes=round(read),
        output_bytes=round(write),
        shuffle_remote_bytes=round(net * 3 / 4),
        shuffle_local_bytes=round(net / 4),
    )
    return Application(id="a", framework="spark", hosts=4, slots=8, stages=(stage,))


def told(recorded: Application, park: Park, parameters: Parameters) -> Roofline:
    """The roofline on a park."""
    work = work_of(recorded, recorded.stages[0])
    assert work is not None
    return roofline(work, parameters, park.figures, slots=park.hosts * park.cores, hosts=park.hosts)


def simulated(recorded: Application, park: Park, parameters: Parameters) -> float:
    """Seconds that the stage takes in the simulator."""
    base = replace(Park(), cores=park.cores)
    graph = StageGraph(source="spark", applications=(recorded,))
    options = JobOptions(level="job", hosts=park.hosts, cores=park.cores, speed=base.cpu * base.cores)
    emitted = to_workload(graph, options, calibration=calibration(parameters, base.figures))
    journal = Journal()
    run(Simulator(park.platform, [emitted.workload], journal, SimulatorConfig()), Greedy())
    ((begin, end, state),) = journal.spans().values()
    assert state == "COMPLETED_SUCCESSFULLY"
    return end - begin


def decides(recorded: Application, park: Park, parameters: Parameters) -> Resource:
    """The resource that shortens the simulated run most when it becomes faster."""
    won: dict[Resource, float] = {}
    before = simulated(recorded, park, parameters)
    for name in RESOURCES:
        faster = replace(park, **{name: getattr(park, name) * FASTER})
        won[name] = before - simulated(recorded, faster, parameters)
    return max(won, key=lambda name: won[name])


Change = Callable[[Park, float], Park]
CHANGES: Mapping[str, Change] = {
    "PFS bandwidth for reads": lambda park, factor: replace(park, read=park.read * factor),
    "PFS bandwidth for writes": lambda park, factor: replace(park, write=park.write * factor),
    "bandwidth of the hosts' links": lambda park, factor: replace(park, net=park.net * factor),
    "speed of the hosts": lambda park, factor: replace(park, cpu=park.cpu * factor),
}


def flip(recorded: Application, change: Change, parameters: Parameters) -> tuple[float, Resource, Resource]:
    """The factor between 1/32 and 32 at which the roofline's dominating resource first changes."""
    low, high = 1 / 32, 32.0
    first = told(recorded, change(Park(), low), parameters).dominating
    assert told(recorded, change(Park(), high), parameters).dominating != first, "it never flips"
    while high / low > 1 + 1e-9:
        middle = (low * high) ** 0.5
        same = told(recorded, change(Park(), middle), parameters).dominating == first
        low, high = (middle, high) if same else (low, middle)
    return low, first, told(recorded, change(Park(), high), parameters).dominating


@pytest.mark.parametrize("changed", CHANGES)
@pytest.mark.parametrize(
    "amounts",
    [
        {},
        {"cpu": 15.0, "read": 3e9},
        {"cpu": 200.0, "write": 4e9, "net": 3e9},
        {"cpu": 20.0, "read": 1e8, "write": 5e9, "net": 2e9},
    ],
)
def test_what_decides_flips_where_the_roofline_says(changed: str, amounts: dict[str, float]) -> None:
    recorded, change = application(**amounts), CHANGES[changed]
    factor, before, after = flip(recorded, change, SEQUENCE)
    for side, expected in ((1 / 1.005, before), (1.005, after)):
        park = change(Park(), factor * side)
        assert told(recorded, park, SEQUENCE).dominating == expected
        assert decides(recorded, park, SEQUENCE) == expected


AMOUNT = st.just(0.0) | st.floats(1e8, 1e10)


@given(st.floats(1, 300), AMOUNT, AMOUNT, AMOUNT, st.sampled_from([2, 3, 4, 8]))
@settings(max_examples=60, deadline=None)
def test_what_decides_is_what_the_roofline_names(
    cpu: float, read: float, write: float, net: float, hosts: int
) -> None:
    recorded = application(cpu=cpu, read=read, write=write, net=net)
    park = replace(Park(), hosts=hosts)
    line = told(recorded, park, SEQUENCE)
    seconds = sorted((line.cpu, line.read, line.write, line.net), reverse=True)
    assume(seconds[0] > 1.001 * seconds[1])
    longest = max(RESOURCES, key=lambda name: float(getattr(line, name)))
    assert decides(recorded, park, SEQUENCE) == longest


@pytest.mark.parametrize("changed", ["bandwidth of the hosts' links", "speed of the hosts"])
def test_it_flips_there_too_when_resources_are_used_at_once(changed: str) -> None:
    recorded, change = application(read=0, write=0, cpu=40, net=5e9), CHANGES[changed]
    factor, before, after = flip(recorded, change, FUSED)
    for side, expected in ((1 / 1.03, before), (1.03, after)):
        park = change(Park(), factor * side)
        assert decides(recorded, park, FUSED) == expected
        other = {"cpu": "net", "net": "cpu"}[expected]
        faster = replace(park, **{other: getattr(park, other) * FASTER})
        # What is hidden behind the longest resource does not count at all.
        assert simulated(recorded, faster, FUSED) == pytest.approx(simulated(recorded, park, FUSED), abs=1e-5)


def test_doubling_the_nodes_leaves_the_parallel_file_system_to_decide() -> None:
    """60 s of processor time take 7.5 s on 8 slots and 3.75 s on 16; 1e9 bytes take 5 s on both."""
    recorded = application(cpu=60, read=1e9, write=0, net=0, times=EVEN)
    park = Park()
    doubled = replace(park, hosts=8)
    assert told(recorded, park, PLAIN).dominating == "cpu"
    assert decides(recorded, park, PLAIN) == "cpu"
    assert told(recorded, doubled, PLAIN).dominating == "read"
    assert decides(recorded, doubled, PLAIN) == "read"
    faster = replace(doubled, read=2 * park.read)
    assert told(recorded, faster, PLAIN).dominating == "cpu"
    assert decides(recorded, faster, PLAIN) == "cpu"


def test_halving_the_parallel_file_system_makes_it_decide() -> None:
    recorded = application(cpu=60, read=1e9, write=0, net=0, times=EVEN)
    half = replace(Park(), read=Park().read / 2)
    assert told(recorded, half, PLAIN).dominating == decides(recorded, half, PLAIN) == "read"


@pytest.mark.parametrize("overlap", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("park", [Park(), Park(hosts=8), Park(hosts=3, cores=4), Park(cpu=3e9, net=5e6)])
def test_a_simulated_stage_takes_the_time_of_its_roofline(park: Park, overlap: float) -> None:
    """Reads and writes of a PFS are parts of their own, so that they overlap with nothing."""
    recorded = application()
    line = told(recorded, park, Parameters(**{**_fields(SEQUENCE), "overlap": overlap}))
    both = overlap * max(line.cpu, line.net) + (1 - overlap) * (line.cpu + line.net)
    expected = line.read + both + line.write + line.overhead
    parameters = Parameters(**{**_fields(SEQUENCE), "overlap": overlap})
    assert simulated(recorded, park, parameters) == pytest.approx(expected, rel=1e-6)
    if overlap == 0:
        assert line.wall == pytest.approx(expected, rel=1e-12)


def _fields(parameters: Parameters) -> dict[str, float]:
    import msgspec

    return msgspec.structs.asdict(parameters)
