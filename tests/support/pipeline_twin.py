"""Pipelines in containers tick by tick: obviously right, and slow.

Every container is a generator that lives through each of its ticks, every pool adds every change of memory to
its sum, and the policy is asked in every tick. Only the pipelines' states and the policies are shared with
the fast engine.
"""

from __future__ import annotations

from math import ceil, fsum

from batpy.base.pipelines import DISK_SCAN_GB_SEC, IllegalStepError, OperatorState
from batpy.models.containers.exact import compensated_sum
from batpy.models.containers.pipeline import from_spec
from batpy.models.containers.pool import ExecutionResult

PARTS = 1 << 30
"""Parts of a tick, in which progress under a shared storage is counted."""


class TwinClock:
    def __init__(self, ticks_per_second):
        self.ticks_per_second = ticks_per_second
        self.now_ticks = 0

    @property
    def now_seconds(self):
        return self.now_ticks / self.ticks_per_second


class TwinContainer:
    def __init__(self, number, assignment, pool, run):
        self.container_id = f"c{number}"
        self.assignment = assignment
        self.pool = pool
        self.run = run
        self.error = None
        self.memory = 0.0
        self.can_suspend = False
        self.over = False
        self.elapsed = 0
        self.index = 0
        self.left = None
        self.wish = None
        self.to_begin = []
        self.course = self._live()

    operators = property(lambda self: self.assignment.ops)
    priority = property(lambda self: self.assignment.priority)
    pool_id = property(lambda self: self.pool.pool_id)

    def can_suspend_container(self):
        return self.can_suspend

    def get_current_memory_usage(self):
        return self.memory

    def set_memory(self, new):
        change = new - self.memory
        self.memory = new
        self.pool.consumed_ram_gb += change

    def _stages(self, op, position):
        """(ticks, memory, GB/s that it reads) one after the other; whether the last ends the operator."""
        length, parameters = self.run.tick_length, self.run.parameters
        lead = int(parameters.container_start_seconds / length) if position == 0 else 0
        away = any(self.run.places.get(parent) != self.pool_id for parent in op.parents)
        speed = parameters.remote_read_gb_per_second if away else 0
        speed = speed or DISK_SCAN_GB_SEC
        stages, total = [], 0
        for segment in op.segments:
            reading = int(segment.storage_read_gb / speed / length)
            total = reading + int(segment.get_cpu_time(self.assignment.cpu) / length)
            stages.append((min(reading, total), segment.memory_gb, speed))
            level = segment.storage_read_gb if segment.memory_gb is None else segment.memory_gb
            stages.append((total - reading, level, 0))
        if not self.run.compat and all(ticks <= 0 for ticks, _, _ in stages):
            stages = [(1, max(segment.get_peak_memory_gb() for segment in op.segments), 0)]
        stages = [stage for stage in [(lead, 0.0, 0), *stages] if stage[0] > 0]
        return stages, total > 0 or not self.run.compat

    def _live(self):
        """Say in every tick first how fast it wants to read, hear how much of a tick it gets, do it."""
        for position, op in enumerate(self.operators):
            self.to_begin.append(op)
            stages, ends = self._stages(op, position)
            for number, (ticks, level, speed) in enumerate(stages, 1):
                done = 0
                while done < ticks * PARTS:
                    share = yield speed
                    done += share if speed else PARTS
                    read = min(done, ticks * PARTS) / PARTS
                    self.set_memory(read * self.run.tick_length * speed if level is None else level)
                    if self.memory > self.assignment.ram:
                        yield  # frozen, and killed in this tick
                    self.can_suspend = False
                    if done >= ticks * PARTS and number == len(stages) and ends:
                        op.transition(OperatorState.COMPLETED)
                        self.run.places[op] = self.pool_id
                        self.index += 1
                        if position == len(self.operators) - 1:
                            self.finish()
                        else:
                            self.can_suspend = True
                    yield

    def ask(self):
        """GB/s that it wants to read in this tick; None if it has nothing to do any more."""
        self.wish = next(self.course, None)
        return self.wish

    def tick(self, share):
        for op in self.to_begin:
            op.transition(OperatorState.RUNNING)
        self.to_begin = []
        if self.wish is None:
            raise IllegalStepError("zero ticks", self.container_id, "StopIteration")
        self.course.send(share)
        self.elapsed += 1

    def finish(self, error=None):
        self.error = error
        self.over = True
        self.set_memory(0.0)

    def kill(self, error):
        for op in self.operators[self.index :]:
            op.transition(OperatorState.FAILED)
        self.finish(error)


