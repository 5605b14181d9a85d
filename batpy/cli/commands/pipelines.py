"""``batpy pipelines``: Eudoxia's commands, and a run of its parameter files with traces and own policies."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from batpy.base.errors import EXIT_BAD_INPUT, EXIT_DONE, InputError
from batpy.cli.commands.scheduler import DEFAULT_BIND
from batpy.cli.parser import CommandParser, positive_seconds

_EPILOG = """\
  batpy pipelines init params.toml
  batpy pipelines run params.toml --set ticks_per_second=100 --json
  batpy pipelines gentrace params.toml trace.csv
  batpy pipelines serve reference --bind tcp://127.0.0.1:28000 &
  batpy pipelines run params.toml --endpoint tcp://127.0.0.1:28000
  batpy pipelines run params.toml -w trace.csv -i my_policy.py --set scheduler_algo=mine
--compat eudoxia keeps the original's behaviour to the bit, its faults included."""


def configure() -> CommandParser:
    """The arguments of the command."""
    parser = CommandParser("pipelines", "Simulate data pipelines in containers (Eudoxia).", _EPILOG)
    inner = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _configure_run(inner.add_parser("run", help="simulate a parameter file"))
    _configure_serve(inner.add_parser("serve", help="let a policy answer runs over ZeroMQ"))
    _imports(inner.add_parser("list", help="list the policies and estimators there are"))
    init = inner.add_parser("init", help="write a parameter file with the defaults")
    init.add_argument("output", metavar="OUT.toml")
    init.add_argument("-s", "--scheduler", metavar="NAME", help="write a first policy NAME.py, too")
    _force(init)
    gentrace = inner.add_parser("gentrace", help="write the random workload of a parameter file as a trace")
    _parameters(gentrace)
    gentrace.add_argument("output", metavar="OUT.csv")
    _force(gentrace)
    regression = inner.add_parser("mkregression", help="write parameters, trace and expected statistics")
    _parameters(regression)
    regression.add_argument("folder", metavar="DIR")
    _imports(regression)
    _force(regression)
    _configure_tools(inner)
    return parser


def _configure_run(parser: argparse.ArgumentParser) -> None:
    _parameters(parser)
    parser.add_argument("-w", "--workload", metavar="TRACE.csv", help="a trace (default: generate one)")
    _imports(parser)
    parser.add_argument("--endpoint", metavar="ENDPOINT", help="ask the scheduler that listens there")
    parser.add_argument("--codec", choices=("json", "msgpack"), default="json", help="to speak with it")
    parser.add_argument(
        "--deadline", type=positive_seconds, default=60.0, metavar="SECONDS", help="longest wait for it"
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="write statistics and tables there")
    parser.add_argument("--no-overwrite", action="store_true", help="refuse a folder with an earlier run")
    parser.add_argument("--json", action="store_true", help="print the statistics as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors and the JSON")


def _configure_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "policy", metavar="POLICY", help="reference, or FILE.py:CLASS with a method schedule(snapshot)"
    )
    parser.add_argument(
        "--bind", default=DEFAULT_BIND, metavar="ENDPOINT", help=f"where to listen (default: {DEFAULT_BIND})"
    )
    parser.add_argument(
        "--deadline",
        type=positive_seconds,
        metavar="SECONDS",
        help="longest silence of the run (default: any)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="do not tell where it listens")


def _configure_tools(inner: Any) -> None:
    snap = inner.add_parser("snap", help="round the arrivals of a trace down to ticks")
    snap.add_argument("trace", metavar="IN.csv")
    snap.add_argument("output", metavar="OUT.csv")
    snap.add_argument("ticks_per_second", type=int)
    _force(snap)
    jitter = inner.add_parser("jitter", help="delay the arrivals of a trace at random")
    jitter.add_argument("trace", metavar="IN.csv")
    jitter.add_argument("output", metavar="OUT.csv")
    jitter.add_argument("delta", type=float, help="longest delay, in seconds")
    jitter.add_argument("-s", "--seed", type=int, default=42, help="of the delays (default: 42)")
    _force(jitter)
    one = inner.add_parser("sensitivity", help="how much the length of a tick matters for a trace")
    _parameters(one)
    one.add_argument("trace", metavar="TRACE.csv")
    one.add_argument("folder", metavar="DIR")
    _imports(one)
    many = inner.add_parser("sensitivity-sample", help="the same for several random workloads")
    _parameters(many)
    many.add_argument("folder", metavar="DIR")
    many.add_argument("size", type=int, metavar="N", help="number of workloads")
    many.add_argument("--start-seed", type=int, default=42, help="seed of the first (default: 42)")
    many.add_argument("--workers", type=int, help="processes at a time (default: one for each core)")
    _imports(many)
    for parser in (one, many):
        parser.add_argument("--jitter-seed", type=int, default=42, help="of the delays (default: 42)")
    plot = inner.add_parser("sensitivity-plot", help="draw the results of sensitivity-sample")
    plot.add_argument("folder", metavar="DIR")


def _parameters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("parameters", metavar="PARAMS.toml")
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change one parameter",
    )
    parser.add_argument("--compat", choices=("eudoxia",), help="keep the original's faults")


