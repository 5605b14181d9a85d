"""A small experiment with an HPC and a Big Data scheduler behind a broker, written to a folder."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

DYNAMIC = """\
dynamic_jobs = true
acknowledge_dynamic_jobs = true
forward_profiles = true
profile_reuse = true
"""


def write_workloads(folder: Path, *, hpc: int = 25, bda: int = 12, gap: int = 10) -> None:
    """HPC jobs of up to 8 hosts and Big Data jobs of up to four stages, for 16 hosts of 1e9 flop/s."""
    dice = random.Random(3)
    profiles: dict[str, Any] = {}
    jobs: list[dict[str, Any]] = []
    for i in range(bda):
        seq = [f"j{i}s{stage}" for stage in range(dice.randint(1, 4))]
        for name in seq:
            profiles[name] = {
                "type": "parallel_homogeneous_total",
                "cpu": dice.choice([2e10, 4e10, 8e10, 16e10]),
                "com": dice.choice([0, 1e6, 1e8]),
                "io_reads": dice.choice([1e7, 1e8]),
                "io_writes": 1e7,
            }
        profiles[f"job{i}"] = {"type": "composed", "repeat": 1, "seq": seq}
        res = dice.choice([2, 4, 8, 16])
        jobs.append({"id": str(i), "subtime": i * gap, "res": res, "profile": f"job{i}"})
    text = {"nb_res": 16, "jobs": jobs, "profiles": profiles}
    (folder / "bda.json").write_text(json.dumps(text))
    rigid = [
        {
            "id": str(i), "subtime": 5 + i * 25, "res": dice.choice([1, 2, 4, 8]), "walltime": 120,
            "profile": f"d{dice.choice([10, 30, 60])}",
        }
        for i in range(hpc)
    ]  # fmt: skip
    delays = {f"d{x}": {"type": "delay", "delay": x} for x in (10, 30, 60)}
    (folder / "hpc.json").write_text(json.dumps({"nb_res": 16, "jobs": rigid, "profiles": delays}))


def write_experiment(
    folder: Path,
    hpc: str = 'algorithm = "easy"',
    bda: str = 'algorithm = "bebida"',
    *,
    policy: str = "bebida[prolog=k3s_drain_2024,timeout_per_node=5,epilog_base=2]",
    platform: str = "cluster = 16\nspeed = 1e9",
    simulation: str = "deadline = 20",
) -> Path:
    """An experiment of two schedulers; *hpc* and *bda* say where they are."""
    path = folder / "shared.toml"
    path.write_text(
        f"[platform]\n{platform}\n[simulation]\n{simulation}\n[broker]\npolicy = '{policy}'\n"
        '[[workload]]\nid = "hpc"\nfile = "hpc.json"\nscheduler = "hpc"\n'
        '[[workload]]\nid = "bda"\nfile = "bda.json"\nscheduler = "bda"\n'
        f"[scheduler.hpc]\n{hpc}\n[scheduler.bda]\n{bda}\n{DYNAMIC}"
    )
    return path
