"""Every example platform and workload runs through the command line, or is refused by the line given here.

A new file that stands in none of the tables fails a test; so does one that is no longer refused.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batpy.cli.main import main

FOLDERS = ("batsim", "batsim-examples/platforms", "batsim-examples/workloads", "simgrid-examples", "bugs")
SMALL = "batsim-examples/platforms/small_platform.xml"
CLUSTER = "batsim-examples/platforms/cluster512_pfs.xml"
ENERGY_CLUSTER = "batsim-examples/platforms/cluster_energy_128.xml"

# Platforms that no workload can run on, with the line (what follows the file's name) and a way out, if any.
REFUSED_PLATFORMS = {
    "batsim/fogedge-d_test_plat.xml": ":3: platform: a deployment file (it has only actors), not a platform",
    "batsim/elastisim-crossbar.xml": (
        ":6: host 'Batch_system': 'Batch_system' computes but has speed 0; give it a speed, or the role "
        "master or storage"
    ),
}

# The platforms that tell the watts of their hosts; all others are refused when energy is asked for.
POWERED = {
    "batsim/artcupelli-platform01.xml",
    "batsim/batsimpy-cluster_1.xml",
    "batsim/batsimpy-energy_com_hosts_2.xml",
    "batsim/batsimpy-energy_hosts_2.xml",
    "batsim/batsimpy-hosts_2.xml",
    "batsim/falafels-multiple-zones.xml",
    "batsim/gridgym-platform.xml",
    "batsim/naikelin-fat_tree.xml",
    "batsim/sdsrl-platform-8.xml",
    "batsim/wrench-four_hosts_energy.xml",
    ENERGY_CLUSTER,
    "batsim-examples/platforms/energy_platform_homogeneous.xml",
    *(f"batsim-examples/platforms/energy_platform_homogeneous_no_net{n}.xml" for n in ("", "_1", "_128")),
    *(f"batsim-examples/platforms/energy_platform_homogeneous_no_net_{n}.xml" for n in ("256", "512")),
    "batsim-examples/platforms/small_platform_usage_replay.xml",
    "simgrid-examples/energy_platform.xml",
    "bugs/batsim51_platform.xml",
}
# Platforms whose watts are wrong, which only matters with energy (Batsim issue 45).
MISPOWERED = {
    "batsim-examples/platforms/energy_platform.xml": (
        ": host 'Earth': property wattage_per_state: has 6 item(s), but the host has 9 speed(s); one is "
        "needed for each"
    ),
}

# Workloads to platforms that fit them, the cluster with a storage host for those that are not here.
FITTING = {
    "batsim/artcupelli-workload01.json": "batsim/artcupelli-platform01.xml",
    "batsim/batsched4-mixed.json": SMALL,
    "batsim/batsimpy-comp_4.json": "batsim/batsimpy-hosts_2.xml",
    "batsim/batsimpy-various.json": "batsim/batsimpy-energy_com_hosts_2.xml",
    "batsim/gridgym-w.json": "batsim/gridgym-platform.xml",
    "batsim/naikelin-workload.json": "batsim/naikelin-small_platform.xml",
    "batsim/nadeen-10jobs_10000sec.json": "batsim/nadeen-20machines.xml",
    "batsim-examples/workloads/own_comm_1000.json": ENERGY_CLUSTER,
    "batsim-examples/workloads/own_killmix.json": SMALL,
    "batsim-examples/workloads/test_case_study1.json": SMALL,
    "batsim-examples/workloads/test_delays.json": SMALL,
    "batsim-examples/workloads/test_energy_minimal_load0.json": ENERGY_CLUSTER,
    "batsim-examples/workloads/test_energy_minimal_load50.json": ENERGY_CLUSTER,
    "batsim-examples/workloads/test_energy_minimal_load100.json": ENERGY_CLUSTER,
    "batsim-examples/workloads/test_long_workload.json": SMALL,
    "batsim-examples/workloads/test_one_computation_job.json": SMALL,
    "batsim-examples/workloads/test_one_computation_job_tot.json": SMALL,
    "batsim-examples/workloads/test_sequence_delay.json": SMALL,
    "batsim-examples/workloads/test_usage_trace.json": (
        "batsim-examples/platforms/small_platform_usage_replay.xml"
    ),
    "batsim-examples/workloads/test_various_profile_types.json": SMALL,
    "bugs/batsim51_walltime3.json": "bugs/batsim51_platform.xml",
    "bugs/batsim62_two_core.json": "bugs/batsim62_two_core.xml",
}
SHARED_HOSTS = {"bugs/batsim62_two_core.json"}

# Workloads that are refused, with what follows the file's name.
REFUSED_WORKLOADS = {
    "batsim/elastisim-jobs.json": (
        ": jobs[0]: not a Batsim workload: jobs with submit_time and application models are ElastiSim's "
    ),
    "batsim/hcmut-SuperNodeXP-2017.json": (
        ": jobs[0].profile: '61' is not among the profiles (2 missing: '61', '60')"
    ),
}
# Refused when a job starts: the scheduler has to say where the data is (Batsim aborts as well).
REFUSED_DECISIONS = {
    "batsim/batsimpy-various.json": (
        "profile 'staging' of job w0!staging needs storage_mapping to name a host for 'pfs'"
    ),
}
EVENTS = {"bebida_events.txt", "test_events_4hosts.txt"}


def present(shared: Path, *endings: str) -> set[str]:
    data = shared / "data"
    files = (file for folder in FOLDERS for file in (data / folder).iterdir())
    return {file.relative_to(data).as_posix() for file in files if file.suffix in endings}


class Command:
    """Runs experiments, and keeps what was said."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys
        self.said = ""

    def run(self, platform: Path, workload: Path, *settings: str) -> tuple[int, dict[str, int]]:
        """Exit code and counts of jobs of one run, embedded and with the scheduler filler."""
        experiment = self.folder / "run.toml"
        experiment.write_text(
            f"platform.file = '{platform}'\n[[workload]]\nfile = '{workload}'\n"
            "[scheduler.s]\nalgorithm = 'filler'\n"
        )
        flags = [flag for setting in settings for flag in ("--set", setting)]
        output = self.folder / "out"
        code = main(["run", str(experiment), "--embedded", "--quiet", "--output", str(output), *flags])
        self.said = self.capsys.readouterr().err.strip()
        summary = output / "summary.json"
        return code, json.loads(summary.read_text())["jobs"] if not code else {}


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, capsys)


