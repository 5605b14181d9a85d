"""``batpy worker``: emulated GPUs in real time, for a controller under development to talk to."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from batpy.base.errors import EXIT_DONE, InputError
from batpy.base.plugins import build_options
from batpy.cli.parser import CommandParser, not_empty, pairs

if TYPE_CHECKING:
    from batpy.cli.worker import Lag
    from batpy.models.inference.fleet import Fleet

DEFAULT_BIND = "tcp://127.0.0.1:12345"
_DESCRIPTION = """\
Emulate a worker of the Clockwork serving system: no GPU is needed, and time is real.
Controllers connect ZeroMQ DEALER sockets and send the protocol's serving actions (JSON or
MessagePack); results come when they are due. Clockwork's own network framing is not spoken.
Serves until it is interrupted; then what is queued is cancelled, what runs comes to its end, and
the command tells how late results were and leaves with 0."""
_EPILOG = """\
  batpy worker --config default.cfg --gpus 24 --bind tcp://127.0.0.1:12345
  batpy worker --models /models --jitter exec_sd=0.002 --jitter load_sd=0.003 --seed 7
  batpy worker --table sample:clockwork-zoo.models --like dummy
A path in LOAD_MODEL_FROM_DISK is a name in a table, or a prefix of files such as
resnet50_v2/model below the folder of models."""


def configure() -> CommandParser:
    """The arguments of the command."""
    parser = CommandParser("worker", _DESCRIPTION, _EPILOG)
    add = parser.add_argument
    add("-c", "--config", metavar="FILE", help="memory of a worker (default: $CLOCKWORK_CONFIG_FILE)")
    add("-n", "--gpus", type=_gpus, default=1, metavar="N", help="how many GPUs it has (default: 1)")
    add("--bind", default=DEFAULT_BIND, metavar="ENDPOINT", help=f"where to listen (default: {DEFAULT_BIND})")
    add(
        "--models",
        type=not_empty,
        metavar="FOLDER",
        help="folder of models (default: $CLOCKWORK_MODEL_DIR, or this folder)",
    )
    add(
        "--table",
        action="append",
        default=[],
        metavar="FILE",
        help="models by name, in JSON; may be repeated",
    )
    add("--no-profile", action="store_true", help="models without measurements take no time; else refused")
    add(
        "--like",
        choices=("requirement", "real", "dummy"),
        default="requirement",
        help="where they differ: do as the real worker, or as Clockwork's own emulator",
    )
    add(
        "--jitter",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="vary durations: exec_sd, load_sd, outlier_probability, outlier_factor",
    )
    add("--seed", type=int, default=0, help="of the jitter (default: 0)")
    add("-q", "--quiet", action="store_true", help="do not tell where it listens, nor the lag")
    return parser


def _gpus(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 100_000:
        raise argparse.ArgumentTypeError(f"must be from 1 to 100000, got {text!r}")
    return number


def execute(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from batpy.cli.interrupts import Interrupts
    from batpy.cli.places import told_at
    from batpy.cli.worker import RealTimeWorker, system_clock
    from batpy.transport.zeromq import AnswerLater

    fleet = _fleet(arguments)

    def tell(what: object) -> None:
        if not arguments.quiet:
            print(f"batpy: worker: {what}", file=sys.stderr, flush=True)

    def report(lag: Lag) -> None:
        tell(lag)

    with told_at("--bind"):
        desk = AnswerLater(arguments.bind, 10**9)
    with desk, Interrupts() as interrupts:
        tell(f"{arguments.gpus} GPUs listen on {desk.endpoint}")
        # What lives for ever need not be looked at again: a collection is a pause.
        gc.collect()
        gc.freeze()
        gc.set_threshold(200_000, 50, 1000)
        RealTimeWorker(fleet, desk, system_clock(), report).serve(interrupts)
        desk.finish()
    return EXIT_DONE


def _fleet(arguments: argparse.Namespace) -> Fleet:
    from batpy.cli.samples import locate
    from batpy.cli.worker import WORKER
    from batpy.models.inference.flavour import flavour
    from batpy.models.inference.fleet import Fleet
    from batpy.models.inference.jitter import Jitter
    from batpy.workloads.serving.worker_config import WorkerConfig, read_worker_config
    from batpy.workloads.serving.zoo import ModelStore, Table

    file = arguments.config or os.environ.get("CLOCKWORK_CONFIG_FILE")
    folder = Path(arguments.models or os.environ.get("CLOCKWORK_MODEL_DIR") or ".")
    if not folder.is_dir():
        raise InputError("is not a folder", source=str(folder), path="--models")
    store = ModelStore(
        folder,
        *(Table(locate(path, Path(), ".models"), path) for path in arguments.table),
        require_profile=not arguments.no_profile,
    )
    jitter = pairs(arguments.jitter, "--jitter")
    return Fleet(
        {WORKER: arguments.gpus},
        store,
        WorkerConfig() if file is None else read_worker_config(file),
        flavour=flavour(arguments.like),
        jitter=build_options(Jitter, jitter, name="--jitter ") if jitter else None,
        seed=arguments.seed,
    )
