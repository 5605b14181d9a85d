"""Parameters of a pipeline run: Eudoxia's flat TOML file or an equal table, with its defaults and units."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_type_hints

from batpy.base.errors import InputError
from batpy.base.files import read_toml

COMPAT_KEY = "compat"
OWN_KEYS = (
    COMPAT_KEY,
    "cost_per_container_second",
    "container_start_seconds",
    "remote_read_gb_per_second",
    "shared_storage_gb_per_second",
)
"""Keys that the original does not have; policies and external schedulers never see them."""
MAX_TICKS = 10**18
PROBABILITY_NOISE = 1e-9
"""How far the priority mix may be from 1 where the original's exact comparison is not asked for."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Everything a run is told, under the original's names.

    Attributes:
        duration: simulated seconds.
        ticks_per_second: resolution; any positive whole number.
        scheduler_algo: key of a registered scheduler, or ``rest``.
        num_pools: identical pools.
        cpus_per_pool: CPUs of each.
        ram_gb_per_pool: memory of each, in GB.
        rest_scheduler_addr: HOST:PORT of an external scheduler.
        rest_poll_interval: simulated seconds between calls when nothing happens.
        multi_operator_containers: whether a container may hold several operators.
        allow_memory_overcommit: whether memory may be promised more than once.
        waiting_seconds_mean: mean gap between two batches of arrivals, in seconds.
        num_pipelines: pipelines in a batch.
        num_operators: mean operators of a pipeline that is no query.
        num_segs: segments of an operator; 1 is the only value.
        interactive_prob, query_prob, batch_prob: mix of priorities.
        dag_linear_prob, dag_branch_in_prob, dag_branch_out_prob: weights of the shapes.
        cpu_io_ratio: 0 for work that mostly reads, 1 for work that mostly computes.
        random_seed: of the generator and of the noisy estimator.
        max_job_seconds: time limit of a pipeline after its arrival; 0 for none.
        estimator_algo: key of a registered estimator, or empty.
        noisy_estimator_sigma: sigma of the estimator's lognormal error.
        compat: ``eudoxia`` for the original's behaviour with its faults, empty for the repaired one.
        cost_per_container_second: price of a second of a container, in any currency.
        container_start_seconds: time from the start of a container to the start of its first operator.
        remote_read_gb_per_second: speed of reading for an operator with a parent that was completed in
            another pool; 0 if that makes no difference.
        shared_storage_gb_per_second: bandwidth of one storage that all containers read from and are written
            out to, each at its own speed at most; when they ask for more, all are slowed by the same factor.
            0 if each has a disk of its own.
    """

    duration: float = 600
    ticks_per_second: int = 1000
    waiting_seconds_mean: float = 10.0
    num_pipelines: int = 4
    num_operators: float = 5
    num_segs: int = 1
    interactive_prob: float = 0.3
    query_prob: float = 0.1
    batch_prob: float = 0.6
    dag_linear_prob: float = 1.0
    dag_branch_in_prob: float = 0.0
    dag_branch_out_prob: float = 0.0
    cpu_io_ratio: float = 0.5
    scheduler_algo: str = "priority"
    rest_scheduler_addr: str = "localhost:8080"
    rest_poll_interval: float = 1.0
    num_pools: int = 8
    cpus_per_pool: float = 64
    ram_gb_per_pool: float = 256
    multi_operator_containers: bool = True
    allow_memory_overcommit: bool = False
    random_seed: int = 42
    max_job_seconds: float = 0
    estimator_algo: str = ""
    noisy_estimator_sigma: float = 0.0
    compat: Literal["", "eudoxia"] = ""
    cost_per_container_second: float = 0.0
    container_start_seconds: float = 0.0
    remote_read_gb_per_second: float = 0.0
    shared_storage_gb_per_second: float = 0.0

    @property
    def is_compat(self) -> bool:
        """Whether the original's behaviour is wanted with its faults."""
        return self.compat == "eudoxia"

    @property
    def tick_length(self) -> float:
        """Seconds of a tick, the double ``1.0 / ticks_per_second``."""
        return 1.0 / self.ticks_per_second

    @property
    def max_ticks(self) -> int:
        """Ticks of the run, numbered from 0."""
        return int(self.duration * self.ticks_per_second)

    @property
    def limit_ticks(self) -> int:
        """Ticks that a pipeline may take; 0 for no limit."""
        return int(self.max_job_seconds * self.ticks_per_second)

    def as_dict(self) -> dict[str, Any]:
        """Names and values in the original's order, without our own keys."""
        names = (field.name for field in dataclasses.fields(self))
        return {name: getattr(self, name) for name in names if name not in OWN_KEYS}


FIELDS = {field.name: field for field in dataclasses.fields(Parameters)}
_HINTS = get_type_hints(Parameters)