class TwinPool:
    def __init__(self, pool_id, run):
        self.pool_id = pool_id
        self.run_of = run
        self.max_cpu_pool = self.avail_cpu_pool = run.parameters.cpus_per_pool
        self.max_ram_pool = self.avail_ram_pool = run.parameters.ram_gb_per_pool
        self.consumed_ram_gb = 0.0
        self.active_containers = []
        self.suspending_containers = []
        self.suspended_containers = []
        self.ended_ticks = []

    def asked(self):
        """GB/s that all its containers want to read or write in this tick."""
        wishes = [c.ask() for c in self.active_containers]
        return [*filter(None, wishes), *(DISK_SCAN_GB_SEC for c in self.suspending_containers if c.left > 0)]

    def tick(self, share):
        """Do what is to be done; a share of None: no shared storage, everybody gets a whole tick."""
        run = self.run_of
        compat = run.compat
        for c in list(self.suspending_containers):
            if c.left <= 0:
                continue  # compat: never written out
            c.left -= PARTS if share is None else share
            if c.left <= 0:
                for op in c.operators[c.index :]:
                    op.transition(OperatorState.PENDING)
                self.avail_cpu_pool += c.assignment.cpu
                self.avail_ram_pool += c.assignment.ram
                if not compat:
                    c.set_memory(0.0)
                self.suspending_containers.remove(c)
                self.suspended_containers.append(c)
                run.changes += 1
                run.written.append((run.clock.now_ticks, "suspended", c.container_id, self.pool_id))
        for c in self.active_containers:
            if share is None:
                c.ask()
            c.tick(PARTS if share is None else share)
        self._kill()
        return self._collect()

    def follow(self, suspensions, assignments):
        self._suspend([order for order in suspensions if order.pool_id == self.pool_id])
        self._start([order for order in assignments if order.pool_id == self.pool_id])

    def _suspend(self, suspensions):
        run = self.run_of
        for order in suspensions:
            found = [c for c in self.active_containers if c.container_id == order.container_id]
            if not found or not found[0].can_suspend:
                raise IllegalStepError("Container cannot be suspended right now")
        for order in suspensions:
            (c,) = (c for c in self.active_containers if c.container_id == order.container_id)
            c.left = int(c.assignment.ram / DISK_SCAN_GB_SEC / run.tick_length)
            if not run.compat:
                c.left = max(1, c.left)
            c.left *= PARTS
            for op in c.operators[c.index :]:
                op.transition(OperatorState.SUSPENDING)
            self.suspending_containers.append(c)
            self.active_containers.remove(c)
            run.changes += 1
            run.events.append((run.clock.now_ticks, "suspend", c.container_id, self.pool_id))

    def _start(self, assignments):
        run = self.run_of
        cpu = ram = 0
        for order in assignments:
            cpu += order.cpu
            ram += order.ram
        if cpu > self.avail_cpu_pool:
            raise IllegalStepError("Overallocated CPU in assignment")
        if not run.parameters.allow_memory_overcommit and ram > self.avail_ram_pool:
            raise IllegalStepError("Overallocated RAM in assignment")
        for order in assignments:
            if not run.parameters.multi_operator_containers and len(order.ops) != 1:
                raise IllegalStepError("exactly 1 operator")
            run.number += 1
            c = TwinContainer(run.number, order, self, run)
            self.avail_cpu_pool -= order.cpu
            self.avail_ram_pool -= order.ram
            self.active_containers.append(c)
            ops = tuple(op.id for op in order.ops)
            run.events.append(
                (run.clock.now_ticks, "start", c.container_id, self.pool_id, ops, order.cpu, order.ram)
            )

    def _kill(self):
        for c in self.active_containers:
            if c.memory > c.assignment.ram:
                c.kill("OOM")
        if self.consumed_ram_gb > self.max_ram_pool:
            scored = [
                (c.memory * (c.memory / c.assignment.ram), c)
                for c in self.active_containers
                if not c.over and c.memory > 0
            ]
            scored.sort(key=lambda pair: pair[0], reverse=True)
            for _, c in scored:
                if self.consumed_ram_gb <= self.max_ram_pool:
                    break
                c.kill("OOM")
        for c in self.active_containers:
            if not c.over and any(op.pipeline.status.has_timed_out() for op in c.operators):
                c.kill("timeout")

    def _collect(self):
        over = [c for c in self.active_containers if c.over]
        for c in over:
            self.avail_cpu_pool += c.assignment.cpu
            self.avail_ram_pool += c.assignment.ram
            self.ended_ticks.append(c.elapsed)
            self.active_containers.remove(c)
        if over:
            rest = list(self.active_containers)
            if not self.run_of.compat:
                rest += self.suspending_containers
            self.consumed_ram_gb = compensated_sum(c.memory for c in rest)
        return over