def small_workload(folder: Path, *, size: int) -> Path:
    """A delay, and one job of each kind that computes or communicates."""
    profiles = {
        "sleep": {"type": "delay", "delay": 5},
        "compute": {"type": "parallel_homogeneous", "cpu": 1e6, "com": 0},
        "total": {"type": "parallel_homogeneous_total", "cpu": 1e6, "com": 1e5},
        "exchange": {"type": "parallel_homogeneous", "cpu": 0, "com": 1e5},
        "matrix": {
            "type": "parallel",
            "cpu": [1e6] * size,
            "com": [1e4 * (i % size) for i in range(size * size)],
        },
        "both": {"type": "composed", "repeat": 2, "seq": ["compute", "exchange", "sleep"]},
    }
    jobs = [{"id": name, "subtime": 0, "res": size, "profile": name} for name in profiles]
    jobs += [{"id": f"{name}2", "subtime": 1, "res": size, "profile": name} for name in ("matrix", "both")]
    file = folder / "small.json"
    file.write_text(json.dumps({"nb_res": size, "jobs": jobs, "profiles": profiles}))
    return file


def test_every_file_of_the_examples_is_in_a_table_or_run_below(shared: Path) -> None:
    others = present(shared, ".xml", ".json", ".txt", ".swf", ".md")
    everything = {
        file.relative_to(shared / "data").as_posix()
        for folder in FOLDERS
        for file in (shared / "data" / folder).iterdir()
        if file.is_file()
    }
    assert everything == others
    assert {Path(file).name for file in present(shared, ".txt")} == EVENTS
    platforms, workloads = present(shared, ".xml"), present(shared, ".json", ".swf")
    assert REFUSED_PLATFORMS.keys() | POWERED | MISPOWERED.keys() | set(FITTING.values()) <= platforms
    assert REFUSED_WORKLOADS.keys() | REFUSED_DECISIONS.keys() | FITTING.keys() <= workloads