@dataclass(frozen=True, slots=True)
class ParameterFile:
    """What a parameter file or table said.

    Attributes:
        parameters: its values, defaults filled in.
        given: the keys it had, in its order, unknown ones included (the original shows them to policies).
        unknown: those of them that mean nothing, each with a hint.
    """

    parameters: Parameters
    given: Mapping[str, Any]
    unknown: tuple[str, ...]


def read_parameters(
    source: str | Path | Mapping[str, Any], *, compat: str | None = None, name: str | None = None
) -> ParameterFile:
    """Read a parameter file or table.

    Args:
        source: a TOML file, or the table itself.
        compat: instead of the key of that name.
        name: what complaints call the source.

    Raises:
        InputError: naming the file and the key whose value cannot be used.
    """
    if isinstance(source, Mapping):
        table, name = dict(source), name or "parameters"
    else:
        name = name or str(source)
        table = read_toml(source, name)
    given = dict(table)
    if compat is not None:
        table[COMPAT_KEY] = compat
    values = {key: _checked(key, value, name) for key, value in table.items() if key in FIELDS}
    parameters = Parameters(**values)
    check_parameters(parameters, name)
    unknown = tuple(_with_hint(key) for key in table if key not in FIELDS)
    return ParameterFile(parameters, given, unknown)


def is_flat(table: Mapping[str, Any]) -> bool:
    """Whether a TOML table has no tables inside, as parameter files have none."""
    return not any(isinstance(value, (dict, list)) for value in table.values())


def is_parameter_path(path: str) -> bool:
    """Whether *path* is a parameter file: readable, flat, and with a key that only these files have."""
    if not Path(path).is_file():
        return False
    try:
        table = read_toml(path)
    except InputError:
        return False
    return is_flat(table) and any(key in FIELDS for key in table)


def _with_hint(key: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(key, FIELDS, n=1)
    return f"{key} (did you mean {close[0]}?)" if close else key


def _checked(key: str, value: Any, name: str) -> Any:
    """The value as it is if its type fits; the original keeps an int where a float would do."""
    kind = _HINTS[key]
    if kind is bool:
        fits, want = isinstance(value, bool), "true or false"
    elif kind is str:
        fits, want = isinstance(value, str), "a text"
    elif kind is int:
        fits, want = isinstance(value, int) and not isinstance(value, bool), "a whole number"
    elif kind is float:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15
        want = "a finite number below 1e15"
    else:
        fits, want = value in ("", "eudoxia"), "'eudoxia' or an empty text"
    if not fits:
        raise InputError(f"must be {want}, got {value!r}", source=name, path=key)
    return 0.0 if kind is float and value == 0 and isinstance(value, float) else value  # no -0.0


_AT_LEAST: dict[str, float] = {
    "ticks_per_second": 1,
    "num_pipelines": 0,
    "num_pools": 1,
    "random_seed": 0,
    "duration": 0,
    "waiting_seconds_mean": 0,
    "rest_poll_interval": 0,
    "max_job_seconds": 0,
    "num_operators": 0,
    "cpus_per_pool": 0,
    "ram_gb_per_pool": 0,
    "cost_per_container_second": 0,
    "container_start_seconds": 0,
    "remote_read_gb_per_second": 0,
    "shared_storage_gb_per_second": 0,
}
_AT_MOST: dict[str, float] = {
    "ticks_per_second": 10**9,
    "num_pools": 10**6,
    "num_pipelines": 10**7,
    "num_operators": 10**6,
}


def check_parameters(parameters: Parameters, name: str) -> None:
    """Refuse values outside their ranges.

    The original checks the mix of priorities and ``cpu_io_ratio`` in every run, and compares the mix with 1
    exactly (0.6 + 0.3 + 0.1 is 0.9999999999999999 and fails); that comparison is kept in compat mode.
    """
    for key, least in _AT_LEAST.items():
        if (value := getattr(parameters, key)) < least:
            raise InputError(f"must be at least {least}, got {value}", source=name, path=key)
    for key, most in _AT_MOST.items():
        if (value := getattr(parameters, key)) > most:
            raise InputError(f"must be at most {most}, got {value}", source=name, path=key)
    if parameters.duration * parameters.ticks_per_second > MAX_TICKS:
        told = f"duration times ticks_per_second must be at most {MAX_TICKS:g}"
        raise InputError(told, source=name, path="duration")
    total = parameters.interactive_prob + parameters.query_prob + parameters.batch_prob
    wrong = total != 1 if parameters.is_compat else not abs(total - 1) <= PROBABILITY_NOISE
    if wrong:
        told = f"Probabilities must sum to 1: interactive_prob + query_prob + batch_prob is {total!r}"
        raise InputError(told, source=name, path="interactive_prob")
    if not 0 <= parameters.cpu_io_ratio <= 1:
        raise InputError("CPU IO ratio must be between 0 and 1", source=name, path="cpu_io_ratio")
