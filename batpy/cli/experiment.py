"""The experiment file: TOML in, one frozen ``ExperimentConfig`` out, nothing unknown left over."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from batpy.base.errors import InputError
from batpy.cli.config import (
    BROKER,
    DEFAULT_DEADLINE,
    BrokerConfig,
    ExperimentConfig,
    InputFile,
    PlatformConfig,
    SchedulerConfig,
    SimulationConfig,
    WorkloadConfig,
)
from batpy.cli.experiment_file import read_tree
from batpy.cli.hand_over import with_hand_over
from batpy.cli.overrides import apply_overrides
from batpy.cli.samples import EXPERIMENT_ENDING, WORKLOAD_ENDINGS, locate
from batpy.cli.serving import refuse_broker, serving_config
from batpy.cli.tables import Table, shown
from batpy.cli.tenancy import twice
from batpy.kernel.ticks import DEFAULT_TICKS_PER_SECOND
from batpy.protocol.vocabulary import WANTS

_FILE_NAME = re.compile(r"[\w.-]{1,100}", re.ASCII)
KINDS = ("jobs", "pipelines", "requests")


def load_experiment(
    written: str,
    settings: Iterable[str] = (),
    *,
    simulation: Mapping[str, Any] | None = None,
    cwd: Path | None = None,
) -> ExperimentConfig:
    """Read an experiment file.

    Relative paths in the file start from its own folder, those in *settings* and *simulation* from the
    working folder.

    Args:
        written: a path, or ``sample:NAME``; or the ``experiment.json`` of a run, whose files start from the
            working folder.
        settings: texts ``key=value`` that change the file's content first.
        simulation: values that take the place of those in ``[simulation]``.
        cwd: the working folder; the process's own if None.

    Raises:
        InputError: one line with the file and the line (malformed TOML) or the path of the key.
    """
    here = Path.cwd() if cwd is None else cwd
    path = locate(written, here, EXPERIMENT_ENDING)
    tree, base = read_tree(path, written, here)
    changed = apply_overrides(tree, settings)
    if simulation and isinstance(tree.setdefault("simulation", {}), dict):
        tree["simulation"].update(simulation)
        changed += [f"simulation.{key}" for key in simulation]
    loader = _Loader(written, base, here, frozenset(changed))
    return loader.experiment(tree, path.name.removesuffix(path.suffix))


def from_tree(tree: dict[str, Any], *, source: str, name: str, cwd: Path) -> ExperimentConfig:
    """An experiment that was put together from flags rather than read from a file."""
    return _Loader(source, cwd, cwd, frozenset()).experiment(tree, name)


def _is_workload_id(name: str) -> bool:
    """An id stands before the ``!`` of a job's."""
    return name.isprintable() and not any(letter == "!" or letter.isspace() for letter in name)


