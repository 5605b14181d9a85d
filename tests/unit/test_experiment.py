"""The experiment file: what it may say, and the one line that tells what it may not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from batpy.base.errors import InputError
from batpy.cli.config import ExperimentConfig, InputFile
from batpy.cli.experiment import load_experiment
from batpy.cli.samples import folder as samples_folder

MINIMAL = """
[platform]
hosts = 4
[[workload]]
file = "log.swf"
[scheduler.easy]
algorithm = "easy"
"""


def load(tmp_path: Path, text: str, *settings: str, **options: Any) -> ExperimentConfig:
    (tmp_path / "exp").mkdir(exist_ok=True)
    (tmp_path / "exp/my.toml").write_text(text)
    return load_experiment("exp/my.toml", settings, cwd=tmp_path, **options)


def refusal(tmp_path: Path, text: str, *settings: str) -> str:
    with pytest.raises(InputError) as refused:
        load(tmp_path, text, *settings)
    line = str(refused.value)
    assert "\n" not in line
    return line


def test_defaults_are_those_of_a_plain_run(tmp_path: Path) -> None:
    config = load(tmp_path, MINIMAL)
    assert (config.name, config.source, config.seed, config.output) == ("my", "exp/my.toml", 0, None)
    assert (config.platform.hosts, config.platform.file) == (4, None)
    (workload,) = config.workloads
    assert (workload.id, workload.scheduler, workload.generator) == ("w0", "easy", None)
    assert config.schedulers["easy"].algorithm == "easy"
    simulation = config.simulation
    assert (simulation.time_step, simulation.resolution, simulation.codec) == (0.0, 1_000_000, "json")
    assert (simulation.strict, simulation.storage_sharing, simulation.compute_sharing) == (True, True, False)


def test_every_key_is_read(tmp_path: Path) -> None:
    text = """
    output = "out"
    seed = 7
    [platform]
    file = "p.xml"
    cores = 2
    memory = "64GiB"
    gpus = 3
    master = "boss"
    roles = { pfs = "storage" }
    [simulation]
    time_step = 60
    resolution = 1000
    codec = "msgpack"
    latency = 0.5
    events = ["a.txt", "b.txt"]
    mmax = 10
    mmax_workload = true
    dynamic_jobs = true
    acknowledge_dynamic_jobs = true
    profile_reuse = true
    forward_profiles = true
    compute_sharing = true
    storage_sharing = false
    strict = false
    deadline = 5
    sched_config = "hello"
    forward_unknown_events = true
    float6 = true
    split_kill_ack = true
    [[workload]]
    id = "a"
    kind = "jobs"
    file = "a.swf"
    swf = { strict = true, max_jobs = 5 }
    scheduler = "bebida"
    [[workload]]
    generator = "lublin[jobs=10]"
    [scheduler.bebida]
    endpoint = "tcp://localhost:28000"
    wants = ["sharing"]
    compat = "pybatsim"
    dynamic_jobs = false
    """
    config = load(tmp_path, text)
    base = tmp_path / "exp"
    platform, simulation = config.platform, config.simulation
    assert (config.output, config.seed) == (base / "out", 7)
    assert (platform.file, platform.memory) == (InputFile("p.xml", base / "p.xml"), 64 * 2**30)
    assert (platform.cores, platform.gpus, platform.master) == (2, 3, "boss")
    assert platform.roles == {"pfs": "storage"}
    assert simulation.events == (InputFile("a.txt", base / "a.txt"), InputFile("b.txt", base / "b.txt"))
    assert (simulation.time_step, simulation.latency, simulation.deadline) == (60.0, 0.5, 5.0)
    assert (simulation.resolution, simulation.mmax, simulation.sched_config) == (1000, 10, "hello")
    assert (simulation.strict, simulation.storage_sharing) == (False, False)
    switches = (
        *("mmax_workload", "dynamic_jobs", "acknowledge_dynamic_jobs", "profile_reuse", "float6"),
        *("forward_profiles", "compute_sharing", "forward_unknown_events", "split_kill_ack"),
    )
    assert all(getattr(simulation, name) is True for name in switches)
    first, second = config.workloads
    assert (first.id, first.scheduler, first.swf) == ("a", "bebida", {"strict": True, "max_jobs": 5})
    assert (second.id, second.file, second.generator) == ("w1", None, "lublin[jobs=10]")
    scheduler = config.schedulers["bebida"]
    assert (scheduler.endpoint, scheduler.wants) == ("tcp://localhost:28000", ("sharing",))
    assert (scheduler.compat, scheduler.dynamic_jobs, scheduler.profile_reuse) == ("pybatsim", False, None)


# ------------------------------------------------------------------ refusals

_ONE = "platform: must have exactly one of 'file', 'hosts', 'cluster', 'racks' and 'fat_tree'; "


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("hosts = 4", "hots = 4"), "platform.hots: unknown key; did you mean 'hosts'?"),
        (("hosts = 4", 'hosts = "4"'), "platform.hosts: must be a whole number of at least 1, got '4'"),
        (("hosts = 4", "hosts = true"), "platform.hosts: must be a whole number of at least 1, got true"),
        (("hosts = 4", "hosts = 0"), "platform.hosts: must be a whole number"),
        (("hosts = 4", 'hosts = 4\nfile = "p.xml"'), _ONE + "given are 'file' and 'hosts'"),
        (("hosts = 4", ""), _ONE + "none is given"),
        (("hosts = 4", "cluster = 0"), "platform.cluster: must be a whole number of at least 1, got 0"),
        (("hosts = 4", 'racks = "4"'), "platform.racks: want RACKSxHOSTS, such as 4x16, got '4'"),
        (("hosts = 4", 'racks = "0x4"'), "platform.racks: want from 1 to 1000000 hosts in all, got 0"),
        (("hosts = 4", "racks = 4"), "platform.racks: must be a text, got 4"),
        (("hosts = 4", 'fat_tree = "4,4;1;1"'), "platform.fat_tree: want as many children as parents and"),
        (("hosts = 4", 'fat_tree = "4,4"'), "platform.fat_tree: want children;parents;ports"),
        (("hosts = 4", 'fat_tree = "3;4,4;1,2;1,2"'), "platform.fat_tree: want 3 numbers in each list"),
        (
            ("hosts = 4", 'hosts = 4\nbandwidth = "1Gbps"'),
            "platform.bandwidth: is only for platforms given as",
        ),
        (
            ("hosts = 4", 'cluster = 4\nuplink = "1Gbps"'),
            "platform.uplink: is only for platforms given as racks",
        ),
        (
            ("hosts = 4", 'cluster = 4\nbandwidth = "1Gb"'),
            "platform.bandwidth: '1Gb' has the unknown unit 'Gb'",
        ),
        (("hosts = 4", "cluster = 4\nbandwidth = 0"), "platform.bandwidth: must be above 0"),
        (("hosts = 4", "cluster = 4\nlatency = -1"), "platform.latency: '-1' must be finite and at least 0"),
        (("hosts = 4", "cluster = 4\nbackbone_latency = 1"), "platform.backbone_latency: needs a backbone"),
        (
            ("hosts = 4", 'cluster = 4\nmaster = "m"'),
            "platform.master: is only for platforms read from a file",
        ),
        (("hosts = 4", 'hosts = 4\nmaster = "m"'), "platform.master: is only for platforms read from a file"),
        (("hosts = 4", 'file = "p"\nspeed = 1'), "platform.speed: is not for platforms read from a file"),
        (("hosts = 4", 'hosts = 4\nspeed = "1Xf"'), "platform.speed: '1Xf' has the unknown unit 'Xf'"),
        (("hosts = 4", 'hosts = 4\nmemory = "big"'), "platform.memory: 'big' is not a number with a unit"),
        (('file = "log.swf"', "file = 3"), "workload[0].file: must be a text, got 3"),
        (('file = "log.swf"', ""), "workload[0]: must have exactly one of 'file' and 'generator'"),
        (('file = "log.swf"', 'fle = "x"'), "workload[0].fle: unknown key; did you mean 'file'?"),
        (('file = "log.swf"', 'file = "x"\nid = "a!b"'), "workload[0].id: must hold no '!'"),
        (
            ('file = "log.swf"', 'file = "x"\nkind = "pipelines"'),
            "workload[0].kind: 'pipelines' comes in a later",
        ),
        (
            ('file = "log.swf"', 'file = "x"\nkind = "requests"\nswf.max_jobs = 1'),
            "workload[0].swf: is only for workloads of jobs",
        ),
        (('file = "log.swf"', 'file = "x"\nkind = "job"'), "workload[0].kind: must be 'jobs' or"),
        (
            ('file = "log.swf"', 'file = "x"\nscheduler = "b"'),
            "workload[0].scheduler: there is no [scheduler.b]",
        ),
        (('file = "log.swf"', 'file = "x"\nswf.max = 1'), "workload[0].swf.max: "),
        (('file = "log.swf"', 'generator = "g"\nswf.max_jobs = 1'), "workload[0].swf: is only for workloads"),
        (('file = "log.swf"', 'file = "sample:nope"'), "workload[0].file: 'sample:nope': there is no sample"),
        (("[[workload]]", "[workload]"), "workload: must be a list of tables, written [[workload]]"),
        (('algorithm = "easy"', ""), "scheduler.easy: must have exactly one of 'algorithm' and 'endpoint'"),
        (
            ('algorithm = "easy"', 'endpoint = "localhost"'),
            "scheduler.easy.endpoint: 'localhost': an endpoint is tcp",
        ),
        (('algorithm = "easy"', 'algorithm = "easy"\ncompat = "x"'), "scheduler.easy.compat: must be 'pybat"),
        (
            ('algorithm = "easy"', 'algorithm = "e"\nwants = [1]'),
            "scheduler.easy.wants: must be a list of texts",
        ),
        (
            ('algorithm = "easy"', 'algorithm = "e"\ndynamic_jobs = 1'),
            "scheduler.easy.dynamic_jobs: must be true",
        ),
        (("[scheduler.easy]", "[[scheduler]]"), "scheduler: must be a table, got a list"),
        (("[scheduler.easy]", "[broker]\n[scheduler.easy]"), "broker.policy: there must be one"),
        (
            ("[scheduler.easy]", "[broker]\npolicy='priority'\nroutes.x='y'\n[scheduler.easy]"),
            "broker.routes.x: there is no [scheduler.y] (there are: easy)",
        ),
        (
            ("[scheduler.easy]", "[broker]\npolicy='priority[grace=1]'\nprolog.grace=2\n[scheduler.easy]"),
            "broker.prolog.grace: the policy has it too, as grace=1; say it once",
        ),
        (
            ("[scheduler.easy]", "[broker]\npolicy='priority'\nepilog.block=true\n[scheduler.easy]"),
            "broker.epilog.block: unknown key",
        ),
    ],
)
def test_wrong_key_or_value_is_named_by_its_path(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    assert change[0] in MINIMAL
    assert refusal(tmp_path, MINIMAL.replace(*change)).startswith(f"exp/my.toml: {said}")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("energy = 1", "energy: must be true or false"),
        ("time_step = -1", "time_step: must be a number of seconds of at least 0, got -1"),
        ("time_step = nan", "time_step: must be a number of seconds"),
        ("time_step = 1" + "0" * 400, "time_step: must be at most 1e+18 seconds, got 1000"),
        ("time_step = inf", "time_step: must be at most"),
        ("mmax = 1" + "0" * 30, "mmax: must be at most"),
        ("resolution = 10000000000", "resolution: must be at most 1000000000"),
        ('events = ["a\\u0000b"]', "events: must be a list of texts"),
        ("resolution = 1e6", "resolution: must be a whole number of at least 1, got 1000000.0"),
        ('codec = "xml"', "codec: must be 'json' or 'msgpack', got 'xml'"),
        ('strict = "yes"', "strict: must be true or false, got 'yes'"),
        ("sched_config = 3", "sched_config: must be a text, got 3"),
        ("timestep = 1", "timestep: unknown key; did you mean 'time_step'?"),
        ("events = [1]", "events: must be a list of texts, got a list"),
    ],
)
def test_wrong_simulation_option_is_named(tmp_path: Path, line: str, said: str) -> None:
    text = f"{MINIMAL}\n[simulation]\n{line}"
    assert refusal(tmp_path, text).startswith(f"exp/my.toml: simulation.{said}")


def test_two_workloads_of_one_id_are_refused(tmp_path: Path) -> None:
    text = f'{MINIMAL}\n[[workload]]\nid = "w0"\nfile = "b"'
    assert refusal(tmp_path, text) == "exp/my.toml: workload[1].id: there is already a workload 'w0'"


def test_more_than_one_scheduler_needs_a_broker(tmp_path: Path) -> None:
    text = f'{MINIMAL}\n[scheduler.b]\nalgorithm = "fcfs"'
    said = 'scheduler: several schedulers (easy, b) need a broker between, such as [broker] policy = "bebida"'
    assert refusal(tmp_path, text) == f"exp/my.toml: {said}"


SHARED = """
[platform]
hosts = 2
[broker]
policy = "priority"
{broker}
[[workload]]
generator = "exponential[jobs=2]"
{workload}
[scheduler.hpc]
{hpc}
[scheduler.bda]
{bda}
"""
PLAIN = {"broker": "", "workload": "scheduler = 'hpc'", "hpc": "algorithm='fcfs'", "bda": "algorithm='fcfs'"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"workload": ""}, "workload[0].scheduler: workload 'w0' has no scheduler; name one of hpc, bda"),
        (
            {"broker": "routes.w0 = 'bda'"},
            "workload[0].scheduler: workload 'w0' is routed to both hpc and bda (broker.routes.w0)",
        ),
        (
            {"hpc": "endpoint='tcp://localhost:9'", "bda": "endpoint='tcp://127.0.0.1:9'"},
            "scheduler.bda.endpoint: is that of scheduler hpc too (tcp://127.0.0.1:9); each needs",
        ),
    ],
)
def test_who_serves_what_must_be_clear(tmp_path: Path, change: dict[str, str], said: str) -> None:
    assert said in refusal(tmp_path, SHARED.format(**PLAIN | change))


def test_a_route_names_the_scheduler_of_a_workload(tmp_path: Path) -> None:
    config = load(tmp_path, SHARED.format(**PLAIN | {"workload": "", "broker": "routes.w0 = 'bda'"}))
    assert config.workloads[0].scheduler == "bda"


def test_no_workload_is_legal_only_if_the_scheduler_registers_jobs(tmp_path: Path) -> None:
    text = MINIMAL.replace('[[workload]]\nfile = "log.swf"', "")
    assert refusal(tmp_path, text).startswith("exp/my.toml: workload: there must be at least one")
    assert load(tmp_path, text, "scheduler.easy.dynamic_jobs=true").workloads == ()


def test_malformed_toml_is_named_by_its_line(tmp_path: Path) -> None:
    assert refusal(tmp_path, "[platform]\nhosts = = 4").startswith("exp/my.toml:2: not well-formed TOML: ")
    assert refusal(tmp_path, "a = 1\nb = ").startswith("exp/my.toml:2: not well-formed TOML: ")
    assert refusal(tmp_path, "a = " + "[" * 5000) == "exp/my.toml: not well-formed TOML: nested too deeply"
    assert refusal(tmp_path, "a = 1\na = 2").startswith("exp/my.toml:2: not well-formed TOML: ")


def test_missing_or_binary_experiment_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^no\.toml: cannot be read: No such file"):
        load_experiment("no.toml", cwd=tmp_path)
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"^b\.toml: is not a text in UTF-8"):
        load_experiment("b.toml", cwd=tmp_path)


# ------------------------------------------------------------------ --set


def test_set_changes_keys_before_they_are_checked(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        MINIMAL,
        "simulation.time_step=60",
        "scheduler.easy.algorithm=easy[order=sjf]",
        "workload[0].id=kth",
        "platform.hosts=",
        "platform.file=p.xml",
        "seed=3",
    )
    assert config.simulation.time_step == 60.0
    assert config.schedulers["easy"].algorithm == "easy[order=sjf]"
    assert config.workloads[0].id == "kth"
    assert (config.platform.hosts, config.seed) == (None, 3)
    assert config.platform.file is not None


def test_paths_start_from_the_file_but_those_of_set_from_the_working_folder(tmp_path: Path) -> None:
    config = load(tmp_path, MINIMAL)
    assert config.workloads[0].file == InputFile("log.swf", tmp_path / "exp/log.swf")
    assert config.schedulers["easy"].base == tmp_path / "exp"
    config = load(tmp_path, MINIMAL, "workload.0.file=log.swf", "scheduler.easy.algorithm=p.py:P", "output=o")
    assert config.workloads[0].file == InputFile("log.swf", tmp_path / "log.swf")
    assert (config.schedulers["easy"].base, config.output) == (tmp_path, tmp_path / "o")
    config = load(tmp_path, MINIMAL, simulation={"events": ["e.txt"]})
    assert config.simulation.events == (InputFile("e.txt", tmp_path / "e.txt"),)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("seed", "--set seed: want KEY=VALUE"),
        ("a b=1", "--set a b=1: want KEY=VALUE"),
        ("workload.3.file=x", "--set workload.3.file=x: '3' is not a number from 0 to 0"),
        ("platform.hosts.x=1", "--set platform.hosts.x=1: platform.hosts: is no table"),
        (
            "simulation.time_stop=1",
            "exp/my.toml: simulation.time_stop: unknown key; did you mean 'time_step'?",
        ),
        ("seed=1\nx = 2", "exp/my.toml: seed: must be a whole number"),
    ],
)
def test_wrong_setting_is_refused(tmp_path: Path, setting: str, said: str) -> None:
    assert refusal(tmp_path, MINIMAL, setting).startswith(said)


# ------------------------------------------------------------------ samples, and what is saved


def test_a_file_that_exists_wins_over_a_sample(tmp_path: Path) -> None:
    config = load_experiment("sample:kth-sp2", cwd=tmp_path)
    assert (config.name, config.source) == ("kth-sp2", "sample:kth-sp2")
    file = config.workloads[0].file
    assert file is not None
    assert file.path.parent == samples_folder()
    (tmp_path / "sample:kth-sp2").write_text(MINIMAL)
    assert load_experiment("sample:kth-sp2", cwd=tmp_path).platform.hosts == 4


@pytest.mark.parametrize("name", ["sample:nope", "sample:../job.py", "sample:", "sample:kth-sp2.tom"])
def test_unknown_sample_is_refused_with_those_there_are(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"there is no sample .*\(there are: .*sample:kth-sp2, "):
        load_experiment(name, cwd=tmp_path)


def test_saved_tree_says_everything_but_no_place_of_this_machine(tmp_path: Path) -> None:
    config = load(tmp_path, MINIMAL, f"workload.0.file={tmp_path}/log.swf", f"output={tmp_path}/o", "seed=3")
    text = json.dumps(config.to_tree())
    assert str(tmp_path) not in text
    tree = json.loads(text)
    assert (tree["seed"], tree["platform"]["hosts"]) == (3, 4)
    assert tree["workload"][0] == {"id": "w0", "file": "log.swf", "swf": {}, "scheduler": "easy"}
    assert tree["scheduler"] == {"easy": {"algorithm": "easy", "wants": []}}
    assert tree["simulation"]["codec"] == "json"
