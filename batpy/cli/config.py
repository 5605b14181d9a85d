"""What a run is made of, as one frozen tree: the resolved form of an experiment file or of flags.

Structs rather than dataclasses because defining them costs nothing, and every start pays for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from batpy.kernel.ticks import DEFAULT_TICKS_PER_SECOND

if TYPE_CHECKING:
    from batpy.platforms.blueprint import Blueprint

DEFAULT_DEADLINE = 60.0
BROKER = "broker"
"""Stands for all schedulers at once where the simulator sees one; no scheduler may be called so."""

NAMELESS = "scheduler"
"""Name of the scheduler of ``batpy simulate``, whose flags give it none: its endpoint tells it apart."""


class InputFile(msgspec.Struct, frozen=True):
    """A file a user names.

    Attributes:
        written: as the user wrote it, for complaints and the wire.
        path: where it lies, for opening it.
    """

    written: str
    path: Path

    @property
    def told(self) -> str:
        """How journal and results name it: as written, but never a place of this machine."""
        written = Path(self.written)
        return written.name if written.is_absolute() else self.written


class PlatformConfig(msgspec.Struct, frozen=True):
    """``[platform]``: one of ``file``, ``hosts``, ``cluster``, ``racks`` and ``fat_tree``.

    Attributes:
        cores, memory, gpus: per host; with a file, for hosts that do not say it themselves. Memory in bytes.
        speed: flops per second and core, not with ``file``; None for the default.
        master: name of the master, with ``file`` only (Batsim's ``-m``).
        roles: host name to role, with ``file`` only (Batsim's ``-r``).
        cluster: number of hosts around a switch.
        racks, fat_tree: shapes as ``batpy.platforms.blueprint`` reads them.
        bandwidth, latency, backbone, backbone_latency, uplink: of the links of these three.
    """

    file: InputFile | None = None
    hosts: int | None = None
    cores: int = 1
    memory: int | None = None
    gpus: int = 0
    speed: float | None = None
    master: str | None = None
    roles: Mapping[str, str] = {}
    cluster: int | None = None
    racks: str | None = None
    fat_tree: str | None = None
    bandwidth: float | None = None
    latency: float | None = None
    backbone: float | None = None
    backbone_latency: float | None = None
    uplink: float | None = None

    @property
    def source(self) -> int | Path | Blueprint:
        """What ``batpy.platforms.load.load_platform`` takes."""
        if self.file is not None:
            return self.file.path
        if self.hosts is not None:
            return self.hosts
        from batpy.platforms.blueprint import KINDS, Blueprint

        # The loader accepts no platform without one of them.
        kind = next(kind for kind in KINDS if getattr(self, kind) is not None)
        return Blueprint(
            kind,
            str(getattr(self, kind)),
            self.bandwidth,
            self.latency,
            self.backbone,
            self.backbone_latency,
            self.uplink,
        )


class SimulationConfig(msgspec.Struct, frozen=True):
    """``[simulation]``, and the flags of ``batpy simulate``.

    Attributes:
        time_step: seconds between consultations of the scheduler; 0 for every event.
        resolution: ticks per second.
        codec: of messages between processes.
        latency: seconds each message between simulator and scheduler takes in simulated time.
        events: files of external events.
        mmax: keep the first so many compute hosts; 0 for all.
        mmax_workload: ``mmax`` is what the workloads say they were made for.
        forward_profiles: JOB_SUBMITTED carries the profile.
        strict: a decision that breaks a rule ends the run; else it changes nothing and the run goes on.
        deadline: wall-clock seconds a scheduler may take to appear or to answer; 0 for ever.
        sched_config: text handed to the scheduler at the beginning.
        float6: JSON numbers with six decimals, as Batsim writes them.
        split_kill_ack: JOB_KILLED names only jobs that were still running.
        energy: hosts consume energy and have pstates; None for no, since experiments from before say nothing.
    """

    time_step: float = 0.0
    resolution: int = DEFAULT_TICKS_PER_SECOND
    codec: Literal["json", "msgpack"] = "json"
    latency: float = 0.0
    events: tuple[InputFile, ...] = ()
    mmax: int = 0
    mmax_workload: bool = False
    dynamic_jobs: bool = False
    acknowledge_dynamic_jobs: bool = False
    profile_reuse: bool = False
    forward_profiles: bool = False
    compute_sharing: bool = False
    storage_sharing: bool = True
    strict: bool = True
    deadline: float = DEFAULT_DEADLINE
    sched_config: str = ""
    forward_unknown_events: bool = False
    float6: bool = False
    split_kill_ack: bool = False
    energy: bool | None = None


class WorkloadConfig(msgspec.Struct, frozen=True):
    """One ``[[workload]]``: either ``file`` or ``generator``.

    Attributes:
        id: name on the wire; ``w0``, ``w1``, ... by default.
        generator: such as ``lublin[jobs=1000]``.
        swf: options of the SWF reader, by name.
        scheduler: name of the scheduler that gets its jobs.
        kind: ``requests``, or None for jobs.
    """

    id: str
    file: InputFile | None
    generator: str | None
    swf: Mapping[str, Any]
    scheduler: str
    kind: str | None = None


class ServingConfig(msgspec.Struct, frozen=True):
    """``[serving]``: the emulated GPU workers, one on each host with GPUs.

    Attributes:
        config: memory of a worker, as in Clockwork's ``default.cfg``; None for its defaults.
        models: folder of model files; ``tables``: JSON files of models by name.
        like: ``requirement``, or ``real`` or ``dummy`` to do as those do where they differ.
        require_profile: refuse models without measurements; else they take no time.
        jitter: how durations vary, see ``batpy.models.inference.jitter``; empty for not at all.
    """

    config: InputFile | None = None
    models: InputFile | None = None
    tables: tuple[InputFile, ...] = ()
    like: str = "requirement"
    require_profile: bool = True
    jitter: Mapping[str, float] = {}


class SchedulerConfig(msgspec.Struct, frozen=True):
    """``[scheduler.NAME]``: either ``algorithm``, to have one started, or ``endpoint`` of one that runs.

    Attributes:
        algorithm: such as ``easy[order=sjf]`` or ``policy.py:Mine``.
        base: folder that relative paths inside ``algorithm`` start from.
        wants: protocol extensions asked for on behalf of a peer that cannot ask.
        compat: ``pybatsim`` for peers built on it.
        dynamic_jobs, acknowledge_dynamic_jobs, profile_reuse, forward_profiles, split_kill_ack: None where
            ``[simulation]`` decides.
        droppable: behind a broker, the run goes on without it when it fails.
    """

    name: str
    algorithm: str | None
    endpoint: str | None
    base: Path
    wants: tuple[str, ...] = ()
    compat: str | None = None
    dynamic_jobs: bool | None = None
    acknowledge_dynamic_jobs: bool | None = None
    profile_reuse: bool | None = None
    forward_profiles: bool | None = None
    split_kill_ack: bool | None = None
    droppable: bool | None = None

    @property
    def title(self) -> str:
        """What complaints call it."""
        if self.name == BROKER:
            return "the broker"
        return "the scheduler" if self.name == NAMELESS else f"scheduler {self.name}"


class BrokerConfig(msgspec.Struct, frozen=True):
    """``[broker]``: what stands between the simulator and the schedulers.

    Attributes:
        policy: with everything that ``[broker.prolog]`` and ``[broker.epilog]`` say in its options.
        base: folder that a policy's file starts from.
        routes: workloads that appear at run time, by the name of their scheduler.
    """

    policy: str
    base: Path
    routes: Mapping[str, str] = {}


class ExperimentConfig(msgspec.Struct, frozen=True):
    """A whole experiment.

    Attributes:
        name: the experiment file's name without its ending.
        source: the experiment file as the user named it; empty for a run from flags.
        output: folder of the results if the file names one.
        seed: of every random stream.
        broker: None where the only scheduler is asked directly.
        serving: what ``[serving]`` says, if it is there.
    """

    name: str
    source: str
    platform: PlatformConfig
    simulation: SimulationConfig
    workloads: tuple[WorkloadConfig, ...]
    schedulers: Mapping[str, SchedulerConfig]
    output: Path | None = None
    seed: int = 0
    broker: BrokerConfig | None = None
    serving: ServingConfig | None = None

    def to_tree(self) -> dict[str, Any]:
        """The experiment as plain objects for ``experiment.json``, in the words of the experiment file.

        Files are named as in the journal, and neither the place of the experiment nor that of its output is
        told: the same experiment gives the same bytes anywhere.
        """
        tree = {
            "name": self.name,
            "seed": self.seed,
            "platform": _plain(self.platform),
            "simulation": _plain(self.simulation),
            "workload": [_plain(workload) for workload in self.workloads],
            "scheduler": {name: _plain(scheduler) for name, scheduler in self.schedulers.items()},
        }
        if self.broker is not None:
            tree["broker"] = _plain(self.broker)
        if self.serving is not None:
            tree["serving"] = _plain(self.serving)
        return tree


# Where files lie and what the table's name already says is not part of an experiment.
_UNTOLD = ("base", "name")


def _plain(value: Any) -> Any:
    if isinstance(value, InputFile):
        return value.told
    if isinstance(value, msgspec.Struct):
        pairs = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return {name: _plain(part) for name, part in pairs if part is not None and name not in _UNTOLD}
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    return value
