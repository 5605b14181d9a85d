"""Processor time of whole pipeline runs, beside what the original needs for them on two shared cores."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import batpy
from batpy.pipelines.simulate import load_shipped

pytestmark = pytest.mark.bench

# configuration: seconds of the original (Eudoxia c62122c), times faster that is asked for
ORIGINAL = {
    "bench_b01_default": (18.4, 100),
    "bench_b04_tps10000_60s": (19.0, 100),
    "bench_b05_tps100000_20s": (66.0, 1000),
    "bench_b06_idle_tps1000": (11.1, 100),
    "bench_b11_wait01_x10_pools64_tps100_120s": (32.3, 20),
    "bench_b13_pools256_wait05_x20_tps100_60s": (16.0, 20),
}


@pytest.mark.parametrize("name", ORIGINAL)
def test_whole_runs(name: str, shared: Path) -> None:
    load_shipped()
    path = shared / "golden" / "eudoxia" / "configs" / f"{name}.toml"
    costs = []
    for _ in range(3):
        begin = time.process_time()
        batpy.run_simulator(path, compat="eudoxia")
        costs.append(time.process_time() - begin)
    original, wanted = ORIGINAL[name]
    print(f"{name}: {min(costs):.3f} s, {original / min(costs):.0f} times faster (asked for: {wanted})")
