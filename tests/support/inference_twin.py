"""A slow emulated worker that follows the requirement sentence by sentence: tick by tick, lists, no heap.

For small whole-number times only. Shares nothing with ``batpy.models.inference`` but the words that it is
told and answers with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from batpy.base.serving import NO_LATEST
from batpy.models.inference.actions import NAMES, AnyAction, Clear, Evict, Infer, Load, LoadModel, State

Answer = tuple[Any, ...]
RANK = {LoadModel: 1, Clear: 1, State: 1, Evict: 2, Load: 3, Infer: 4}
EARLY_LATE = {LoadModel: (2, 11), Evict: (60, 61), Load: (50, 51), Infer: (80, 81)}


@dataclass
class Life:
    """One action that has no answer yet."""

    action: AnyAction
    serial: int
    received: int
    begin: int = -1
    end: int = -1
    end_round: int = 0
    version: int = -1

    @property
    def eligible(self) -> int:
        return getattr(self.action, "earliest", 0)

    @property
    def lane(self) -> tuple[Any, ...]:
        """What it waits for: one of each at a time. Actions without a window wait for nothing."""
        kind = type(self.action)
        if kind in (Clear, State):
            return (self.action.worker, kind, self.serial)
        return (self.action.worker, kind, getattr(self.action, "gpu_id", None))


@dataclass
class Place:
    """The weights of one model on one GPU."""

    state: str = "absent"
    version: int = 0
    pages: int = 0


@dataclass
class Twin:
    """Workers by number of GPUs; every model is ``disk`` = (pages, load time, {batch: time}, in, out)."""

    gpus: dict[int, int]
    pages: int
    disk: dict[str, tuple[int, int, dict[int, int], int, int]]
    zero_size: bool = True
    now: int = 0
    round: int = 0
    serial: int = 0
    waiting: list[Life] = field(default_factory=list)
    running: list[Life] = field(default_factory=list)
    models: dict[tuple[int, int], tuple[str, list[int]]] = field(default_factory=dict)
    places: dict[tuple[int, int, int], Place] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)

    def step(self, now: int, actions: list[AnyAction]) -> list[Answer]:
        while self.now < now:
            self.instant()
            self.now += 1
            self.round = 0
        for action in actions:
            self.serial += 1
            life = Life(action, self.serial, now)
            gpu = getattr(action, "gpu_id", 0)
            if not 0 <= gpu < self.gpus[action.worker]:
                self.answer(life, {Load: 52, Evict: 62, Infer: 72}[type(action)])
            else:
                self.waiting.append(life)
        self.instant()
        answers, self.answers = self.answers, []
        return answers

    def instant(self) -> None:
        """Do everything that is due at this tick, always the first in the stated order."""
        while True:
            turns: list[tuple[int, int, int, Life]] = []
            for life in self.running:
                if life.end == self.now:
                    turns.append((max(life.end_round, self.round), 0, life.serial, life))
            busy = {life.lane for life in self.running}
            for lane in {life.lane for life in self.waiting} - busy:
                head = min((w for w in self.waiting if w.lane == lane), key=lambda w: (w.eligible, w.serial))
                if head.eligible <= self.now:
                    turns.append((self.round, RANK[type(head.action)], head.serial, head))
            if not turns:
                return
            self.round, rank, _, life = min(turns, key=lambda turn: turn[:3])
            if rank == 0:
                self.running.remove(life)
                self.complete(life)
            else:
                self.waiting.remove(life)
                self.start(life)

    def place(self, action: Any) -> Place:
        return self.places.setdefault((action.worker, action.gpu_id, action.model_id), Place())

    def free(self, worker: int, gpu: int) -> int:
        return self.pages - sum(p.pages for (w, g, _), p in self.places.items() if (w, g) == (worker, gpu))

    def answer(self, life: Life, status: int, *more: Any) -> None:
        name = NAMES[type(life.action)]
        self.answers.append(
            (life.action.id, life.action.worker, name, status, life.received, self.now, *more)
        )

    def run(self, life: Life, duration: int) -> None:
        life.begin, life.end = self.now, self.now + duration
        life.end_round = self.round + 1 if duration == 0 else 0
        self.running.append(life)

    def start(self, life: Life) -> None:
        action = life.action
        if type(action) in EARLY_LATE:
            if self.now < action.earliest:
                return self.answer(life, EARLY_LATE[type(action)][0])
            if action.latest != NO_LATEST and self.now > action.latest:
                return self.answer(life, EARLY_LATE[type(action)][1])
        if type(action) in WIDE:
            return WIDE[type(action)](self, life)
        known = self.models.get((action.worker, action.model_id))
        if known is None:
            return self.answer(life, {Load: 52, Evict: 62, Infer: 72}[type(action)])
        if isinstance(action, Load):
            return self.load(life, action, known[0])
        if isinstance(action, Evict):
            return self.evict(life, action)
        return self.infer(life, action, *known)

    def load_model(self, life: Life) -> None:
        action: Any = life.action
        ids = range(action.model_id, action.model_id + action.no_of_copies)
        if any((action.worker, id_) in self.models for id_ in ids):
            return self.answer(life, 40)
        if action.model_path not in self.disk:
            return self.answer(life, 41)
        times = self.disk[action.model_path][2]
        kept = [
            size
            for size in sorted(times)
            if size <= action.max_batch_size and (size == 1 or times[size] <= action.max_exec_duration)
        ]
        for id_ in ids:
            self.models[action.worker, id_] = (action.model_path, kept)
        return self.answer(life, 0, tuple(kept), len(ids))

    def clear(self, life: Life) -> None:
        for (worker, _, _), place in self.places.items():
            if worker == life.action.worker:
                place.version += 1
                place.state, place.pages = "absent", 0
        self.answer(life, 0)

    def tell_state(self, life: Life) -> None:
        worker = life.action.worker
        loaded = tuple(
            tuple(
                sorted(
                    m for (w, g, m), p in self.places.items() if (w, g, p.state) == (worker, gpu, "loaded")
                )
            )
            for gpu in range(self.gpus[worker])
        )
        self.answer(life, 0, loaded, tuple(sorted(m for w, m in self.models if w == worker)))

    def load(self, life: Life, action: Load, path: str) -> None:
        pages, duration, *_ = self.disk[path]
        place = self.place(action)
        if place.state == "absent":
            if self.free(action.worker, action.gpu_id) < pages:
                return self.answer(life, 53)
            place.pages = pages
        place.state = "loading"
        place.version += 1
        life.version = place.version
        return self.run(life, duration)

    def evict(self, life: Life, action: Evict) -> None:
        place = self.place(action)
        if place.state == "absent":
            return self.answer(life, 63)
        place.state, place.pages = "absent", 0
        place.version += 1
        return self.answer(life, 0, self.now, self.now)

    def infer(self, life: Life, action: Infer, path: str, sizes: list[int]) -> None:
        _, _, times, wanted, _ = self.disk[path]
        if action.batch_size < 1 or action.batch_size > sizes[-1]:
            return self.answer(life, 73)
        compressed, size = action.input_sizes, action.input_size
        if compressed and (len(compressed) > action.batch_size or sum(compressed) != size):
            return self.answer(life, 77)
        if size == 0 and wanted > 0 and not self.zero_size:
            return self.answer(life, 75)
        if size != 0 and not compressed and size != action.batch_size * wanted:
            return self.answer(life, 75)
        place = self.place(action)
        if place.state != "loaded":
            return self.answer(life, 82)
        life.version = place.version
        return self.run(life, times[min(size for size in sizes if size >= action.batch_size)])

    def complete(self, life: Life) -> None:
        action: Any = life.action
        place = self.place(action)
        same = place.version == life.version
        if isinstance(action, Load):
            if not same:
                return self.answer(life, 54)
            place.state = "loaded"
            return self.answer(life, 0, life.begin, life.end)
        if not same:
            return self.answer(life, 84)
        output = self.disk[self.models[action.worker, action.model_id][0]][4]
        out = 0 if action.input_size == 0 else action.batch_size * output
        return self.answer(life, 0, life.begin, life.end, out)


WIDE = {LoadModel: Twin.load_model, Clear: Twin.clear, State: Twin.tell_state}


def told(result: Any) -> Answer:
    """A result of the shipped worker, in the twin's form."""
    base = (result.id, result.worker, result.action_type, result.status, result.received, result.sent)
    if result.status:
        return base
    if result.model is not None:
        return (*base, result.model.supported_batch_sizes, result.model.copies_created)
    if result.inference is not None:
        step = result.inference.exec
        return (*base, step.begin, step.end, result.inference.output_size)
    if result.memory is not None:
        return (*base, tuple(g.models for g in result.memory.gpus), tuple(m.id for m in result.memory.models))
    if result.timing is not None:
        return (*base, result.timing.begin, result.timing.end)
    return base
