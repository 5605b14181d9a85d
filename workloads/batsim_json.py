"""Reader of Batsim's JSON workloads, with the rules of Batsim 4.2.1 and the names of all its versions."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from batpy.base.dates import MAX_SECONDS, nearest_tick
from batpy.base.errors import InputError
from batpy.workloads.files import read_bytes
from batpy.workloads.job import Job
from batpy.workloads.job_object import parse_job, refuse_large_integers
from batpy.workloads.profile import Composed, Parallel, Profile, Recv, UsageTrace, parse_profile
from batpy.workloads.seconds import DEFAULT_TICKS_PER_SECOND, MAX_INTEGER
from batpy.workloads.sequences import reachable, refuse_deep_nesting

# Kinds of id, subtime, res, profile, walltime, user and queue in a job object that needs no second look.
_PLAIN = frozenset(product((str, int), (int, float), (int,), (str,), (int, float), (str, int), (str, int)))


class BatsimWorkload:
    """The jobs and profiles of a Batsim JSON workload.

    Attributes:
        profiles: those that a job leads to, in the order of the file; the others are dropped, as Batsim does.
        taken_names: every profile name of the file; a profile may not be registered under one of them later.
        header: the other keys at the top of the file, such as ``description``.
        ticks_per_second: resolution of the jobs' dates.
    """

    streamed = False
    preceding: Mapping[str, tuple[str, int]] = MappingProxyType({})
    max_procs: int | None = None

    def __init__(
        self,
        id: str,
        source: str,
        nb_res: int | None,
        jobs: list[Job],
        profiles: Mapping[str, Profile],
        taken_names: frozenset[str],
        header: Mapping[str, Any],
        ticks_per_second: int,
    ) -> None:
        self.id = id
        self.source = source
        self.nb_res = nb_res
        self.profiles = profiles
        self.taken_names = taken_names
        self.header = header
        self.ticks_per_second = ticks_per_second
        self._jobs = jobs

    def __len__(self) -> int:
        return len(self._jobs)

    def jobs(self) -> Iterator[Job]:
        """Jobs by (submit, id as text); may be called again for a fresh pass."""
        return iter(self._jobs)

    def wider_than(self, hosts: int) -> int:
        """How many jobs ask for more than so many hosts."""
        return sum(job.res > hosts for job in self._jobs)

    def report(self) -> list[str]:
        """Nothing is left out: what breaks a rule is refused."""
        return []


def read_batsim_json(
    path: str | Path,
    id: str = "w0",
    *,
    source: str | None = None,
    ticks_per_second: int = DEFAULT_TICKS_PER_SECOND,
) -> BatsimWorkload:
    """Read a Batsim JSON workload, plain, gzipped or zipped.

    Args:
        path: the file.
        id: workload id; a job's ``id`` may carry it as ``id!name``.
        source: the file's name as the user wrote it.
        ticks_per_second: the run's resolution.

    Raises:
        InputError: not JSON (with its line), not a Batsim workload, or a field that breaks a rule of Batsim
            4.2.1, with its path.
    """
    source = source if source is not None else str(path)
    return parse_batsim_json(
        read_bytes(path, source),
        id,
        source=source,
        ticks_per_second=ticks_per_second,
        folder=Path(path).parent,
    )


def parse_batsim_json(
    content: bytes,
    id: str,
    *,
    source: str,
    ticks_per_second: int = DEFAULT_TICKS_PER_SECOND,
    folder: Path | None = None,
) -> BatsimWorkload:
    """As :func:`read_batsim_json`, from the file's content.

    Args:
        folder: where the trace files that profiles name are looked for; None leaves them unread.
    """
    content = content.removeprefix(BOM_UTF8)  # which some editors write
    tree = _decode(content, dict[str, msgspec.Raw], content, source)
    jobs = _member(tree, "jobs", list, content, source)
    _refuse_relatives(tree, jobs, source)
    nb_res = _nb_res(tree, content, source)
    raws = _member(tree, "profiles", dict, content, source)
    refuse_large_integers({"jobs": jobs, "profiles": raws}, source)
    _refuse_duplicate_names(bytes(tree["profiles"]), raws, source)
    profiles = {name: parse_profile(name, raw, source=source) for name, raw in raws.items()}
    _refuse_unknown_parts(profiles, source)
    parsed = _jobs(jobs, id, profiles, source, ticks_per_second)
    try:
        used = set(reachable(profiles, dict.fromkeys(job.profile for job in parsed)))
        # A loop among unused profiles is a mistake as well.
        refuse_deep_nesting(profiles, reachable(profiles, profiles))
    except InputError as why:
        raise InputError(why.problem, source=source, path=why.path) from None
    _check_parts(parsed, profiles, source)
    parsed.sort(key=lambda job: (job.submit, job.id))
    header = {
        key: _decode(bytes(value), Any, content, source)
        for key, value in tree.items()
        if key not in ("jobs", "profiles", "nb_res")
    }
    kept = {name: profile for name, profile in profiles.items() if name in used}
    if folder is not None:
        _read_traces(kept, folder, source)
    return BatsimWorkload(id, source, nb_res, parsed, kept, frozenset(profiles), header, ticks_per_second)


def _decode(part: bytes, kind: Any, content: bytes, source: str) -> Any:
    """Decode JSON; complaints give the line in the whole file."""
    try:
        return msgspec.json.decode(part, type=kind)
    except msgspec.ValidationError as why:
        raise InputError(
            f"not a Batsim workload: want an object with jobs and profiles ({why})", source=source
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as why:
        raise _syntax_error(content, why, source) from None


def _syntax_error(content: bytes, why: Exception, source: str) -> InputError:
    try:
        json.loads(content, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        return InputError(f"not JSON: {error.msg} (column {error.colno})", source=source, line=error.lineno)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return InputError(f"not JSON: not UTF-8 ({error.reason})", source=source, line=line)
    except _ConstantError as error:
        place = re.search(rb"[:\[,]\s*" + re.escape(str(error).encode()), content)
        at = content.count(b"\n", 0, place.end()) + 1 if place else None
        return InputError(f"not JSON: {error} is not a number", source=source, line=at)
    except RecursionError:
        return InputError("not JSON: nested too deeply", source=source)
    except ValueError:
        return InputError("not JSON: a number has too many digits", source=source)
    return InputError(f"not JSON: {why}", source=source)


class _ConstantError(Exception):
    """NaN, Infinity or -Infinity, which Python's own reader would let pass."""