def _imports(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        *("-i", "--import"),
        dest="imports",
        action="append",
        default=[],
        metavar="MODULE",
        help="a file or module with policies of your own",
    )


def _force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-f", "--force", action="store_true", help="replace what is there")


def execute(arguments: argparse.Namespace) -> int:
    """Do what was asked for."""
    actions = {
        "run": _run,
        "serve": _serve,
        "list": _list,
        "init": _init,
        "gentrace": _gentrace,
        "mkregression": _mkregression,
        "snap": _snap,
        "jitter": _jitter,
        "sensitivity": _sensitivity,
        "sensitivity-sample": _sensitivity_sample,
        "sensitivity-plot": _plot,
    }
    return actions[arguments.action](arguments) or EXIT_DONE


def _table(arguments: argparse.Namespace) -> dict[str, Any]:
    from batpy.pipelines.command import read_table

    return read_table(arguments.parameters, arguments.settings, arguments.compat)


def _run(arguments: argparse.Namespace) -> int:
    from batpy.pipelines.command import RunOrder, run_order

    return run_order(
        RunOrder(
            source=arguments.parameters,
            table=_table(arguments),
            workload=None if arguments.workload is None else Path(arguments.workload),
            imports=arguments.imports,
            output=None if arguments.output is None else Path(arguments.output),
            overwrite=not arguments.no_overwrite,
            as_json=arguments.json,
            quiet=arguments.quiet,
            endpoint=arguments.endpoint,
            codec=arguments.codec,
            deadline_s=arguments.deadline,
        )
    )


def _serve(arguments: argparse.Namespace) -> None:
    import sys

    from batpy.schedulers.pipelines.remote import POLICIES, PipelineSchedulerCore
    from batpy.transport.zeromq import serve

    def ready(endpoint: str) -> None:
        if not arguments.quiet:
            print(f"batpy: {arguments.policy} listens on {endpoint}", file=sys.stderr, flush=True)

    core = PipelineSchedulerCore(POLICIES.make(arguments.policy), arguments.policy)
    serve(core, arguments.bind, deadline_s=arguments.deadline, name="pipeline run", on_bound=ready)


def _list(arguments: argparse.Namespace) -> None:
    import sys

    from batpy.pipelines.estimators import ESTIMATORS
    from batpy.pipelines.imports import import_users
    from batpy.pipelines.simulate import load_shipped
    from batpy.schedulers.pipelines.api import SCHEDULING_ALGOS

    load_shipped()
    import_users(arguments.imports)
    for what, table in (("scheduler_algo", SCHEDULING_ALGOS), ("estimator_algo", ESTIMATORS)):
        print(f"{what}:")
        for name in sorted(table):
            told = sys.modules[table[name].__module__].__doc__ or ""
            print(f"  {name:<14} {told.strip().partition(chr(10))[0].replace('``', '')}".rstrip())


