"""``batpy workload import``: logs of Big Data systems into a stage graph or into jobs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from batpy.base.errors import InputError
from batpy.cli.parser import not_empty

if TYPE_CHECKING:
    from batpy.workloads.stages.calibration_form import Calibration
    from batpy.workloads.stages.importing import Imported
    from batpy.workloads.stages.job_options import JobOptions

KINDS = ("auto", "spark", "jhist", "rumen", "sls", "swim", "wfcommons", "stages", "graph")
LEVELS = ("graph", "delay", "job", "stage_dag", "task")
_EXAMPLES = """\
  batpy workload import spark eventlog_v2_app-1/ -o app.json
  batpy workload import spark eventlog_v2_app-1/ -o app.json --level job --io none
  batpy workload import swim FB-2009.tsv -o jobs.json --cpu-per-gb 20 --max-hosts 64
  batpy workload import auto history/*.jhist -o graph.json.gz --level graph
Spark event logs may be packed (zstd, lz4, snappy, lzf, gzip, zip), rolled, or cut off; a folder is searched.
Level graph keeps the stage graph; the others make a workload, one job for each application. stage_dag draws
the tasks of each stage from the table of their times, task takes their recorded times; both run in this
simulator only, which places tasks on slots. delay and job are for any Batsim: delay replays the recorded
stage times, job reads, computes, shuffles and writes."""
_READING = (
    ("split_bytes", "BYTES", "SWIM: bytes of a task (default: 134217728)"),
    ("group", "level|task", "WfCommons: a stage for each program and depth (default), or for each task"),
)
_JOBS = (
    ("hosts", "N", "hosts of every job (default: as recorded, or as many as the widest stage fills)"),
    ("max_hosts", "N", "no job asks for more hosts"),
    ("cores", "N", "tasks that a host runs at one time (default: as recorded, or 1)"),
    ("speed", "FLOPS", "flops per second of an executor on a host of the platform (default: 1e9)"),
    ("io", "pfs|beside|bandwidth|none", "how data are read and written (default: pfs)"),
    ("storage", "LABEL", "of the storage host (default: pfs)"),
    ("read_bandwidth", "BYTES", "per second, for --io bandwidth (default: 1e9)"),
    ("write_bandwidth", "BYTES", "per second, for --io bandwidth (default: 1e9)"),
    ("cpu_per_gb", "SECONDS", "processor time for 10^9 bytes where a trace tells neither times nor flops"),
    ("think", "keep|drop", "waits between an application's jobs (default: drop at level job, else keep)"),
    (
        "executors",
        "slots|recorded",
        "stage_dag, task: slots all the time (default), or executors as recorded",
    ),
    (
        "shuffle",
        "local|external|pfs",
        "stage_dag, task: where shuffled data lie (default: local; workflows: pfs)",
    ),
    ("checkpoint", "SECONDS", "stage_dag, task: running tasks save their state so often (default: never)"),
    ("order", "fifo|critical_path", "stage_dag, task: order of stages (default: fifo)"),
    ("overlap", "SHARE", "job: of computing and shuffling that goes on at once, 0 to 1 (default: 1)"),
    ("task_overhead", "SECONDS", "job: of each task, on its slot (default: 0)"),
    ("stage_overhead", "SECONDS", "job: of each stage (default: 0)"),
    ("scale", "FACTOR", "of all work, data and times"),
    ("submit", "recorded|together", "dates of submission (default: recorded)"),
    ("every", "SECONDS", "between submissions, instead of recorded dates"),
    ("interarrival_factor", "FACTOR", "of recorded dates"),
    ("walltime_factor", "FACTOR", "walltime as a multiple of the recorded duration (default: none)"),
    ("max_jobs", "N", "only the first N applications"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("kind", choices=KINDS, metavar="KIND", help=f"of the files: {', '.join(KINDS)}")
    add("files", nargs="+", type=not_empty, metavar="FILE", help="logs or traces, all of one kind")
    add(
        "-o",
        "--output",
        required=True,
        type=not_empty,
        metavar="OUT",
        help="file to write: .json or .json.gz",
    )
    add("--overwrite", action="store_true", help="replace OUT if it exists")
    add("--level", choices=LEVELS, default="stage_dag", help="what to write (default: stage_dag)")
    add("--strict", action="store_true", help="refuse the first thing that would be left out or repaired")
    for key, value, meaning in _READING:
        add(_flag(key), dest=key, metavar=value, help=meaning)
    group = parser.add_argument_group("jobs (every level but graph)")
    for key, value, meaning in _JOBS:
        group.add_argument(_flag(key), dest=key, metavar=value, help=meaning)
    text = "SimGrid XML: --speed is that of its slowest compute host"
    group.add_argument("--platform", metavar="FILE", type=not_empty, help=text)
    text = "job: scale amounts and add overheads as batpy workload calibrate has found"
    group.add_argument("--calibration", metavar="FILE", type=not_empty, help=text)


def execute(arguments: argparse.Namespace) -> None:
    """Do what was asked for.

    Raises:
        InputError: a bad option, an input that cannot be used, or an output that cannot be written.
    """
    output = Path(arguments.output)
    if not output.name.lower().removesuffix(".gz").endswith(".json"):
        raise InputError("the name must end in .json or .json.gz", source=str(output))
    if output.exists() and not arguments.overwrite:
        raise InputError("exists; name another file, or say --overwrite", source=str(output))
    if any(output.exists() and Path(file).exists() and output.samefile(file) for file in arguments.files):
        raise InputError("would overwrite a file that is read; name another", source=str(output))
    options = None if arguments.level == "graph" else _job_options(arguments)
    if options is None and (given := [key for key, _, _ in _JOBS if getattr(arguments, key) is not None]):
        raise InputError("is for levels that make jobs; level graph keeps all", source=_flag(given[0]))
    calibration = _calibration(arguments)
    imported = _read(arguments)
    for line in imported.report():
        print(line)
    if options is None:
        from batpy.workloads.stages.form import write_graph

        write_graph(imported.graph, output)
        stages = sum(len(application.stages) for application in imported.graph.applications)
        count = len(imported.graph.applications)
        print(f"{count} applications with {stages} stages written to {output}")
    else:
        _write_jobs(imported, options, output, arguments.files[0], calibration)


def _flag(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _given(arguments: argparse.Namespace, table: tuple[tuple[str, str, str], ...]) -> dict[str, Any]:
    tree = {key: getattr(arguments, key) for key, _, _ in table}
    return {key: text for key, text in tree.items() if text is not None}


def _as_flag(why: InputError) -> InputError:
    """The complaint about an option, told with its flag."""
    key = (why.path or "").rpartition(".")[2]
    return InputError(why.problem, source=_flag(key)) if key and why.source is None else why


def _read(arguments: argparse.Namespace) -> Imported:
    from batpy.workloads.settings import build
    from batpy.workloads.stages.importing import ImportOptions, import_graph

    tree = _given(arguments, _READING)
    try:
        fixed = {"strict": arguments.strict, "keep_tasks": arguments.level == "task"}
        options = build(ImportOptions, tree, "import", fixed)
    except InputError as why:
        raise _as_flag(why) from None
    return import_graph(arguments.files, None if arguments.kind == "auto" else arguments.kind, options)


def _job_options(arguments: argparse.Namespace) -> JobOptions:
    from batpy.workloads.stages.job_options import JobOptions

    tree = _given(arguments, _JOBS)
    if arguments.platform is not None:
        if "speed" in tree:
            raise InputError("cannot be given together with --speed", source="--platform")
        tree["speed"] = str(_slowest(arguments.platform))
    try:
        return JobOptions.from_mapping({**tree, "level": arguments.level}, "job")
    except InputError as why:
        raise _as_flag(why) from None


def _slowest(file: str) -> float:
    from batpy.platforms.load import load_platform

    return min(host.speeds[0] for host in load_platform(Path(file), source=file).compute)


def _calibration(arguments: argparse.Namespace) -> Calibration | None:
    from batpy.workloads.stages.calibration_form import read_calibration

    if arguments.calibration is None:
        return None
    if arguments.level != "job":
        raise InputError(f"is for level job, not {arguments.level}", source="--calibration")
    for key in ("overlap", "task_overhead", "stage_overhead"):
        if getattr(arguments, key) is not None:
            raise InputError("cannot be given together with --calibration", source=_flag(key))
    return read_calibration(arguments.calibration)


def _write_jobs(
    imported: Imported, options: JobOptions, output: Path, source: str, calibration: Calibration | None
) -> None:
    from batpy.workloads.batsim_writer import write_batsim_json
    from batpy.workloads.stages.jobs import to_workload

    emitted = to_workload(imported.graph, options, source=source, calibration=calibration)
    for line in emitted.tally.report():
        print(line)
    header = str(emitted.workload.header["description"])
    write_batsim_json(emitted.workload, output, description=header)
    print(f"{len(emitted.workload)} jobs written to {output}")
