"""Batsim's own example of usage traces, on its own platform."""

from __future__ import annotations

from pathlib import Path

from playback import Greedy, Journal

from batpy.platforms.load import load_platform
from batpy.simulator.core import Simulator, run
from batpy.workloads.load import load_workload


def test_the_example_lasts_as_long_as_its_slowest_rank(shared: Path) -> None:
    inputs = shared / "data/batsim-examples"
    platform = load_platform(inputs / "platforms/small_platform_usage_replay.xml")
    workload = load_workload(inputs / "workloads/test_usage_trace.json", "w0")
    journal = Journal()
    run(Simulator(platform, [workload], journal), Greedy())
    # Phases of 1000 flops at 100 flop/s (hosts a and b) or 50 flop/s (c and d, from the second job of each
    # pair on), one or two of them; the real trace computes 72751 flops at most, on hosts of 50 flop/s.
    lasted = {job: end - begin for job, (begin, end, _) in journal.spans().items()}
    assert lasted == {
        "w0!0": 10,
        **{f"w0!{k}0": 20 if k in (3, 5) else 10 for k in range(1, 6)},
        **{f"w0!{k}1": 40 if k in (3, 5) else 20 for k in range(1, 6)},
        "w0!60": 72751 / 50,
    }
