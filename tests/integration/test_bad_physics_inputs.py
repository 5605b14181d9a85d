"""Faults of platforms and profiles are told by the real command in one line: file, element, rule."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.integration

Run = Callable[..., tuple[int, str]]

PLATFORM = """<?xml version='1.0'?>
<platform version="4.1">
  <zone id="all" routing="Full">
    <zone id="left" routing="Full">
      <host id="a" speed="1Gf"/>
      <host id="b" speed="1Gf"/>
      <link id="ab" bandwidth="1MBps" latency="1ms"/>
      <route src="a" dst="b"><link_ctn id="ab"/></route>
    </zone>
    <zone id="right" routing="Full">
      <host id="c" speed="1Gf"/>
    </zone>
    <link id="between" bandwidth="1MBps" latency="1ms"/>
    <zoneRoute src="left" dst="right" gw_src="b" gw_dst="c"><link_ctn id="between"/></zoneRoute>
  </zone>
</platform>
"""
TWICE = '<route src="a" dst="b"><link_ctn id="ab"/></route>'
SPEED = 'id="a" speed="1Gf"'

# What is changed in the platform, and what is said (after the file's name).
FAULTS: dict[str, tuple[str, str, str]] = {
    "swapped gateways": (
        'gw_src="b" gw_dst="c"',
        'gw_src="c" gw_dst="b"',
        ":14: zoneRoute 'left' -> 'right': the gateways are swapped: gw_src 'c' is in zone 'right', "
        "gw_dst 'b' in zone 'left'",
    ),
    "gateway elsewhere": (
        'gw_src="b" gw_dst="c"',
        'gw_src="b" gw_dst="a"',
        ":14: zoneRoute 'left' -> 'right': gw_dst 'a' is not in zone 'right'",
    ),
    "undefined link": (
        '<link_ctn id="between"/>',
        '<link_ctn id="betwen"/>',
        ":14: link_ctn 'betwen': there is no link 'betwen'",
    ),
    "two routes for one pair": (
        TWICE,
        TWICE + "\n" + TWICE,
        ":9: route 'a' -> 'b': there is already a route, of line 8",
    ),
    "a way back written though the first was symmetrical": (
        TWICE,
        TWICE + '\n<route src="b" dst="a"><link_ctn id="ab"/></route>',
        ":9: route 'b' -> 'a': there is already a route, of line 8",
    ),
    "wrong unit": (
        'bandwidth="1MBps" latency="1ms"/>\n      <route',
        'bandwidth="1MBs" latency="1ms"/>\n      <route',
        ":7: link 'ab': bandwidth '1MBs'",
    ),
    "host of a route missing": (
        'src="a" dst="b"',
        'src="a" dst="z"',
        ":8: route 'a' -> 'z': dst: there is no host or router 'z'",
    ),
    "unknown version": ('version="4.1"', 'version="7"', ":2: platform: version '7' is not known"),
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Writes an experiment of the platform and profiles given, runs it, and returns exit code and errors."""

    def command(
        platform: str, profiles: dict[str, Any], *flags: str, size: int = 2, jobs_of: Sequence[str] = ()
    ) -> tuple[int, str]:
        names = jobs_of or list(profiles)
        jobs = [{"id": str(i), "subtime": 0, "res": size, "profile": name} for i, name in enumerate(names)]
        (tmp_path / "p.xml").write_text(platform)
        (tmp_path / "w.json").write_text(json.dumps({"nb_res": 3, "jobs": jobs, "profiles": profiles}))
        (tmp_path / "e.toml").write_text(
            "platform.file = 'p.xml'\n[[workload]]\nfile = 'w.json'\n[scheduler.s]\nalgorithm = 'fcfs'\n"
        )
        done = subprocess.run(
            [sys.executable, "-m", "batpy", "run", "e.toml", "--quiet", "--output", "out", *flags],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stderr.strip()

    return command


DELAY = {"d": {"type": "delay", "delay": 1}}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_platform_is_told_with_its_line(run: Run, tmp_path: Path, fault: str) -> None:
    before, after, told = FAULTS[fault]
    assert before in PLATFORM
    code, said = run(PLATFORM.replace(before, after), DELAY)
    assert code == 2
    assert said.startswith(f"batpy: error: p.xml{told}")
    assert "\n" not in said
    assert not (tmp_path / "out").exists()


def test_a_deployment_file_is_no_platform(run: Run) -> None:
    deployment = "<platform version='4.1'>\n<actor host='a' function='f'><argument value='1'/></actor>\n"
    code, said = run(deployment + "</platform>", DELAY)
    assert (code, said) == (
        2,
        "batpy: error: p.xml:1: platform: a deployment file (it has only actors), not a platform",
    )


def test_a_host_without_watts_is_named_when_energy_is_on(run: Run) -> None:
    watts = PLATFORM.replace(
        f"<host {SPEED}/>", f'<host {SPEED}><prop id="wattage_per_state" value="1:2"/></host>'
    )
    code, said = run(watts, DELAY, "--energy")
    assert code == 2
    assert said == (
        "batpy: error: p.xml: host 'b': energy needs the property wattage_per_state: idle:full or "
        "idle:epsilon:full watts of each pstate"
    )
    assert run(watts, DELAY) == (0, "")


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        ({"cpu": [1e9] * 3, "com": []}, "jobs[0].res: must be 3, the length of cpu in profile 'p', got 2"),
        (
            {"cpu": [1e9] * 2, "com": [0] * 9},
            "profiles.p.com: must have 2*2 numbers, one for each pair of cpu, got 9",
        ),
        (
            {"cpu": [1e9, -1], "com": [0] * 4},
            "profiles.p.cpu[1]: must be a finite number of at least 0, got -1",
        ),
        (
            {"cpu": [1e9, 1], "com": ["x"] * 4},
            "profiles.p.com[0]: must be a finite number, got 'x'",
        ),
    ],
)
def test_vectors_that_do_not_match_are_told_at_load(
    run: Run, tmp_path: Path, profile: dict[str, Any], told: str
) -> None:
    code, said = run(PLATFORM, {"p": {"type": "parallel", **profile}})
    assert (code, said) == (2, f"batpy: error: w.json: {told}")
    assert not (tmp_path / "out").exists()