def _init(arguments: argparse.Namespace) -> None:
    from batpy.pipelines.starter import parameter_text, policy_text
    from batpy.pipelines.traces import check_new

    output = Path(arguments.output)
    check_new(output, force=arguments.force)
    name = arguments.scheduler
    policy = None
    if name is not None:
        if not name.isidentifier():
            raise InputError(f"must be a name such as my_policy, got {name!r}", source="--scheduler")
        policy = output.parent / f"{name}.py"
        check_new(policy, force=arguments.force)
    output.write_text(parameter_text(name), encoding="utf-8")
    print(f"parameters written to {output}")
    if policy is not None:
        policy.write_text(policy_text(name), encoding="utf-8")
        print(f"policy written to {policy}; batpy pipelines run {output} -i {policy}")


def _gentrace(arguments: argparse.Namespace) -> None:
    from batpy.pipelines.sensitivity import generate_trace
    from batpy.pipelines.traces import check_new

    output = Path(arguments.output)
    table = _table(arguments)
    check_new(output, force=arguments.force)
    print(f"{generate_trace(table, output)} pipelines written to {output}")


def _mkregression(arguments: argparse.Namespace) -> None:
    from batpy.pipelines.command import parameters_as_toml
    from batpy.pipelines.imports import import_users
    from batpy.pipelines.sensitivity import generate_trace
    from batpy.pipelines.simulate import simulate
    from batpy.pipelines.tables import plain
    from batpy.pipelines.traces import check_new
    from batpy.workloads.pipelines.parameters import read_parameters

    import_users(arguments.imports)
    table = _table(arguments)
    file = read_parameters(table, name=arguments.parameters)
    folder = Path(arguments.folder)
    check_new(folder, force=arguments.force)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "params.toml").write_text(parameters_as_toml(table), encoding="utf-8")
    trace = folder / "trace.csv"
    generate_trace(table, trace)
    expected = plain(simulate(file, trace).statistics.to_dict())
    (folder / "expected.json").write_text(json.dumps(expected, indent=2) + "\n", encoding="utf-8")
    print(f"params.toml, trace.csv and expected.json written to {folder}")


def _snap(arguments: argparse.Namespace) -> None:
    from batpy.pipelines.traces import check_new, snap

    output = Path(arguments.output)
    check_new(output, force=arguments.force)
    snap(Path(arguments.trace), output, arguments.ticks_per_second)
    print(f"written to {output}")


def _jitter(arguments: argparse.Namespace) -> None:
    from batpy.pipelines.traces import check_new, jitter

    output = Path(arguments.output)
    check_new(output, force=arguments.force)
    jitter(Path(arguments.trace), output, arguments.delta, arguments.seed)
    print(f"written to {output}")


def _sensitivity(arguments: argparse.Namespace) -> None:
    from batpy.pipelines.imports import import_users
    from batpy.pipelines.sensitivity import RESULTS, sensitivity

    import_users(arguments.imports)
    folder = Path(arguments.folder)
    sensitivity(
        _table(arguments), Path(arguments.trace), folder, jitter_seed=arguments.jitter_seed, tell=print
    )
    print(f"results in {folder / RESULTS}")


def _sensitivity_sample(arguments: argparse.Namespace) -> int:
    from batpy.pipelines.sensitivity import RESULTS, sensitivity_sample

    if arguments.size < 1:
        raise InputError(f"must be at least 1, got {arguments.size}", source="N")
    folder = Path(arguments.folder)
    failures = sensitivity_sample(
        _table(arguments),
        folder,
        arguments.size,
        start_seed=arguments.start_seed,
        jitter_seed=arguments.jitter_seed,
        imports=arguments.imports,
        workers=arguments.workers,
    )
    for index, failure in failures.items():
        print(f"w{index}: {failure or 'done'}")
    print(f"results in {folder / RESULTS}")
    return EXIT_BAD_INPUT if any(failures.values()) else EXIT_DONE


def _plot(arguments: argparse.Namespace) -> None:
    from batpy.pipelines.plot import plot_sensitivity

    for path in plot_sensitivity(Path(arguments.folder)):
        print(path)
