"""Runs the profile of a job: walks composed profiles, hands each leaf to the model of its type.

A leaf model is a small class with three verbs (``start``, ``stop``, ``progress``); adding physics means
adding a leaf model for a profile type, nothing else changes here. Rules: Batsim 4.2.1 (walltime covers the
whole job, a composed profile stops at its first part that fails, parts follow each other without a gap).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from batpy.kernel.agenda import Agenda
from batpy.workloads.profile import (
    Composed,
    Delay,
    ParallelHomogeneousTotal,
    Profile,
    Recv,
    Send,
    StageDag,
    takes_no_time,
)
from batpy.workloads.sequences import MAX_NESTING, references

WALLTIME_REACHED = -1
"""Outcome of a leaf that met the deadline of its job; any other outcome is the leaf's return code."""


class Tree(msgspec.Struct, eq=False):
    """A profile with the profiles it names resolved.

    Attributes:
        profile: the profile of this node.
        parts: resolved sub-profiles of a composed profile, in order, once (not unrolled).
        any_size: true if the job may run on any number of hosts.
        sleeps: it neither computes nor communicates, so it does not matter which hosts it has.
        answers: resolved profiles that a ``recv`` may go on with, by name.
        io: profile of the additional I/O job that is done together with this leaf, or None.
        instant: nothing in it takes time, fails or is said, so one leaf of it stands for all.
    """

    profile: Profile
    parts: tuple[Tree, ...]
    any_size: bool
    sleeps: bool = False
    answers: Mapping[str, Tree] = {}
    io: Profile | None = None
    instant: bool = False


class Run(msgspec.Struct, eq=False):
    """One execution of one job.

    Attributes:
        owner: whose execution this is; opaque to the models.
        deadline: tick at which the walltime is over, or None.
        hosts: host id of each executor; empty for jobs that only sleep.
        storage: host id of each storage label that its profiles name.
        io_hosts: host ids of the additional I/O job, ascending; empty without one.
        ranks: executor of each rank of a trace that is replayed; empty for one after another, repeatedly.
        inbox: texts that were sent to the job and are not yet read.
        texts_read: how many of them it has read.
        carry: exact date minus the clock, in ticks, within (-1, 0]: parts of a composed profile pass on what
            rounding up took, so that errors do not add up.
        tree: the whole profile at first, then the leaf that is running.
        frames: composed profiles under way, outermost first.
        since: tick at which that leaf started.
        over: nothing will happen to this run any more.
        state: private to the leaf's model.
    """

    owner: Any
    tree: Tree
    deadline: int | None
    hosts: Sequence[int] = ()
    storage: Mapping[str, int] = {}
    io_hosts: Sequence[int] = ()
    ranks: Sequence[int] = ()
    inbox: list[str] = []
    texts_read: int = 0
    carry: float = 0.0
    frames: list[Frame] = []
    since: int = 0
    over: bool = False
    state: Any = None


Since = tuple[int, float, int]
"""Tick, carry, and number of texts read."""


class Frame:
    """A composed profile under way: ``index`` counts over the unrolled sequence, as Batsim reports it.

    A ``recv`` that goes on with another profile is a sequence of that one.

    Attributes:
        since: when its present repetition began: tick, carry, and texts read before.
    """

    __slots__ = ("index", "since", "total", "tree")

    def __init__(self, tree: Tree, since: Since) -> None:
        profile = tree.profile
        self.tree = tree
        self.index = 0
        self.since = since
        self.total = len(tree.parts) * profile.repeat if isinstance(profile, Composed) else 1


class LeafModel(Protocol):
    """Physics of one profile type."""

    killed_code: int
    """Return code of a job that is killed while this leaf runs (Batsim: -2 for parallel tasks, else -1)."""

    def start(self, run: Run) -> None:
        """Begin ``run.tree`` now; call ``Execution.leaf_over`` once, from a later action of the agenda."""

    def stop(self, run: Run) -> None:
        """Give up what the running leaf holds; its action, when due, must do nothing."""

    def progress(self, run: Run) -> float | Mapping[str, Any] | None:
        """Share of the running leaf that is done, in [0, 1], or None where Batsim reports none.

        A leaf that has more to tell gives the fields of its node, ``progress`` among them.
        """


