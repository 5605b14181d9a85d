"""The loop that runs an application: when each task starts and ends, and on which host.

Rules, those of Spark's and Hadoop's schedulers as far as one application is concerned:

- A job is submitted its think time after the end of the job it comes after. A stage is ready when its job was
  submitted and its parents are over; a job is over when its stages are.
- Slots are counted by resource profile. Ready stages take free slots in their order, each as many as it has
  tasks to start. Slots that have been free longest are taken first, so that tasks spread over hosts.
- All that happens at one instant happens before tasks start at it.
- A stage whose tasks know where their input lies takes offers of slots by delay scheduling.
- Executors come and go. One that goes takes free slots with it, or those that become free next, but the last
  one of its resource profile stays as long as tasks wait for it or run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush, heapreplace

from batpy.base.errors import InputError
from batpy.dfs.delay import DelayScheduling, SkipCount
from batpy.dfs.locality import Locality
from batpy.models.dag.load import Load, Schedule
from batpy.models.dag.nearest import Nearest, Taken

_HERE = 0
"""Of all hosts: there are no racks inside an application."""


def run(load: Load) -> Schedule:
    """The schedule of an application.

    Raises:
        InputError: tasks wait for slots that never come.
    """
    return _Loop(load).run()


def _near_or_far(offers: DelayScheduling[int], slots: Iterable[int], now: int) -> list[Taken]:
    taken = offers.round(tuple(slots), now)
    return [(one.node, one.task, one.level is not None and one.level > Locality.NODE) for one in taken]


def _alone(heap: list[int], end: int) -> bool:
    """Does the first event happen alone, all others after *end*?"""
    return heap[1] >= end and heap[2] >= end if len(heap) > 2 else len(heap) == 1 or heap[1] >= end


class _Loop:
    """The loop's state. An event is one number: date, kind and host in the bits from high to low.

    Its kind is a stage of which a task ends, then (counted on) a job that is submitted, a group of executors
    that come, one that goes, or a stage that wants to be offered slots again.
    """

    def __init__(self, load: Load) -> None:
        self.load = load
        stages, jobs = load.stages, load.jobs
        self.comes, self.goes = load.comings(), load.goings()
        self.first_job = len(stages)
        self.first_come = self.first_job + len(jobs)
        self.first_go = self.first_come + len(self.comes)
        self.first_wake = self.first_go + len(self.goes)
        self.host_bits = load.hosts.bit_length()
        self.shift = self.host_bits + (self.first_wake + len(stages)).bit_length()
        self.now = 0
        self.heap: list[int] = []
        self.free: list[deque[int]] = [deque() for _ in range(load.profiles)]
        self.owed = [0] * load.profiles
        self.capacity = [0] * load.profiles
        self.ready: list[list[tuple[int, int]]] = [[] for _ in range(load.profiles)]
        self.left = [len(stage.times) for stage in stages]
        self.waits = [len(stage.parents) + 1 for stage in stages]  # for its parents, and for its job
        self.children: list[list[int]] = [[] for _ in stages]
        self.by_job: list[list[int]] = [[] for _ in jobs]
        self.followers: list[list[int]] = [[] for _ in jobs]
        self.stages_left = [0] * len(jobs)
        self.jobs_left = len(jobs)
        self.job_dates = [(0, 0)] * len(jobs)
        self.stage_dates = [(0, 0)] * len(stages)
        self.begins: list[list[int]] = [[] for _ in stages]
        self.places: list[list[int]] = [[] for _ in stages]
        self.started: dict[int, list[int]] = {}
        self.far: dict[int, set[int]] = {}
        self.offers: dict[int, Nearest | DelayScheduling[int]] = {}
        self.wakes: dict[int, int] = {}
        self._link()

    def _link(self) -> None:
        for index, stage in enumerate(self.load.stages):
            self.by_job[stage.job].append(index)
            self.stages_left[stage.job] += 1
            for parent in stage.parents:
                self.children[parent].append(index)
        for index, job in enumerate(self.load.jobs):
            if job.after >= 0:
                self.followers[job.after].append(index)
            else:
                self.heap.append(self._code(job.think, self.first_job + index))
        for index, (date, _, _) in enumerate(self.comes):
            self.heap.append(self._code(date, self.first_come + index))
        for index, (date, _, _) in enumerate(self.goes):
            self.heap.append(self._code(date, self.first_go + index))
        heapify(self.heap)

    def _code(self, date: int, kind: int) -> int:
        return (date << self.shift) | (kind << self.host_bits)

    def run(self) -> Schedule:
        heap, shift, host_bits, first_job = self.heap, self.shift, self.host_bits, self.first_job
        free, owed, left, ready = self.free, self.owed, self.left, self.ready
        begins, places = self.begins, self.places
        kind_mask, host_mask = (1 << (shift - host_bits)) - 1, (1 << host_bits) - 1
        profile_of = [stage.profile for stage in self.load.stages]
        times_of = [stage.times for stage in self.load.stages]
        choosy = any(stage.near is not None for stage in self.load.stages)
        while self.jobs_left:
            if not heap:
                raise InputError(self._stuck())
            code = heap[0]
            now, kind = code >> shift, (code >> host_bits) & kind_mask
            end = (now + 1) << shift
            if kind < first_job and left[kind] > 1 and not choosy and _alone(heap, end):
                profile = profile_of[kind]
                if ready[profile] and not free[profile] and not owed[profile]:
                    # The usual case, in short: one task ends, and the next one takes its slot.
                    stage, host = ready[profile][0][1], code & host_mask
                    time = times_of[stage][len(begins[stage])]
                    heapreplace(heap, ((now + time) << shift) | (stage << host_bits) | host)
                    left[kind] -= 1
                    begins[stage].append(now)
                    places[stage].append(host)
                    if len(begins[stage]) == len(times_of[stage]):
                        heappop(ready[profile])
                    continue
            self.now = now
            while heap and heap[0] < end:
                code = heappop(heap)
                kind = (code >> host_bits) & kind_mask
                if kind < first_job:
                    self._end_task(kind, code & host_mask)
                else:
                    self._rare(kind)
            for profile, queue in enumerate(ready):
                if queue and free[profile]:
                    if choosy:
                        self._offer(profile)
                    else:
                        self._start(profile)
        return Schedule(
            max((end for _, end in self.job_dates), default=0),
            self.job_dates, self.stage_dates, self.begins, self.places, self.started, self.far,
        )  # fmt: skip

    def _stuck(self) -> str:
        profile = next((p for p, queue in enumerate(self.ready) if queue), 0)
        return f"no executor of resource profile {self.load.profile_ids[profile]} ever comes"

    # ------------------------------------------------------------------ what happens

    def _end_task(self, stage: int, host: int) -> None:
        profile = self.load.stages[stage].profile
        if self.owed[profile]:
            self.owed[profile] -= 1
        else:
            self.free[profile].append(host)
        self.left[stage] -= 1
        if not self.left[stage]:
            self._end_stage(stage)

    def _rare(self, kind: int) -> None:
        if kind >= self.first_wake:
            self.wakes.pop(kind - self.first_wake, None)
        elif kind >= self.first_go:
            self._go(self.goes[kind - self.first_go])
        elif kind >= self.first_come:
            _, profile, places = self.comes[kind - self.first_come]
            self.capacity[profile] += len(places)
            back = min(self.owed[profile], len(places))
            self.owed[profile] -= back
            self.free[profile].extend(places[back:])
        else:
            self._submit(kind - self.first_job)

    def _go(self, going: tuple[int, int, Sequence[int]]) -> None:
        _, profile, places = going
        count, free = len(places), self.free[profile]
        busy = len(free) < self.capacity[profile] + self.owed[profile] or self.ready[profile]
        if self.capacity[profile] <= count and busy:
            return
        self.capacity[profile] -= count
        for host in places:
            if host in free:
                free.remove(host)
            elif free:
                free.popleft()
            else:
                self.owed[profile] += 1

    def _submit(self, job: int) -> None:
        self.job_dates[job] = self.now, self.now
        if not self.stages_left[job]:
            self._end_job(job)
        for stage in self.by_job[job]:
            self._wait_less(stage)

    def _wait_less(self, stage: int) -> None:
        self.waits[stage] -= 1
        if self.waits[stage]:
            return
        self.stage_dates[stage] = self.now, self.now
        load = self.load.stages[stage]
        if not load.times:
            self._end_stage(stage)
            return
        heappush(self.ready[load.profile], (load.order, stage))
        if load.near is not None:
            self._expect(stage, load.near)

    def _expect(self, stage: int, near: Sequence[Sequence[int]]) -> None:
        """Let the tasks of a stage wait for slots near their input."""
        self.started[stage] = []
        self.far[stage] = set()
        hosts, rule = self.load.hosts, self.load.delay
        if rule is None:
            self.offers[stage] = Nearest(near, hosts)
            return
        racks = dict.fromkeys(range(hosts), _HERE)
        offers: DelayScheduling[int] = DelayScheduling(racks, rule, self.now)
        for task, places in enumerate(near):
            offers.add(task, places)
        self.offers[stage] = offers

    def _end_stage(self, stage: int) -> None:
        begins = self.begins[stage]
        self.stage_dates[stage] = begins[0] if begins else self.now, self.now
        for child in self.children[stage]:
            self._wait_less(child)
        job = self.load.stages[stage].job
        self.stages_left[job] -= 1
        if not self.stages_left[job]:
            self._end_job(job)

    def _end_job(self, job: int) -> None:
        self.job_dates[job] = self.job_dates[job][0], self.now
        self.jobs_left -= 1
        for follower in self.followers[job]:
            date = self.now + self.load.jobs[follower].think
            heappush(self.heap, self._code(date, self.first_job + follower))

    # ------------------------------------------------------------------ who gets free slots

    def _start(self, profile: int) -> None:
        """Give free slots to stages that take any."""
        queue, slots = self.ready[profile], self.free[profile]
        while queue and slots:
            if self._fill(queue[0][1], slots):
                heappop(queue)

    def _fill(self, stage: int, slots: deque[int]) -> bool:
        """Start tasks that run anywhere; True if none is left to start."""
        times, begins, places = self.load.stages[stage].times, self.begins[stage], self.places[stage]
        first = len(begins)
        count = min(len(slots), len(times) - first)
        shift, take, heap = self.shift, slots.popleft, self.heap
        offset = self._code(self.now, stage)
        for time in times[first : first + count]:
            host = take()
            places.append(host)
            heappush(heap, offset + (time << shift) + host)
        begins += [self.now] * count
        return first + count == len(times)

    def _offer(self, profile: int) -> None:
        """Offer free slots to stages in their order; some turn down those far from their input."""
        queue, slots = self.ready[profile], self.free[profile]
        kept: list[tuple[int, int]] = []
        while queue and slots:
            entry = heappop(queue)
            stage = entry[1]
            offers = self.offers.get(stage)
            if offers is None:
                over = self._fill(stage, slots)
            else:
                self._place(stage, offers, slots)
                over = not len(offers)
            if not over:
                kept.append(entry)
        for entry in kept:
            heappush(queue, entry)
            offers = self.offers.get(entry[1])
            if isinstance(offers, DelayScheduling):
                self._wake(entry[1], offers)

    def _place(self, stage: int, offers: Nearest | DelayScheduling[int], slots: deque[int]) -> None:
        load = self.load.stages[stage]
        begins, places = self.begins[stage], self.places[stage]
        started, far = self.started[stage], self.far[stage]
        now = self.now
        found = offers.take(slots) if isinstance(offers, Nearest) else _near_or_far(offers, slots, now)
        for host, task, is_far in found:
            slots.remove(host)
            time = load.times[task]
            if is_far:
                far.add(task)
                time += load.remote
            started.append(task)
            begins.append(now)
            places.append(host)
            heappush(self.heap, self._code(now + time, stage) + host)

    def _wake(self, stage: int, offers: DelayScheduling[int]) -> None:
        """Have slots offered again when the stage will take others."""
        counts = isinstance(offers.rule, SkipCount)
        date = self.now + self.load.heartbeat if counts else offers.wakes_at(self.now)
        if date is not None and self.free[self.load.stages[stage].profile]:
            date = max(date, self.now + 1)
            if self.wakes.get(stage, date + 1) > date:
                self.wakes[stage] = date
                heappush(self.heap, self._code(date, self.first_wake + stage))