def test_a_vector_inside_a_composed_profile_must_match_the_job_as_well(run: Run, tmp_path: Path) -> None:
    profiles = {
        "all": {"type": "composed", "seq": ["p"]},
        "p": {"type": "parallel", "cpu": [1e9] * 2, "com": []},
    }
    code, said = run(PLATFORM, profiles, size=3, jobs_of=["all"])
    assert code == 2
    assert said == "batpy: error: w.json: jobs[0].res: must be 2, the length of cpu in profile 'p', got 3"
    assert not (tmp_path / "out").exists()


def test_zeros_in_vectors_are_legal_and_an_all_zero_task_ends_at_once(run: Run, tmp_path: Path) -> None:
    profiles = {
        "some": {"type": "parallel", "cpu": [0, 1e9], "com": [0, 0, 0, 0]},
        "none": {"type": "parallel", "cpu": [0, 0], "com": [0, 0, 0, 0]},
        "no vector": {"type": "parallel", "cpu": [0, 0], "com": []},
        "equal": {"type": "parallel_homogeneous", "cpu": 0, "com": 0},
        "total": {"type": "parallel_homogeneous_total", "cpu": 0, "com": 0},
        "sends": {"type": "parallel", "cpu": [0, 0], "com": [0, 1e6, 0, 0]},
    }
    code, said = run(PLATFORM, profiles)
    assert (code, said) == (0, "")
    header, *rows = (tmp_path / "out/jobs.csv").read_text().splitlines()
    columns = header.split(",")
    took = {
        row.split(",")[columns.index("profile")]: float(row.split(",")[columns.index("execution_time")])
        for row in rows
    }
    assert took.pop("some") == 1.0
    assert took.pop("sends") == pytest.approx(1.001)
    # Batsim writes 1e-5 for no time at all, so that stretch stays finite.
    assert took == dict.fromkeys(("none", "no vector", "equal", "total"), 1e-5)
    assert all(",COMPLETED_SUCCESSFULLY," in row for row in rows)