class _Loader:
    """Turns the tree of one file into a config.

    Args:
        base: folder of the file.
        cwd: folder of paths among the *changed* keys.
    """

    def __init__(self, source: str, base: Path, cwd: Path, changed: frozenset[str]) -> None:
        self.source = source
        self.base = base
        self.cwd = cwd
        self.changed = changed

    def experiment(self, tree: dict[str, Any], name: str) -> ExperimentConfig:
        top = Table(tree, "", self.source)
        platform = self._platform(top.table("platform"))
        simulation = self._simulation(top.table("simulation"))
        workload_tables = top.tables("workload")
        schedulers = {key: self._scheduler(key, table) for key, table in top.named_tables("scheduler")}
        broker = self._broker(top.table("broker"), list(schedulers)) if "broker" in top else None
        serving = serving_config(top.table("serving"), self._file) if "serving" in top else None
        output, seed = top.text("output"), top.integer("seed", 0, 0)
        top.value("broker")
        top.value("serving")
        top.finish()
        if not schedulers:
            raise top.fail("scheduler", 'there must be one, such as [scheduler.easy] algorithm = "easy"')
        if len(schedulers) > 1 and broker is None:
            many = ", ".join(schedulers)
            problem = f'several schedulers ({many}) need a broker between, such as [broker] policy = "bebida"'
            raise top.fail("scheduler", problem)
        if not workload_tables and not self._registers_jobs(simulation, schedulers):
            raise top.fail("workload", 'there must be at least one, such as [[workload]] file = "log.swf"')
        self._one_each(top, schedulers)
        workloads = self._workloads(workload_tables, list(schedulers), broker.routes if broker else {})
        refuse_broker(workloads, broker=broker is not None, source=self.source)
        return ExperimentConfig(
            name=name,
            source=self.source,
            platform=platform,
            simulation=simulation,
            workloads=workloads,
            schedulers=schedulers,
            output=self._folder("output") / output if output is not None else None,
            seed=seed or 0,
            broker=broker,
            serving=serving,
        )

    def _broker(self, table: Table, schedulers: list[str]) -> BrokerConfig:
        policy = table.text("policy")
        if policy is None:
            raise table.fail("policy", 'there must be one, such as policy = "bebida"')
        if BROKER in schedulers:
            raise InputError(
                "a scheduler behind a broker cannot be called 'broker'",
                source=self.source,
                path="scheduler.broker",
            )
        policy = with_hand_over(policy, table)
        routes_table = table.table("routes")
        routes = {workload: routes_table.text(workload) or "" for workload in routes_table.tree}
        for workload, scheduler in routes.items():
            if not _is_workload_id(workload) or "=" in workload:
                raise routes_table.fail(workload, "is no workload id: it must hold no '!', '=' or blank")
            if scheduler not in schedulers:
                known = ", ".join(schedulers)
                raise routes_table.fail(workload, f"there is no [scheduler.{scheduler}] (there are: {known})")
        table.finish()
        return BrokerConfig(policy, self._folder(table.place("policy")), routes)

    @staticmethod
    def _one_each(top: Table, schedulers: dict[str, SchedulerConfig]) -> None:
        """A process serves one conversation: no endpoint can be that of two schedulers."""
        endpoints = {name: known.endpoint for name, known in schedulers.items() if known.endpoint is not None}
        if two := twice(endpoints):
            problem = f"is that of scheduler {two[0]} too ({endpoints[two[1]]}); each needs one of its own"
            raise top.fail(f"scheduler.{two[1]}.endpoint", problem)

    @staticmethod
    def _registers_jobs(simulation: SimulationConfig, schedulers: dict[str, SchedulerConfig]) -> bool:
        asked = (scheduler.dynamic_jobs for scheduler in schedulers.values())
        return any(simulation.dynamic_jobs if own is None else own for own in asked)

    # ------------------------------------------------------------------ files

    def _folder(self, place: str) -> Path:
        """Folder that a relative path under the key *place* starts from."""
        prefixes = (key for key in self.changed if place == key or place.startswith((f"{key}.", f"{key}[")))
        return self.base if next(prefixes, None) is None else self.cwd

    def _file(self, written: str, place: str, *endings: str) -> InputFile:
        try:
            return InputFile(written, locate(written, self._folder(place), *endings))
        except InputError as why:
            raise InputError(f"{written!r}: {why.problem}", source=self.source, path=place) from None

    def _one_file(self, table: Table, key: str, *endings: str) -> InputFile | None:
        written = table.text(key)
        return None if written is None else self._file(written, table.place(key), *endings)

    # ------------------------------------------------------------------ tables

    def _platform(self, table: Table) -> PlatformConfig:
        config = PlatformConfig(
            file=self._one_file(table, "file", ".xml"),
            hosts=table.integer("hosts", None, 1),
            cores=table.integer("cores", 1, 1) or 1,
            memory=self._quantity(table, "memory"),
            gpus=table.integer("gpus", 0, 0) or 0,
            speed=self._measure(table, "speed", "76.296Mf"),
            master=table.text("master"),
            roles=self._roles(table.table("roles")),
            cluster=table.integer("cluster", None, 1),
            racks=table.text("racks"),
            fat_tree=table.text("fat_tree"),
            bandwidth=self._measure(table, "bandwidth", "10Gbps"),
            latency=self._measure(table, "latency", "50us", least=0.0),
            backbone=self._measure(table, "backbone", "2.25GBps"),
            backbone_latency=self._measure(table, "backbone_latency", "500us", least=0.0),
            uplink=self._measure(table, "uplink", "40Gbps"),
        )
        table.finish()
        self._exactly_one(table, "file", "hosts", "cluster", "racks", "fat_tree")
        for key in ("master", "roles"):
            if key in table and "file" not in table:
                raise table.fail(key, "is only for platforms read from a file")
        if "speed" in table and "file" in table:
            raise table.fail("speed", "is not for platforms read from a file")
        self._check_links(table, config)
        return config

    @staticmethod
    def _check_links(table: Table, config: PlatformConfig) -> None:
        """What a kind of platform says about links must be what it has."""
        links = ("bandwidth", "latency", "backbone", "backbone_latency", "uplink")
        if not any(key in table for key in ("cluster", "racks", "fat_tree", *links)):
            return
        from batpy.platforms import blueprint

        kind = next((kind for kind in blueprint.KINDS if kind in table), None)
        for key in links:
            kinds = [name for name, known in blueprint.LINKS.items() if key in known]
            if key in table and kind not in kinds:
                raise table.fail(key, f"is only for platforms given as {' or '.join(kinds)}")
        if "backbone_latency" in table and "backbone" not in table:
            raise table.fail("backbone_latency", "needs a backbone")
        try:
            if config.racks is not None:
                blueprint.rack_shape(config.racks)
            elif config.fat_tree is not None:
                blueprint.fat_tree_shape(config.fat_tree)
        except ValueError as why:
            raise table.fail(kind or "", str(why)) from None

    def _quantity(self, table: Table, key: str) -> int | None:
        value = table.value(key)
        if isinstance(value, str):
            from batpy.platforms.units import size_bytes

            try:
                return size_bytes(value)
            except ValueError as why:
                raise table.fail(key, str(why)) from None
        return table.integer(key, None, 0)

    @staticmethod
    def _measure(table: Table, key: str, example: str, least: float | None = None) -> float | None:
        """A speed, bandwidth or latency: a number, or a text with a unit as in platform files.

        Args:
            least: smallest value; None for anything above 0.
        """
        value = table.value(key)
        if value is None:
            return None
        from batpy.platforms.units import BANDWIDTHS, FLOPS, TIMES, quantity

        units = FLOPS if key == "speed" else TIMES if "latency" in key else BANDWIDTHS
        try:
            number = quantity(value if isinstance(value, str) else repr(value), units, example)
        except ValueError as why:
            raise table.fail(key, str(why)) from None
        if least is None and not number:
            raise table.fail(key, "must be above 0")
        return number

    @staticmethod
    def _roles(table: Table) -> dict[str, str]:
        return {name: table.text(name) or "" for name in table.tree}

    def _simulation(self, table: Table) -> SimulationConfig:
        config_text = table.value("sched_config")
        if config_text is not None and not isinstance(config_text, str):
            raise table.fail("sched_config", f"must be a text, got {config_text!r}")
        events = [self._file(file, table.place("events"), ".txt") for file in table.texts("events")]
        config = SimulationConfig(
            time_step=table.seconds("time_step", 0.0),
            resolution=table.integer("resolution", DEFAULT_TICKS_PER_SECOND, 1, 10**9)
            or DEFAULT_TICKS_PER_SECOND,
            codec=cast(Literal["json", "msgpack"], table.choice("codec", ("json", "msgpack"), "json")),
            latency=table.seconds("latency", 0.0),
            events=tuple(events),
            mmax=table.integer("mmax", 0, 0) or 0,
            mmax_workload=table.switch("mmax_workload", False),
            dynamic_jobs=table.switch("dynamic_jobs", False),
            acknowledge_dynamic_jobs=table.switch("acknowledge_dynamic_jobs", False),
            profile_reuse=table.switch("profile_reuse", False),
            forward_profiles=table.switch("forward_profiles", False),
            compute_sharing=table.switch("compute_sharing", False),
            storage_sharing=table.switch("storage_sharing", True),
            strict=table.switch("strict", True),
            deadline=table.seconds("deadline", DEFAULT_DEADLINE),
            sched_config=config_text or "",
            forward_unknown_events=table.switch("forward_unknown_events", False),
            float6=table.switch("float6", False),
            split_kill_ack=table.switch("split_kill_ack", False),
            energy=table.switch("energy", False) or None,
        )
        table.finish()
        for key in ("time_step", "latency"):
            seconds = getattr(config, key)
            if seconds and not round(seconds * config.resolution):
                ticks = f"{config.resolution} ticks a second"
                raise table.fail(key, f"is shorter than a tick ({ticks}), got {seconds!r}")
        return config

    def _workloads(
        self, tables: list[Table], schedulers: list[str], routes: Mapping[str, str]
    ) -> tuple[WorkloadConfig, ...]:
        found: dict[str, WorkloadConfig] = {}
        for index, table in enumerate(tables):
            config = self._workload(table, f"w{index}", schedulers, routes)
            if config.id in found:
                raise table.fail("id", f"there is already a workload {config.id!r}")
            found[config.id] = config
        return tuple(found.values())

    def _workload(
        self, table: Table, default_id: str, schedulers: list[str], routes: Mapping[str, str]
    ) -> WorkloadConfig:
        name = table.text("id") or default_id
        if not _is_workload_id(name):
            rule = "must hold no '!', blank or control character"
            raise table.fail("id", f"{rule}, got {shown(name)}")
        kind = table.choice("kind", KINDS, "jobs")
        if kind == "pipelines":
            raise table.fail("kind", "'pipelines' comes in a later version; batpy pipelines runs them")
        said, routed = table.text("scheduler"), routes.get(name)
        if said is None and routed is None and len(schedulers) > 1:
            known = ", ".join(schedulers)
            raise table.fail("scheduler", f"workload {name!r} has no scheduler; name one of {known}")
        scheduler = said or routed or schedulers[0]
        if routed not in (None, scheduler):
            problem = f"workload {name!r} is routed to both {scheduler} and {routed} (broker.routes.{name})"
            raise table.fail("scheduler", problem)
        if scheduler not in schedulers:
            known = ", ".join(schedulers)
            raise table.fail("scheduler", f"there is no [scheduler.{scheduler}] (there are: {known})")
        config = WorkloadConfig(
            id=name,
            file=self._one_file(table, "file", *WORKLOAD_ENDINGS),
            generator=table.text("generator"),
            swf=self._swf(table.table("swf")),
            scheduler=scheduler,
            kind=None if kind == "jobs" else kind,
        )
        table.finish()
        self._exactly_one(table, "file", "generator")
        if config.swf and config.file is None:
            raise table.fail("swf", "is only for workloads read from a file")
        if config.swf and config.kind is not None:
            raise table.fail("swf", "is only for workloads of jobs")
        return config

    def _swf(self, table: Table) -> dict[str, Any]:
        if table.tree:
            from batpy.workloads.swf_options import SwfOptions

            try:
                SwfOptions.from_mapping(table.tree, table.path)
            except InputError as why:
                raise InputError(why.problem, source=self.source, path=why.path) from None
        return dict(table.tree)

    def _scheduler(self, name: str, table: Table) -> SchedulerConfig:
        if not _FILE_NAME.fullmatch(name):
            rule = (
                "its name becomes part of a file name: ASCII letters, digits, '_', '-' and '.', at most 100"
            )
            raise table.fail("", f"{rule}, got {shown(name)}")
        algorithm, endpoint = table.text("algorithm"), table.text("endpoint")
        if endpoint is not None:
            from batpy.transport.endpoint import check_endpoint

            try:
                check_endpoint(endpoint, bind=False)
            except InputError as why:
                raise table.fail("endpoint", f"{endpoint!r}: {why.problem}") from None
        compat = table.text("compat")
        if compat not in (None, "pybatsim"):
            raise table.fail("compat", f"must be 'pybatsim', got {compat!r}")
        config = SchedulerConfig(
            name=name,
            algorithm=algorithm,
            endpoint=endpoint,
            base=self._folder(table.place("algorithm")),
            wants=self._wants(table),
            compat=compat,
            dynamic_jobs=table.optional_switch("dynamic_jobs"),
            acknowledge_dynamic_jobs=table.optional_switch("acknowledge_dynamic_jobs"),
            profile_reuse=table.optional_switch("profile_reuse"),
            forward_profiles=table.optional_switch("forward_profiles"),
            split_kill_ack=table.optional_switch("split_kill_ack"),
            droppable=table.optional_switch("droppable"),
        )
        table.finish()
        self._exactly_one(table, "algorithm", "endpoint")
        return config

    @staticmethod
    def _wants(table: Table) -> tuple[str, ...]:
        wanted = table.texts("wants")
        for word in wanted:
            if word not in WANTS:
                raise table.fail("wants", f"choose from {', '.join(WANTS)}; got {shown(word)}")
        return wanted

    @staticmethod
    def _exactly_one(table: Table, *keys: str) -> None:
        given = [key for key in keys if key in table]
        if len(given) != 1:
            *most, last = map(repr, keys)
            told = f"given are {' and '.join(map(repr, given))}" if given else "none is given"
            if len(keys) == 2:
                told = "both are given" if given else "neither is given"
            raise table.fail("", f"must have exactly one of {', '.join(most)} and {last}; {told}")