class Execution:
    """Starts, walks and stops runs.

    Args:
        agenda: the event queue.
        on_end: called with (run, return code) when a run ends by itself; a return code of
            ``WALLTIME_REACHED`` means just that.

    Attributes:
        on_text: to be called when a text was added to the inbox of a run, if a model wants to know.
        prepare_task: what finds the work of a leaf of a run that is to start; called with whether the run
            begins with it. Gives the rule that is broken, or None.
    """

    def __init__(self, agenda: Agenda, on_end: Callable[[Run, int], None]) -> None:
        self.agenda = agenda
        self._on_end = on_end
        self._models: dict[type[Profile], LeafModel] = {}
        self.on_text: Callable[[Run], None] | None = None
        self.prepare_task: Callable[[Run, Tree, bool], str | None] | None = None
        self._makers: dict[type[Profile], Callable[[], Mapping[type[Profile], LeafModel]]] = {}

    def add_model(self, kind: type[Profile], model: LeafModel) -> None:
        """Have leaves of this profile type run by *model*."""
        self._models[kind] = model

    def add_maker(
        self, kinds: Sequence[type[Profile]], make: Callable[[], Mapping[type[Profile], LeafModel]]
    ) -> None:
        """Have the models of these profile types made when the first of them is asked about."""
        self._makers.update(dict.fromkeys(kinds, make))

    def supports(self, profile: Profile) -> bool:
        """True if a profile of this type can run."""
        kind = type(profile)
        if kind in self._makers and kind not in self._models:
            self._models.update(self._makers[kind]())
        return kind is Composed or kind in self._models

    def prepare(self, run: Run) -> str | None:
        """Find out whether every leaf of a run can do its work, before anything changes.

        Returns:
            the rule that is broken, or None.
        """
        prepare = self.prepare_task
        if prepare is None:
            return None
        first = run.tree
        while first.parts:
            first = first.parts[0]
        for leaf in [first] if run.tree is first and not first.answers else _leaf_trees(run.tree):
            reason = prepare(run, leaf, leaf is first)
            if reason is not None:
                return f"profile {leaf.profile.name!r}: {reason}"
        return None

    def start(self, run: Run) -> None:
        """Begin a run at the present tick."""
        if run.tree.parts:
            self._descend(run, run.tree)
        else:
            run.since = self.agenda.now
            self._models[type(run.tree.profile)].start(run)

    def stop(self, run: Run) -> tuple[dict[str, Any], int]:
        """End a run early.

        Returns:
            its progress tree in Batsim's form, and the return code of a job killed in this state.
        """
        model = self._models[type(run.tree.profile)]
        node: dict[str, Any] = {"profile_name": run.tree.profile.name}
        share = model.progress(run)
        if share is None:
            node["current_task_index"] = -1
        elif isinstance(share, Mapping):
            node.update(share)
        else:
            node["progress"] = share
        for frame in reversed(run.frames):
            name = frame.tree.profile.name
            node = {"profile_name": name, "current_task_index": frame.index, "current_task": node}
        model.stop(run)
        run.over = True
        return node, model.killed_code

    def leaf_over(self, run: Run, outcome: int) -> None:
        """Called by a leaf model, from an action of the agenda: the running leaf ended."""
        if not run.frames or outcome == WALLTIME_REACHED:
            run.over = True
            self._on_end(run, outcome or run.tree.profile.ret)
            return
        code = outcome or run.tree.profile.ret
        while run.frames:
            frame = run.frames[-1]
            if code:
                run.frames.pop()
                continue
            frame.index = frame.total if frame.tree.instant else frame.index + 1
            position = frame.index % len(frame.tree.parts)
            if not position:
                date = (self.agenda.now, run.carry, run.texts_read)
                if date == frame.since:
                    # A repetition that takes no time leaves everything as it was, and so do all the others.
                    frame.index = frame.total
                frame.since = date
            if frame.index < frame.total:
                self._descend(run, frame.tree.parts[position])
                return
            run.frames.pop()
            code = frame.tree.profile.ret
        run.over = True
        self._on_end(run, code)

    def go_on(self, run: Run, tree: Tree) -> None:
        """Called by a leaf model, from an action of the agenda: the leaf goes on with another profile.

        The leaf is over when that profile is.
        """
        leaf = run.tree
        self._descend(run, Tree(leaf.profile, (tree,), leaf.any_size))

    def _descend(self, run: Run, tree: Tree) -> None:
        while tree.parts:
            run.frames.append(Frame(tree, (self.agenda.now, run.carry, run.texts_read)))
            tree = tree.parts[0]
        run.tree = tree
        run.since = self.agenda.now
        self._models[type(tree.profile)].start(run)


