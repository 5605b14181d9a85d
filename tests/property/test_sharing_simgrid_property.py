"""The sharing engine against SimGrid itself, where its Python package is installed.

Set ``BATPY_SIMGRID_PYTHON`` to a Python that has the package if this one has not (it needs version 3.32 or
later); the tests are skipped without it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from sharing_cases import Case, random_case, run_engine

ORACLE = Path(__file__).resolve().parents[1] / "support" / "sharing_simgrid.py"
# SimGrid holds dates to be equal within 1e-9 s.
CLOSE = 1e-8


@pytest.fixture(scope="module")
def oracle() -> str:
    python = os.environ.get("BATPY_SIMGRID_PYTHON", sys.executable)
    found = subprocess.run([python, "-c", "import simgrid"], capture_output=True, check=False, timeout=60)
    if found.returncode:
        pytest.skip("SimGrid's Python package is not installed")
    return python


def as_json(case: Case) -> str:
    speeds = [[speed] for speed, _ in case.hosts]
    changes = []
    for date, host, speed in sorted(case.speeds):
        speeds[host].append(speed)
        changes.append((date, f"h{host}", len(speeds[host]) - 1))
    lines = [
        "<?xml version='1.0'?>",
        # SimGrid's parser takes no other document type; nothing is fetched.
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
        "<platform version='4.1'><zone id='z' routing='Full'>",
    ]
    for k, (_, cores) in enumerate(case.hosts):
        text = ",".join(f"{speed!r}f" for speed in speeds[k])
        lines.append(f"<host id='h{k}' speed='{text}' core='{cores}'/>")
    for k, link in enumerate(case.links):
        policy = "SHARED" if link.shared else "FATPIPE"
        lines.append(
            f"<link id='l{k}' bandwidth='{link.bandwidth!r}Bps' latency='{link.latency!r}s' "
            f"sharing_policy='{policy}'/>"
        )
    for (a, b), route in case.routes.items():
        steps = "".join(f"<link_ctn id='l{link}'/>" for link in route)
        lines.append(f"<route src='h{a}' dst='h{b}' symmetrical='NO'>{steps}</route>")
    lines.append("</zone></platform>")
    tasks = []
    for task in case.tasks:
        n = len(task.hosts)
        com = [0.0] * (n * n)
        for sender, receiver, amount in task.flows:
            com[sender * n + receiver] += amount
        names = [f"h{host}" for host in task.hosts]
        cancel = None if task.cancel is None else task.cancel - task.start
        tasks.append({"start": task.start, "hosts": names, "cpu": task.cpu, "com": com, "cancel": cancel})
    return json.dumps({"platform": "\n".join(lines), "tasks": tasks, "speeds": changes})


@pytest.mark.parametrize("seed", range(60))
def test_engine_and_simgrid_agree_on_random_cases(oracle: str, seed: int) -> None:
    # SimGrid has no executors of other than one core, wants a link in each route, and does not always end on
    # FATPIPE links (see ``filling``).
    case = random_case(random.Random(seed), fat=False)
    for route in case.routes.values():
        route.extend([] if route else [0])
    for task in case.tasks:
        task.executor_cores = 1.0
    done = subprocess.run(
        [oracle, str(ORACLE)], input=as_json(case), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    tasks, left = run_engine(case, textbook=False)
    for index, ((date, share), task) in enumerate(zip(json.loads(done.stdout), tasks, strict=True)):
        if share:
            assert left[index] == pytest.approx(share, abs=CLOSE)
        else:
            assert sum(task.ended) == pytest.approx(date, abs=CLOSE * max(1.0, date))
