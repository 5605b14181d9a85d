"""Whole commands, from the start of Python to the last table: jobs per second, and ratios.

Each figure is the best of several runs. The machine's speed at that moment is printed beside it (a loop of
dictionary writes), and each figure is also given as a multiple of it, which is what to compare over time.
The KTH-SP2 and RICC logs are read from the folder of large inputs.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench

REPEATS = 5
# What Batsim 4.2.1 with pybatsim's easyBackfill needed on two shared cores, in jobs per second.
BATSIM = {"10,000 delay jobs": 990, "KTH-SP2": 813}
TARGET = {"--embedded": 25_000, "--processes": 3_000}


def calibration() -> float:
    """Nanoseconds of one dictionary write in a loop, the best of several."""

    def once() -> float:
        begun, table = time.perf_counter(), {}
        for i in range(200_000):
            table[i & 1023] = i
        return (time.perf_counter() - begun) / 200_000 * 1e9

    return min(once() for _ in range(5))


def delay_jobs(folder: Path, count: int = 10_000) -> Path:
    """Jobs of 30 run times and 1 to 32 hosts that keep 128 hosts about two thirds busy."""
    jobs = [
        {"id": str(i), "subtime": i * 20, "res": 1 + i * 7 % 32, "walltime": 400, "profile": f"d{i % 30}"}
        for i in range(count)
    ]
    profiles = {f"d{i}": {"type": "delay", "delay": 10 + 7 * i} for i in range(30)}
    path = folder / "delays.json"
    path.write_text(json.dumps({"nb_res": 128, "jobs": jobs, "profiles": profiles}))
    return path


def experiment(folder: Path, workload: Path, hosts: int) -> Path:
    path = folder / "bench.toml"
    path.write_text(
        f"[platform]\nhosts = {hosts}\n[[workload]]\nfile = '{workload}'\n[scheduler.s]\nalgorithm = 'easy'\n"
    )
    return path


def command(file: Path, *flags: str) -> tuple[float, float]:
    """Wall-clock seconds and peak MiB of one whole command."""
    arguments = [
        sys.executable,
        "-m",
        "batpy",
        "run",
        str(file),
        "--quiet",
        "--output",
        str(file.parent / "out"),
    ]
    begun = time.perf_counter()
    subprocess.run([*arguments, *flags], check=True, cwd=file.parent)
    return time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def report(
    name: str, count: int, seconds: float, speed: float, flag: str, compared: str | None = None
) -> None:
    rate = count / seconds
    print(
        f"\n{name}, {flag}: {rate:,.0f} jobs/s ({seconds:.2f} s), "
        f"{seconds / count * 1e9 / speed:,.0f} dictionary writes a job"
    )
    print(
        f"  a dictionary write took {speed:.0f} ns; "
        f"target {TARGET[flag]:,} jobs/s: {rate / TARGET[flag]:.2f} of it"
    )
    if compared is not None:
        print(f"  {rate / BATSIM[compared]:.1f} times Batsim 4.2.1 with pybatsim's easyBackfill")


def measure(name: str, count: int, file: Path, flag: str, *more: str, compared: str | None = None) -> None:
    speeds, times = [], []
    for _ in range(REPEATS):
        speeds.append(calibration())
        times.append(command(file, flag, *more)[0])
    report(name, count, min(times), min(speeds), flag, compared)


@pytest.mark.parametrize(
    "flags", [("--embedded",), ("--processes", "--codec", "json"), ("--processes", "--codec", "msgpack")]
)
def test_ten_thousand_delay_jobs(tmp_path: Path, flags: tuple[str, ...]) -> None:
    file = experiment(tmp_path, delay_jobs(tmp_path), 128)
    measure(f"10,000 delay jobs {' '.join(flags[1:])}", 10_000, file, *flags, compared="10,000 delay jobs")


@pytest.mark.parametrize(
    "flags", [("--embedded",), ("--processes", "--codec", "json"), ("--processes", "--codec", "msgpack")]
)
def test_the_whole_kth_log(shared: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    log = shared / "data/swf/KTH-SP2-1996-2.1-cln.swf.gz"
    measure(
        f"KTH-SP2 {' '.join(flags[1:])}", 28_475, experiment(tmp_path, log, 128), *flags, compared="KTH-SP2"
    )


def test_the_ricc_log_in_bounded_memory_at_a_flat_cost(shared: Path, tmp_path: Path) -> None:
    log = shared / "data/swf/RICC-2010-2.swf.gz"
    speed = calibration()
    seconds, peak = command(experiment(tmp_path, log, 8192), "--embedded")
    report("RICC", 447_794, seconds, speed, "--embedded")
    print(f"  peak memory {peak:,.0f} MiB; bound 1,536 MiB")