def _refuse_constant(text: str) -> None:
    raise _ConstantError(text)


def _member(tree: Mapping[str, msgspec.Raw], key: str, kind: type, content: bytes, source: str) -> Any:
    word = "a list" if kind is list else "an object"
    if key not in tree:
        problem = f"missing; a Batsim workload needs {word} of {key}"
        if "workflow" in tree:
            problem += " (this is a WfCommons workflow; batpy workload import makes jobs of it)"
        elif "applications" in tree:
            problem += " (this is a stage graph; batpy workload import makes jobs of it)"
        elif key == "profiles" and "jobs" in tree:
            jobs = _decode(bytes(tree["jobs"]), Any, content, source)
            _refuse_relatives(tree, jobs, source)
        raise InputError(problem, source=source, path=key)
    value = _decode(bytes(tree[key]), Any, content, source)
    if not isinstance(value, kind):
        raise InputError(f"must be {word}, got {type(value).__name__}", source=source, path=key)
    return value


def _refuse_relatives(tree: Mapping[str, msgspec.Raw], jobs: Any, source: str) -> None:
    """Name the formats that look like ours and are not."""
    first = jobs[0] if isinstance(jobs, list) and jobs else None
    if isinstance(first, Mapping) and "submit_time" in first and "subtime" not in first:
        raise InputError(
            "not a Batsim workload: jobs with submit_time and application models are ElastiSim's format, "
            "which is not supported; Batsim's jobs have id, subtime, res and profile",
            source=source,
            path="jobs[0]",
        )
    if "profiles" not in tree:
        raise InputError(
            "missing; a Batsim workload needs an object of profiles", source=source, path="profiles"
        )


def _nb_res(tree: Mapping[str, msgspec.Raw], content: bytes, source: str) -> int:
    if "nb_res" not in tree:
        raise InputError(
            "missing; the number of hosts the workload was made for is required", source=source, path="nb_res"
        )
    value = _decode(bytes(tree["nb_res"]), Any, content, source)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"must be an integer of at least 1, got {value!r}", source=source, path="nb_res")
    return value


