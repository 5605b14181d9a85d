"""What an experiment says of ML serving: ``[serving]``, and workloads of kind ``requests``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from batpy.base.errors import InputError
from batpy.cli.config import ExperimentConfig, InputFile, ServingConfig, WorkloadConfig
from batpy.cli.places import told_at
from batpy.cli.tables import Table

if TYPE_CHECKING:
    from batpy.simulator.serving import ServingSetup
    from batpy.workloads.serving.requests import RequestWorkload

LIKES = ("requirement", "real", "dummy")


def serving_config(table: Table, file: Callable[..., InputFile]) -> ServingConfig:
    """Read ``[serving]``.

    Args:
        file: locates a file by the text, the place of its key, and the endings of samples that will do.
    """

    def one(key: str) -> InputFile | None:
        written = table.text(key)
        return None if written is None else file(written, table.place(key))

    jitter = table.table("jitter")
    config = ServingConfig(
        config=one("config"),
        models=one("models"),
        tables=tuple(file(written, table.place("tables"), ".models") for written in table.texts("tables")),
        like=table.choice("like", LIKES, LIKES[0]),
        require_profile=table.switch("require_profile", True),
        jitter={key: _number(jitter, key) for key in jitter.tree},
    )
    table.finish()
    return config


def _number(table: Table, key: str) -> float:
    value = table.value(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise table.fail(key, f"must be a number, got {value!r}")
    return float(value)


def refuse_broker(workloads: tuple[WorkloadConfig, ...], *, broker: bool, source: str) -> None:
    """Requests reach a scheduler that is asked directly, so far.

    Raises:
        InputError: there is a broker between.
    """
    for index, workload in enumerate(workloads):
        if broker and workload.kind == "requests":
            problem = "requests cannot pass through a broker in this version; leave [broker] out"
            raise InputError(problem, source=source, path=f"workload[{index}].kind")


def load_serving(config: ExperimentConfig) -> ServingSetup | None:
    """The requests of an experiment and what its workers are; None if it has no requests.

    Raises:
        InputError: a file or an option cannot be used.
    """
    wanted = [w for w in config.workloads if w.kind == "requests"]
    if not wanted:
        return None
    from batpy.base.plugins import build_options
    from batpy.models.inference.flavour import flavour
    from batpy.models.inference.jitter import Jitter
    from batpy.simulator.serving import ServingSetup
    from batpy.workloads.serving.worker_config import read_worker_config
    from batpy.workloads.serving.zoo import ModelStore
    from batpy.workloads.serving.zoo import Table as ModelsTable

    serving = config.serving or ServingConfig()
    jitter = None
    if serving.jitter:
        with told_at(config.source, "serving.jitter"):
            jitter = build_options(Jitter, {key: repr(value) for key, value in serving.jitter.items()})
    file = serving.config
    return ServingSetup(
        workloads=[_requests(config, workload) for workload in wanted],
        store=ModelStore(
            None if serving.models is None else serving.models.path,
            *(ModelsTable(table.path, table.written) for table in serving.tables),
            require_profile=serving.require_profile,
        ),
        config=None if file is None else read_worker_config(file.path, file.written),
        flavour=flavour(serving.like),
        jitter=jitter,
    )


def _requests(config: ExperimentConfig, wanted: WorkloadConfig) -> RequestWorkload:
    ticks = config.simulation.resolution
    if wanted.generator is not None:
        from batpy.kernel.streams import stream
        from batpy.workloads.serving.arrivals import generate_requests

        place = f"workload[{config.workloads.index(wanted)}].generator"
        with told_at(config.source, place):
            rng = stream(config.seed, "workload", wanted.id)
            return generate_requests(wanted.generator, rng, wanted.id, ticks_per_second=ticks)
    from batpy.workloads.serving.requests import read_requests

    assert wanted.file is not None
    return read_requests(wanted.file.path, wanted.id, source=wanted.file.written, ticks_per_second=ticks)