def test_every_platform_runs_jobs_that_communicate(shared: Path, tmp_path: Path, command: Command) -> None:
    sizes = {"bugs/batsim62_two_core.xml": 1, "batsim/artcupelli-platform01.xml": 1}
    for file in sorted(present(shared, ".xml")):
        single = file in sizes or file.endswith(("no_net_1.xml", "multicore_machine.xml"))
        workload = small_workload(tmp_path, size=1 if single else 2)
        code, jobs = command.run(shared / "data" / file, workload)
        if file in REFUSED_PLATFORMS:
            assert code == 2
            assert command.said == f"batpy: error: {shared / 'data' / file}{REFUSED_PLATFORMS[file]}"
        else:
            assert (code, jobs.get("successful"), file) == (0, 8, file), command.said


def test_zones_that_no_route_connects_are_named_when_a_job_needs_one(
    shared: Path, tmp_path: Path, command: Command
) -> None:
    file = shared / "data/simgrid-examples/prop.xml"
    code, _ = command.run(file, small_workload(tmp_path, size=7))
    assert code == 2
    assert command.said == (
        f"batpy: error: events[0] EXECUTE_JOB w0!both at 0 s: profile 'exchange': {file}:6: zone 'AS0': "
        "no route from 'host1' to 'node-0.simgrid.org'"
    )


def test_roles_make_the_platform_of_elastisim_run(shared: Path, tmp_path: Path, command: Command) -> None:
    file = shared / "data/batsim/elastisim-crossbar.xml"
    roles = "platform.roles={Batch_system = 'master', PFS = 'storage'}"
    code, jobs = command.run(file, small_workload(tmp_path, size=128), roles)
    assert (code, jobs["successful"]) == (0, 8), command.said


def test_with_energy_platforms_run_that_tell_their_watts(
    shared: Path, tmp_path: Path, command: Command
) -> None:
    workload = small_workload(tmp_path, size=1)
    for file in sorted(present(shared, ".xml") - REFUSED_PLATFORMS.keys()):
        code, jobs = command.run(shared / "data" / file, workload, "simulation.energy=true")
        if file in POWERED:
            assert (code, jobs.get("finished"), file) == (0, 8, file), command.said
            continue
        assert (code, file) == (2, file)
        source = f"batpy: error: {shared / 'data' / file}"
        if file in MISPOWERED:
            assert command.said == source + MISPOWERED[file]
        else:
            assert command.said.startswith(f"{source}: host '"), command.said
            assert ": energy needs the property wattage_per_state: " in command.said


def test_every_workload_runs_to_its_end(shared: Path, command: Command) -> None:
    data = shared / "data"
    for file in sorted(present(shared, ".json", ".swf")):
        platform = data / FITTING.get(file, CLUSTER)
        settings = ["simulation.compute_sharing=true"] if file in SHARED_HOSTS else []
        code, jobs = command.run(platform, data / file, *settings)
        if file in REFUSED_WORKLOADS:
            assert (code, file) == (2, file)
            assert command.said.startswith(f"batpy: error: {data / file}{REFUSED_WORKLOADS[file]}")
        elif file in REFUSED_DECISIONS:
            assert (code, file) == (2, file)
            assert REFUSED_DECISIONS[file] in command.said
        else:
            assert (code, file) == (0, file), command.said
            assert jobs["finished"] + jobs["rejected"] == jobs["submitted"] > 0
            assert jobs["unfinished"] == 0
        assert "\n" not in command.said


@pytest.mark.parametrize("events", sorted(EVENTS))
def test_external_events_of_the_examples_run(shared: Path, command: Command, events: str) -> None:
    workloads = shared / "data/batsim-examples/workloads"
    code, jobs = command.run(
        shared / "data" / SMALL, workloads / "test_delays.json", f'simulation.events=["{workloads / events}"]'
    )
    assert (code, jobs["finished"] + jobs["rejected"]) == (0, 10), command.said


def test_a_role_from_the_command_line_makes_storage_for_the_stencil(shared: Path, command: Command) -> None:
    examples = shared / "data/batsim-examples"
    platform, stencil = (
        examples / "platforms/small_platform_pfs0.xml",
        examples / "workloads/test_tuto_stencil.json",
    )
    code, jobs = command.run(platform, stencil, "platform.roles={hosts_pfs0 = 'storage'}")
    assert (code, jobs["finished"] + jobs["rejected"], jobs["unfinished"]) == (0, 9, 0), command.said
    assert jobs["successful"] > 0
    code, _ = command.run(platform, stencil)
    assert code == 2
    assert command.said.startswith(f"batpy: error: {stencil}: profiles.")
    assert f"and {platform} has no host of that role" in command.said