def _refuse_duplicate_names(content: bytes, raws: Mapping[str, Any], source: str) -> None:
    """Two profiles of one name: the decoder keeps the last, Batsim 4.2.1 refuses the file."""
    # Each profile has one key "type", so only a surplus of them can hide a duplicate; looking is slow.
    if content.count(b'"type"') <= len(raws):
        return

    def once(pairs: list[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
        return tuple(pairs)

    seen = set()
    for name, _ in json.loads(content, object_pairs_hook=once):
        if name in seen:
            raise InputError("there are two profiles of this name", source=source, path=f"profiles.{name}")
        seen.add(name)


def _refuse_unknown_parts(profiles: Mapping[str, Profile], source: str) -> None:
    for name, profile in profiles.items():
        fields: list[tuple[str, str]] = []
        if isinstance(profile, Composed):
            fields = [(f"seq[{index}]", part) for index, part in enumerate(profile.seq)]
        elif isinstance(profile, Recv):
            answers = ("success", "failure", "timeout")
            fields = [(field, getattr(profile, field)) for field in answers if getattr(profile, field)]
        for field, part in fields:
            if part not in profiles:
                raise InputError(
                    f"{part!r} is not among the profiles", source=source, path=f"profiles.{name}.{field}"
                )


def _read_traces(profiles: dict[str, Profile], folder: Path, source: str) -> None:
    traced = [profile for profile in profiles.values() if isinstance(profile, UsageTrace)]
    if traced:
        from batpy.workloads.usage_trace import read_usage_trace

        for profile in traced:
            profiles[profile.name] = read_usage_trace(profile, folder, source)


def _jobs(
    raws: list[Any], id: str, profiles: Mapping[str, Profile], source: str, ticks_per_second: int
) -> list[Job]:
    jobs: list[Job] = []
    first_index: dict[str, int] = {}
    sized = {name for name, profile in profiles.items() if isinstance(profile, Parallel)}
    for index, raw in enumerate(raws):
        path = f"jobs[{index}]"
        job = _plain_job(raw, ticks_per_second) or parse_job(
            raw, workload=id, ticks_per_second=ticks_per_second, path=path, source=source
        )
        if first_index.setdefault(job.id, index) != index:
            raise InputError(
                f"{job.id!r} is the id of jobs[{first_index[job.id]}] already",
                source=source,
                path=f"{path}.id",
            )
        if job.profile not in profiles:
            raise _unknown_profiles(raws, profiles, index, source)
        if job.profile in sized:
            _check_size(job, profiles[job.profile], path, source)
        if "smpi_ranks_to_hosts_mapping" in job.raw:
            _check_ranks(job, path, source)
        jobs.append(job)
    return jobs


def _plain_job(raw: Any, scale: int) -> Job | None:
    """The job of an object with nothing unusual in it, or None: a third of the time of ``parse_job``."""
    if type(raw) is not dict:
        return None
    get: Callable[..., Any] = raw.get
    name, submit, res, profile, walltime = (
        get("id"),
        get("subtime"),
        get("res"),
        get("profile"),
        get("walltime", -1),
    )
    user, queue = get("user", ""), get("queue", "")
    kinds = (type(name), type(submit), type(res), type(profile), type(walltime), type(user), type(queue))
    if kinds not in _PLAIN:
        return None
    name = str(name)
    if not name or "!" in name or not 0 <= submit <= MAX_SECONDS or not 1 <= res <= MAX_INTEGER:
        return None
    if walltime > MAX_SECONDS or (walltime <= 0 and walltime != -1):
        return None
    limit = None if walltime < 0 else nearest_tick(walltime, scale) or 1
    return Job(name, nearest_tick(submit, scale), res, profile, limit, raw, None, str(user), str(queue))


def _unknown_profiles(
    raws: list[Any], profiles: Mapping[str, Profile], index: int, source: str
) -> InputError:
    """The first job without a profile, and every name that is missing."""
    wanted = [raw.get("profile") for raw in raws if isinstance(raw, Mapping)]
    missing = dict.fromkeys(name for name in wanted if isinstance(name, str) and name not in profiles)
    shown = ", ".join(map(repr, list(missing)[:10])) + (", ..." if len(missing) > 10 else "")
    return InputError(
        f"{wanted[index]!r} is not among the profiles ({len(missing)} missing: {shown})",
        source=source,
        path=f"jobs[{index}].profile",
    )


def _check_size(job: Job, profile: Profile, path: str, source: str) -> None:
    if isinstance(profile, Parallel) and len(profile.cpu) != job.res:
        raise InputError(
            f"must be {len(profile.cpu)}, the length of cpu in profile {profile.name!r}, got {job.res}",
            source=source,
            path=f"{path}.res",
        )


def _check_parts(jobs: list[Job], profiles: Mapping[str, Profile], source: str) -> None:
    """Parallel profiles inside others are for as many executors as the job asks for."""
    if not any(isinstance(profile, Parallel) for profile in profiles.values()):
        return
    inside: dict[str, list[Profile]] = {}
    for index, job in enumerate(jobs):
        if not isinstance(profiles[job.profile], (Composed, Recv)):
            continue
        parts = inside.get(job.profile)
        if parts is None:
            names = reachable(profiles, [job.profile])
            parts = [profiles[name] for name in names if isinstance(profiles[name], Parallel)]
            inside[job.profile] = parts
        for part in parts:
            _check_size(job, part, f"jobs[{index}]", source)


def _check_ranks(job: Job, path: str, source: str) -> None:
    ranks = job.raw["smpi_ranks_to_hosts_mapping"]
    good = isinstance(ranks, list) and all(
        isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank < job.res for rank in ranks
    )
    if not good:
        raise InputError(
            f"must be a list of integers in 0..{job.res - 1}, got {ranks!r}",
            source=source,
            path=f"{path}.smpi_ranks_to_hosts_mapping",
        )
