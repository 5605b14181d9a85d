"""What is left of a job that was stopped: a pure function of its profile and of the progress it made.

Rules (pybatsim 3.2.1's ``schedBebida``, without its faults): parts of a composed profile that are over are
not done again. The part that was running restarts, or, where its progress is kept, goes on with a share of
1 - progress of every amount of work. Progress trees are Batsim 4.2.1's: ``current_task_index`` counts over
the unrolled sequence, so that it tells the repetition as well.

What is left of a ``stage_dag`` depends on the hosts that were lost: ``dag_remains`` tells it.

Nothing here changes a profile that exists: what is left is a new tree that shares what it can with the old.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from batpy.base.errors import RemoteProtocolError
from batpy.protocol.messages import Json
from batpy.schedulers.bigdata.dag_remains import EVERYTHING, STAGE_DAG, Losses, dag_remains, host_seconds

COMPOSED = "composed"
MAX_NESTING = 200
"""Deeper profiles are not looked into (our simulator refuses them)."""
SCALING_TYPES = frozenset({"parallel_homogeneous_total", "msg_par_hg_tot", "msg_par_spread", STAGE_DAG})
"""Types that run on any number of hosts, Batsim's with their names in older versions."""

AMOUNTS = (
    *("cpu", "com", "delay", "bytes_to_read", "bytes_to_write", "nb_bytes", "size"),
    *("io_reads", "io_writes"),
)
"""Fields of profiles that say how much there is to do; the others (``ret``, cores, labels) say how."""


@dataclass(frozen=True, slots=True, eq=False)
class ProfileTree:
    """A profile, with the profiles that it names in their places.

    Attributes:
        name: under which the simulator knows it; None as long as it is not registered.
        base: name of the user's profile that it is, or is what is left of.
        raw: the profile object; ``seq`` and ``repeat`` of a composed one are not looked at.
        parts: of a composed profile, once (not unrolled); empty for any other.
        repeat: how often the parts are done.
        scales: it may run on any number of hosts.
        flops: all it computes, as far as parts that scale tell.
        seconds: time on one host of what such parts have to do beside that.
    """

    name: str | None
    base: str
    raw: Json
    parts: tuple[ProfileTree, ...] = ()
    repeat: int = 1
    scales: bool = False
    flops: float = 0.0
    seconds: float = 0.0


Lookup = Callable[[str], Json | None]


def profile_tree(name: str, lookup: Lookup, known: dict[str, ProfileTree]) -> ProfileTree:
    """The tree of a profile.

    A profile that is not known, that contains itself or that is nested too deeply is a part that does not
    scale and always restarts; the simulator says what is wrong with it when it is to run.

    Args:
        lookup: the profile object of a name, or None.
        known: trees by name, kept by the caller for one workload.
    """
    return _tree(name, lookup, known, frozenset())


def _tree(name: str, lookup: Lookup, known: dict[str, ProfileTree], above: frozenset[str]) -> ProfileTree:
    tree = known.get(name)
    if tree is not None:
        return tree
    raw = lookup(name) if name not in above and len(above) < MAX_NESTING else None
    if raw is None:
        return ProfileTree(name, name, {})
    names = raw.get("seq")
    if raw.get("type") == COMPOSED and isinstance(names, list) and names:
        inside = above | {name}
        parts = tuple(_tree(str(part), lookup, known, inside) for part in names)
        repeat = raw.get("repeat", raw.get("nb", 1))
        tree = _sequence(name, name, raw, parts, repeat if type(repeat) is int else 1)
    else:
        tree = _leaf(name, name, raw)
    known[name] = tree
    return tree


def _leaf(name: str | None, base: str, raw: Json) -> ProfileTree:
    scales = raw.get("type") in SCALING_TYPES
    cpu = raw.get("cpu") if scales else None
    flops = float(cpu) if isinstance(cpu, (int, float)) else 0.0
    seconds = host_seconds(raw) if raw.get("type") == STAGE_DAG else 0.0
    return ProfileTree(name, base, raw, (), 1, scales, flops, seconds)


def _sequence(
    name: str | None, base: str, raw: Json, parts: tuple[ProfileTree, ...], repeat: int
) -> ProfileTree:
    flops = repeat * sum(part.flops for part in parts)
    seconds = repeat * sum(part.seconds for part in parts)
    return ProfileTree(name, base, raw, parts, repeat, all(part.scales for part in parts), flops, seconds)


def remains(
    tree: ProfileTree, progress: Mapping[str, object], *, keep: bool, losses: Losses = EVERYTHING
) -> ProfileTree:
    """What is left to do of a job that was stopped.

    Args:
        progress: its tree of JOB_KILLED; empty if nothing is known, then all is left.
        keep: what is done of the running part counts; otherwise it restarts.
        losses: the hosts of the job, and those that were taken.

    Returns:
        *tree* itself if everything is left. Profiles of it that are new have no name yet. Of a job that was
        all but over, parts of no work at all are left, so that it ends as it would have ended.

    Raises:
        RemoteProtocolError: the progress is not one of this profile.
    """
    if tree.parts:
        index = progress.get("current_task_index", 0)
        if type(index) is not int or index < 0:
            return tree
        if index >= len(tree.parts) * tree.repeat:
            raise RemoteProtocolError(
                f"JOB_KILLED: current_task_index {index} of profile {tree.name!r}, "
                f"which has {len(tree.parts) * tree.repeat} parts"
            )
        inside = progress.get("current_task")
        part = tree.parts[index % len(tree.parts)]
        return _rest(tree, index, _inside(part, inside, keep, losses))
    if tree.raw.get("type") == STAGE_DAG:
        left = dag_remains(tree.raw, str(tree.name), progress, losses, keep=keep)
        return tree if left is tree.raw else _leaf(None, tree.base, left)
    share = progress.get("progress")
    if not keep or not isinstance(share, (int, float)) or share <= 0:
        return tree
    return _leaf(None, tree.base, scaled(tree.raw, max(0.0, 1.0 - share)))


def _inside(part: ProfileTree, progress: object, keep: bool, losses: Losses) -> ProfileTree:
    return remains(part, progress if isinstance(progress, Mapping) else {}, keep=keep, losses=losses)


def _rest(tree: ProfileTree, index: int, current: ProfileTree) -> ProfileTree:
    """A composed profile from part *index* of the unrolled sequence on, *current* in place of that part."""
    parts = tree.parts
    rounds, place = divmod(index, len(parts))
    if place == 0 and current is parts[0]:
        left = tree.repeat - rounds
        return tree if rounds == 0 else _sequence(None, tree.base, tree.raw, parts, left)
    new = current.name is None and current.parts and current.repeat == 1 and not current.raw.get("ret")
    rest = (*(current.parts if new else (current,)), *parts[place + 1 :])
    again = tree.repeat - rounds - 1
    if again == 1:
        rest += parts
    elif again:
        rest += (_sequence(None, tree.base, {"type": COMPOSED}, parts, again),)
    return _sequence(None, tree.base, tree.raw, rest, 1)


def scaled(raw: Json, share: float) -> Json:
    """A profile object with *share* of the work."""
    out = dict(raw)
    for field in AMOUNTS:
        value = raw.get(field)
        if isinstance(value, (int, float)):
            out[field] = value * share
        elif isinstance(value, list):
            out[field] = [number * share for number in value]
    return out


def composed_object(tree: ProfileTree, names: list[str]) -> Json:
    """The profile object of a composed tree whose parts have these names."""
    raw = {key: value for key, value in tree.raw.items() if key != "nb"}
    return {**raw, "type": COMPOSED, "repeat": tree.repeat, "seq": names}