class TwinRun:
    """The whole loop; the attributes that a policy needs are the executor's too."""

    def __init__(self, parameters, arrivals, estimator=None):
        self.parameters = parameters
        self.arrivals = arrivals
        self.estimator = estimator
        self.compat = parameters.is_compat
        self.tick_length = 1.0 / parameters.ticks_per_second
        self.clock = TwinClock(parameters.ticks_per_second)
        self.num_pools = parameters.num_pools
        self.cpus_per_pool = parameters.cpus_per_pool
        self.ram_gb_per_pool = parameters.ram_gb_per_pool
        self.pools = [TwinPool(index, self) for index in range(parameters.num_pools)]
        self.number = 0
        self.changes = 0
        self.events = []
        self.written = []
        self.samples = []
        self.finished = []
        self.timed_out = []
        self.seen = {}
        self.places = {}
        self.pipelines = []

    returned_pools = 0
    suspension_changes = property(lambda self: self.changes)

    def run(self, policy):
        parameters = self.parameters
        last = int(parameters.duration * parameters.ticks_per_second) - 1
        limit = int(parameters.max_job_seconds * parameters.ticks_per_second)
        outstanding, results = {}, []
        for tick in range(last + 1):
            self.clock.now_ticks = tick
            new = self._arrive(tick, limit, outstanding)
            suspensions, assignments = policy.step(results, new)
            over = self._run_pools(suspensions, assignments)
            self.events += self.written
            self.written = []
            results = []
            for c in over:
                done = tuple(op.id for op in c.operators if op.value is OperatorState.COMPLETED)
                self.events.append((tick, "end", c.container_id, c.pool_id, c.error, done))
                order = c.assignment
                results.append(
                    ExecutionResult(
                        order.ops, order.cpu, order.ram, order.priority, c.pool_id, c.container_id, c.error
                    )
                )
            if results or not self.compat:
                for name, pipeline in list(outstanding.items()):
                    if pipeline.status.is_pipeline_successful():
                        pipeline.status.finish_tick = tick
                        self.finished.append((tick, pipeline.unique_id))
                        del outstanding[name]
            whole = tick % parameters.ticks_per_second == 0
            if limit and (whole or tick == last):
                for name, pipeline in list(outstanding.items()):
                    if pipeline.status.has_timed_out():
                        self.timed_out.append(pipeline.unique_id)
                        del outstanding[name]
            if whole:
                allocated = compensated_sum(p.max_ram_pool - p.avail_ram_pool for p in self.pools)
                self.samples.append((allocated, compensated_sum(p.consumed_ram_gb for p in self.pools)))

    def _run_pools(self, suspensions, assignments):
        over, bandwidth = [], self.parameters.shared_storage_gb_per_second
        if not bandwidth:
            for pool in self.pools:
                pool.follow(suspensions, assignments)
                over += pool.tick(None)
            return over
        for pool in self.pools:
            pool.follow(suspensions, assignments)
        asked = fsum(speed for pool in self.pools for speed in pool.asked())
        share = PARTS if asked <= bandwidth else ceil(PARTS * (bandwidth / asked))
        for pool in self.pools:
            over += pool.tick(share)
        return over

    def _arrive(self, tick, limit, outstanding):
        due = self.arrivals.next_tick()
        new = []
        for spec in self.arrivals.take(tick) if due is not None and due <= tick else ():
            pipeline = from_spec(spec)
            uses = self.seen[spec.pipeline_id] = self.seen.get(spec.pipeline_id, 0) + 1
            if uses > 1:
                pipeline.unique_id = f"{spec.pipeline_id}#{uses}"
            if not self.compat:
                pipeline.pipeline_id = pipeline.unique_id
            if self.estimator is not None:
                for op in pipeline.values:
                    op.estimate = self.estimator.step(op)
            pipeline.status.arrive(tick, tick + limit if limit else None, self.clock)
            outstanding[pipeline.pipeline_id] = pipeline
            new.append(pipeline)
            self.pipelines.append(pipeline)
        return new