def resolve(profile: Profile, lookup: Callable[[str], Profile | None], cache: dict[str, Tree]) -> Tree | str:
    """Resolve the sub-profiles of *profile*, in depth.

    Args:
        profile: where to begin.
        lookup: profile of a name, or None.
        cache: resolved trees by name, kept by the caller for one workload (a profile never changes).

    Returns:
        the tree, or one line that says which name is missing or which names form a cycle.
    """
    return _resolve(profile, lookup, cache, ())


def _resolve(
    profile: Profile,
    lookup: Callable[[str], Profile | None],
    cache: dict[str, Tree],
    above: tuple[str, ...],
) -> Tree | str:
    known = cache.get(profile.name)
    if known is not None:
        return known
    if not isinstance(profile, (Composed, Recv)):
        sleeps = isinstance(profile, (Delay, Send))
        any_size = isinstance(profile, (ParallelHomogeneousTotal, StageDag))
        tree = Tree(profile, (), any_size, sleeps, instant=takes_no_time(profile) and not profile.ret)
        cache[profile.name] = tree
        return tree
    kind = "composed" if isinstance(profile, Composed) else "recv"
    if profile.name in above:
        return f"{kind} profile {profile.name!r} contains itself ({' > '.join((*above, profile.name))})"
    if len(above) >= MAX_NESTING:
        return f"{kind} profiles are nested deeper than {MAX_NESTING} levels"
    parts: list[Tree] = []
    for name in references(profile):
        part = lookup(name)
        if part is None:
            return f"{kind} profile {profile.name!r} names the profile {name!r}, which is not known"
        tree_or_reason = _resolve(part, lookup, cache, (*above, profile.name))
        if isinstance(tree_or_reason, str):
            return tree_or_reason
        parts.append(tree_or_reason)
    sleeps = all(part.sleeps for part in parts)
    if isinstance(profile, Recv):
        tree = Tree(profile, (), False, sleeps, {part.profile.name: part for part in parts})
    else:
        instant = not profile.ret and all(part.instant for part in parts)
        any_size = all(part.any_size for part in parts)
        tree = Tree(profile, tuple(parts), any_size, sleeps, instant=instant)
    cache[profile.name] = tree
    return tree


def leaves(tree: Tree) -> list[Profile]:
    """Every leaf profile of a tree, each name once; a ``recv`` and what it may go on with."""
    if not tree.parts and not tree.answers:
        return [tree.profile]
    return list({leaf.profile.name: leaf.profile for leaf in _leaf_trees(tree)}.values())


def _leaf_trees(tree: Tree) -> list[Tree]:
    """Every leaf of a tree, each once; a ``recv`` and what it may go on with."""
    found: list[Tree] = []
    seen: set[int] = set()
    stack = [tree]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        stack.extend(node.parts or node.answers.values())
        if not node.parts:
            found.append(node)
    return found
