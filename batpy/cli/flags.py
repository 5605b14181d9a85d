"""Flags that several commands share: those of ``[simulation]``, and how a run is shown and kept."""

from __future__ import annotations

import argparse
from typing import Any

from batpy.base.files import read_text
from batpy.cli.output import POLICY
from batpy.cli.parser import not_empty

_SWITCHES = (
    ("dynamic_jobs", "--enable-dynamic-jobs", "the scheduler may register jobs and profiles"),
    ("acknowledge_dynamic_jobs", "--acknowledge-dynamic-jobs", "registered jobs are told back as submitted"),
    ("profile_reuse", "--enable-profile-reuse", "profiles stay known once their jobs are over"),
    ("forward_profiles", "--forward-profiles-on-submission", "each submitted job brings its profile"),
    ("compute_sharing", "--enable-compute-sharing", "several jobs may share a compute host"),
    ("forward_unknown_events", "--forward-unknown-events", "generic external events are passed on"),
    ("mmax_workload", "--mmax-workload", "use as many hosts as the workload was made for"),
    ("float6", "--float6", "JSON numbers with six decimals, as Batsim writes them"),
    ("split_kill_ack", "--split-kill-ack", "kills are acknowledged for jobs that still ran only"),
)
_NEGATIVE = (
    ("storage_sharing", "--disable-storage-sharing", "one job at a time on a storage host"),
    ("strict", "--lenient", "a decision that breaks a rule changes nothing, and the run goes on"),
)


def add_simulation_flags(parser: argparse.ArgumentParser) -> None:
    """Add one flag for each key of ``[simulation]``, under Batsim's name where it has one."""
    group = parser.add_argument_group("simulation")
    add = group.add_argument
    add("--codec", choices=("json", "msgpack"), help="of messages between processes (default: json)")
    add("--time-step", type=float, metavar="SECONDS", help="consult the scheduler at multiples only")
    add("--resolution", type=int, metavar="TICKS", help="ticks per second (default: 1000000)")
    add("--latency", type=float, metavar="SECONDS", help="simulated duration of each message")
    add(
        "--deadline",
        type=float,
        metavar="SECONDS",
        help="longest wait for a scheduler (default: 60; 0: ever)",
    )
    add("--mmax", type=int, metavar="N", help="keep the first N compute hosts only")
    add("--events", action="append", metavar="FILE", help="external events; may be repeated")
    text = group.add_mutually_exclusive_group()
    text.add_argument("--sched-cfg", metavar="TEXT", help="text handed to the scheduler")
    text.add_argument("--sched-cfg-file", metavar="FILE", help="file whose text is handed to the scheduler")
    add("-E", "--energy", action="store_true", default=None, help="hosts consume energy and have pstates")
    for key, flag, meaning in _SWITCHES:
        add(flag, dest=key, action="store_true", default=None, help=meaning)
    for key, flag, meaning in _NEGATIVE:
        add(flag, dest=key, action="store_false", default=None, help=meaning)


def simulation_tree(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the flags say, as the content of ``[simulation]``; only what was given.

    Raises:
        InputError: the file of ``--sched-cfg-file`` cannot be read.
    """
    keys = ("codec", "time_step", "resolution", "latency", "deadline", "mmax", "events", "energy")
    switches = [key for key, _, _ in _SWITCHES + _NEGATIVE]
    tree = {key: getattr(arguments, key) for key in (*keys, *switches)}
    tree["sched_config"] = arguments.sched_cfg
    if arguments.sched_cfg_file is not None:
        tree["sched_config"] = read_text(arguments.sched_cfg_file)
    return {key: value for key, value in tree.items() if value is not None}


def simulation_flag(key: str) -> str:
    """The flag that says *key* of ``[simulation]``; one that is named like its key otherwise."""
    for known, flag, _ in _SWITCHES + _NEGATIVE:
        if known == key:
            return flag
    return "--sched-cfg" if key == "sched_config" else f"--{key.replace('_', '-')}"


def add_result_flags(parser: argparse.ArgumentParser, default_output: str, *names: str) -> None:
    """Add where the results go and how they are shown.

    Args:
        names: other names of ``--output``.
    """
    group = parser.add_argument_group("results", POLICY)
    add = group.add_argument
    add(
        *names,
        "--output",
        dest="output",
        type=not_empty,
        metavar="DIR",
        help=f"folder of the results (default: {default_output})",
    )
    add("--no-overwrite", action="store_true", help="refuse a folder that holds an earlier run, too")
    add("--groups", action="store_true", help="show the summary per user and per queue, too")
    add("--warm-up", default="", metavar="AMOUNT", help="leave out the first SECONDS, or PERCENT%% of jobs")
    add("--cool-down", default="", metavar="AMOUNT", help="leave out the last SECONDS, or PERCENT%% of jobs")
    add("--json", action="store_true", help="print the summary as JSON")
    add(
        *("-q", "--quiet"),
        action="store_true",
        help="print nothing but errors (and the JSON, if asked for)",
    )
