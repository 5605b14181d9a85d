"""``batpy list``: what there is to choose from."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from batpy.base.errors import EXIT_DONE, InputError
from batpy.cli.parser import CommandParser


def configure() -> CommandParser:
    """The arguments of the command."""
    parser = CommandParser("list", "List what there is to choose from, with its options.")
    parser.add_argument("what", nargs="?", choices=tuple(_LISTS), help="which list")
    return parser


def execute(arguments: argparse.Namespace) -> int:
    """Print one list.

    Raises:
        InputError: it is not said which.
    """
    if arguments.what is None:
        raise InputError(f"say which: {', '.join(_LISTS)}", source="list")
    for line in _LISTS[arguments.what]():
        print(line)
    return EXIT_DONE


def _schedulers() -> Iterator[str]:
    from batpy.schedulers.hpc.orders import ORDER_ALIASES, ORDER_NAMES
    from batpy.schedulers.registry import SCHEDULERS

    for name in SCHEDULERS.names():
        yield from _plugin(name, SCHEDULERS.lookup(name))
    yield "or a class of your own: FILE.py:CLASS"
    yield f"order and backfill are one of {', '.join(ORDER_NAMES)}"
    yield f"    (for short {', '.join(f'{short} for {name}' for short, name in ORDER_ALIASES.items())}),"
    yield "    or a sum such as 2*wait-walltime of wait, walltime, res, area, expansion; the largest is first"
    yield "calendar is a file of advance reservations and planned outages; the README shows one"


def _policies() -> Iterator[str]:
    from batpy.broker.registry import POLICIES

    for name in POLICIES.names():
        yield from _plugin(name, POLICIES.lookup(name))
    yield "or a class of your own: FILE.py:CLASS; schedulers are ranked in the order of the experiment file"


def _generators() -> Iterator[str]:
    from batpy.workloads.generators import GENERATORS

    for name in GENERATORS.names():
        yield from _plugin(name, GENERATORS.lookup(name))
    from batpy.workloads.serving.arrivals import REQUEST_GENERATORS

    yield 'of requests for ML serving (an experiment\'s workload.kind = "requests")'
    for name in REQUEST_GENERATORS.names():
        yield from _plugin(name, REQUEST_GENERATORS.lookup(name))


def _plugin(name: str, target: Any) -> Iterator[str]:
    yield f"{name:<14} {_first_line(target)}"
    yield from _options(target)


def _options(target: Any) -> Iterator[str]:
    from batpy.base.options import describe_options

    for option in describe_options(target):
        default = "none" if option.default in ("", "None") else option.default
        told = "required" if default is None else f"default: {default}"
        yield f"    {option.name}={option.type} ({told})"
        yield from _meaning(option.meaning)


def _meaning(text: str) -> Iterator[str]:
    import textwrap

    indent = " " * 8
    yield from textwrap.wrap(text.replace("``", ""), 100, initial_indent=indent, subsequent_indent=indent)


def _platforms() -> Iterator[str]:
    yield "N              a number of hosts, all alike (an experiment's platform.hosts)"
    yield "FILE.xml       a SimGrid platform file, version 3, 4 or 4.1 (an experiment's platform.file)"
    yield from _BUILDERS
    yield from _samples(".xml")


_BUILDERS = (
    "cluster        hosts around a switch: cluster[hosts=128,bandwidth=10Gbps] (platform.cluster = 128)",
    "    hosts=int (required)",
    "    bandwidth=BANDWIDTH, latency=TIME (default: 1Gbps, 50us)",
    "        of each host's links up and down",
    "    backbone=BANDWIDTH, backbone_latency=TIME (default: none, 0)",
    "        a link that all routes cross, instead of a perfect switch",
    'racks          racks under one switch: racks[shape=4x16] (platform.racks = "4x16": 4 racks of 16 hosts)',
    "    shape=RACKSxHOSTS (required)",
    "    bandwidth=BANDWIDTH, latency=TIME (default: 1Gbps, 50us)",
    "        of each host's links; the latency is that of a rack's links too",
    "    uplink=BANDWIDTH (default: as much as all hosts of a rack together)",
    "        of each rack's links",
    'fat_tree       fat_tree[shape=4x4;1x2;1x2] (platform.fat_tree = "4,4;1,2;1,2")',
    "    shape=CHILDREN;PARENTS;PORTS (required)",
    "        a number for each level of switches: nodes below one, switches above a node, cables to each",
    "    bandwidth=BANDWIDTH, latency=TIME (default: 1Gbps, 50us)",
    "        of each cable",
    "all but FILE.xml take cores, memory and gpus of a host; these three, and an experiment, also speed",
)


def _workloads() -> Iterator[str]:
    yield "FILE.swf       a log in the Standard Workload Format, plain, .gz or .zip"
    yield "FILE.json      a Batsim workload, plain, .gz or .zip"
    yield 'FILE.json      requests for ML serving (an experiment\'s workload.kind = "requests")'
    from batpy.cli.samples import WORKLOAD_ENDINGS

    yield from _samples(*WORKLOAD_ENDINGS)
    yield from _samples(".toml", what="an experiment for batpy run")
    yield from _samples(".txt", what="external events for --events, an experiment's simulation.events")
    yield from _samples(".models", what="models for an experiment's serving.tables and batpy worker --table")
    yield "options of the SWF reader (--swf KEY=VALUE, an experiment's workload.swf)"
    yield from _swf_options()


def _swf_options() -> Iterator[str]:
    from batpy.workloads.swf_options import SwfOptions

    # These two are written as a text of intervals, whatever they are inside; the resolution is the run's.
    written = {name: f'    {name}="1-5 8" (default: none)' for name in ("statuses", "job_ids")}
    name = ""
    for line in _options(SwfOptions):
        option = not line.startswith(" " * 8)
        if option:
            name = line.strip().partition("=")[0]
        if name != "ticks_per_second":
            yield written.get(name, line) if option else line


def _samples(*endings: str, what: str = "ships with batpy") -> Iterator[str]:
    from batpy.cli.samples import PREFIX, names

    for name in names(*endings):
        yield f"{PREFIX}{name.removesuffix('.toml')}  {what}"


def _first_line(target: Any) -> str:
    return (inspect.getdoc(target) or "").partition("\n")[0]


_LISTS: dict[str, Callable[[], Iterator[str]]] = {
    "schedulers": _schedulers,
    "policies": _policies,
    "platforms": _platforms,
    "workloads": _workloads,
    "generators": _generators,
}
