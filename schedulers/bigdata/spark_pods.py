"""Spark applications on Kubernetes, one after another: a driver on a safe node, one executor pod a node.

What Spark 3 and Kubernetes do, as far as it decides when an application ends:

- The driver takes ``driver_start`` until its context is up; it needs no host of the park. Then it asks for
  its executors at once; each takes a whole node, drawn evenly among the free ones (Kubernetes scores empty
  equal nodes alike and draws among the best), and is ready after ``executor_start``. Where there is no free
  node, the pod waits for one.
- Tasks begin once ``ratio`` of the executors are ready, or after ``ratio_wait`` with what there is (Spark's
  ``minRegisteredResourcesRatio`` and ``maxRegisteredResourcesWaitingTime``; on Kubernetes 0.8 and 30 s). They
  are spread evenly over the executors that are ready, and are so short that those on a lost executor cost
  nothing; that holds for profiles made of many short parts that scale.
- When hosts of its node are taken, an executor is lost and a new one is asked for. With probability ``p`` the
  loss of one that ran tasks is not noticed: it is not replaced and its tasks are not run elsewhere before the
  driver's heartbeat receiver, which looks every ``detect_interval`` since the context is up, finds it silent
  for more than ``detect_timeout`` (Spark's ``spark.network.timeoutInterval`` and ``spark.network.timeout``,
  60 and 120 s). The application ends after that, however soon the others are done.
- The next application is submitted ``pause`` after the end of the one before, whatever its date says, or at
  its date if that is later.
"""

from __future__ import annotations

import math
import random
from collections import deque
from dataclasses import dataclass, field

from batpy.base.errors import InputError
from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.messages import Event
from batpy.schedulers.api import Job, Plan, View
from batpy.schedulers.bigdata.elastic import slowest_speed
from batpy.schedulers.bigdata.lives import JobLives

LAST = 0.25
"""Seconds of work that an application keeps until a loss is noticed."""


@dataclass(frozen=True)
class SparkPodsOptions:
    """Options of ``spark_pods``; times in seconds.

    Attributes:
        node_hosts: hosts of a node, which are numbered in a row.
        driver_start: from submission until executors are asked for.
        executor_start: from the placement of a pod until it runs tasks.
        pause: between the end of an application and the submission of the next.
        ratio: part of the executors that must be ready before tasks begin.
        ratio_wait: after which they begin with those that are ready.
        p: probability that the loss of an executor is not noticed before its timeout.
        detect_timeout: silence after which an executor counts as lost.
        detect_interval: between two looks for silent executors.
        seed: of the draws of nodes and of losses that are not noticed.
    """

    node_hosts: int = 1
    driver_start: float = 8.0
    executor_start: float = 5.0
    pause: float = 5.0
    ratio: float = 0.8
    ratio_wait: float = 30.0
    p: float = 0.0
    detect_timeout: float = 120.0
    detect_interval: float = 60.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.node_hosts < 1:
            raise ValueError(f"node_hosts must be 1 or more, got {self.node_hosts}")
        for name in ("driver_start", "executor_start", "pause", "ratio_wait", "detect_timeout"):
            if not 0 <= getattr(self, name) < 1e9:
                raise ValueError(f"{name} must be a number from 0 to 1e9, got {getattr(self, name):g}")
        for name in ("ratio", "p"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be between 0 and 1, got {getattr(self, name):g}")
        if not 0 < self.detect_interval < 1e9:
            raise ValueError(f"detect_interval must be above 0, got {self.detect_interval:g}")


@dataclass(slots=True)
class _Application:
    """The application that is on; dates in ticks.

    Attributes:
        origin: full id of the job that was submitted.
        wanted: executors.
        context: when its driver can ask for them.
        pods: node of each executor, and when it is ready.
        begun: tasks have begun.
        unnoticed: lost executors of which the driver does not know.
        noticed_at: when it will know of the last of them; 0 if there was none.
        job: its attempt that waits or runs.
        nodes: on which that runs; empty while it waits.
        last_at: when it has ``LAST`` to do.
        kept_back: it waits for ``noticed_at`` with its last work.
    """

    origin: str
    wanted: int
    context: int
    pods: dict[int, int] = field(default_factory=dict)
    begun: bool = False
    unnoticed: int = 0
    noticed_at: int = 0
    job: Job | None = None
    nodes: frozenset[int] = frozenset()
    last_at: int = 0
    kept_back: bool = False


class SparkPods:
    """One application at a time, on whole nodes that come and go."""

    Options = SparkPodsOptions
    registers = True
    elastic = True
    wants = ("machine_events", "refusals", "sharing")

    def __init__(self, options: SparkPodsOptions) -> None:
        self._options = options
        self._dice = random.Random(f"{options.seed}/spark_pods")
        self._queue: deque[Job] = deque()
        self._now: _Application | None = None
        self._next_at = 0
        self._lives: JobLives
        self._speed = 0.0
        self._nodes: list[HostSet] = []

    def begin(self, view: View) -> Plan:
        """Learn the hosts.

        Raises:
            InputError: jobs cannot be registered here, or the hosts make no whole nodes of known speed.
        """
        self._lives = JobLives(view, "spark_pods")
        size = self._options.node_hosts
        hosts = list(hostset.ids(view.hosts))
        if len(hosts) % size or hosts != list(range(len(hosts))):
            raise InputError(f"spark_pods: {len(hosts)} hosts make no whole nodes of {size}")
        self._nodes = [((first, first + size - 1),) for first in range(0, len(hosts), size)]
        speed = slowest_speed(view.greeting.compute_resources)
        if speed is None:
            raise InputError("spark_pods needs to be told the speed of the hosts")
        self._speed = speed
        plan = Plan(view)
        self._lives.end_registration(view, plan)
        return plan

    def hear(self, event: Event) -> None:
        """Take in reports of kills, and notices."""
        self._lives.hear(event)

    def decide(self, view: View) -> Plan:
        """One step."""
        plan, lives = Plan(view), self._lives
        app = self._now
        if app is not None:
            self._lose_pods(view, app)
            self._look_at_ends(view, app)
        for job, attempt in lives.update(view, plan):
            if app is not None and attempt.origin == app.origin:
                app.job = job
            elif self._fits(plan, job):
                self._queue.append(job)
        if self._now is None and self._queue:
            self._submit(view, plan)
        if self._now is not None:
            self._go_on(view, plan, self._now)
        lives.end_registration(view, plan)
        return plan

    # ------------------------------------------------------------------ what happened

    def _fits(self, plan: Plan, job: Job) -> bool:
        size = self._options.node_hosts
        if self._lives.attempt(job).tree.scales and not job.res % size:
            return True
        plan.reject(job, f"is no application of parts that scale on whole nodes of {size} hosts")
        self._lives.forget(job)
        return False

    def _lose_pods(self, view: View, app: _Application) -> None:
        """Executors on nodes of which hosts were taken are gone."""
        if not view.down:
            return
        for node in [node for node in app.pods if hostset.intersection(self._nodes[node], view.down)]:
            del app.pods[node]
            # One that runs no task at the moment leaves nothing to wait for.
            if node in app.nodes and self._dice.random() < self._options.p:
                app.unnoticed += 1
                app.noticed_at = max(app.noticed_at, self._noticed(view, app))

    def _noticed(self, view: View, app: _Application) -> int:
        """When the driver finds an executor silent that was lost now."""
        options, second = self._options, view.ticks_per_second
        since = (view.now - app.context) / second + options.detect_timeout
        looks = math.floor(since / options.detect_interval) + 1
        return app.context + round(looks * options.detect_interval * second)

    def _look_at_ends(self, view: View, app: _Application) -> None:
        for job in view.ended:
            if app.job is not None and job.id == app.job.id:
                app.nodes = frozenset()
                app.job = None
                if job.state and job.state != "COMPLETED_KILLED":
                    self._now = None
                    self._next_at = view.now + round(self._options.pause * view.ticks_per_second)

    # ------------------------------------------------------------------ what to do

    def _submit(self, view: View, plan: Plan) -> None:
        """The next application, if it is time."""
        if view.now < self._next_at:
            plan.wake(self._next_at)
            return
        job = self._queue.popleft()
        context = view.now + round(self._options.driver_start * view.ticks_per_second)
        wanted = job.res // self._options.node_hosts
        self._now = _Application(self._lives.attempt(job).origin, wanted, context, job=job)

    def _go_on(self, view: View, plan: Plan, app: _Application) -> None:
        """Place pods, and let the application run on those that are ready."""
        if view.now < app.context:
            plan.wake(app.context)
            return
        if app.noticed_at > view.now:
            plan.wake(app.noticed_at)
        else:
            app.unnoticed = 0
        self._place(view, plan, app)
        ready = frozenset(node for node, date in app.pods.items() if date <= view.now)
        self._begin_tasks(view, plan, app, ready)
        if app.job is None or not app.begun:
            return
        if app.nodes:
            self._while_running(view, plan, app, ready)
        elif ready and not (app.kept_back and app.noticed_at > view.now):
            self._start(view, plan, app, ready)

    def _place(self, view: View, plan: Plan, app: _Application) -> None:
        """Pods that are missing go to free nodes."""
        missing = app.wanted - len(app.pods) - app.unnoticed
        if missing > 0:
            free = [
                node
                for node, hosts in enumerate(self._nodes)
                if node not in app.pods and not hostset.intersection(hosts, view.down)
            ]
            ready = view.now + round(self._options.executor_start * view.ticks_per_second)
            for _ in range(min(missing, len(free))):
                app.pods[free.pop(int(self._dice.random() * len(free)))] = ready
        for date in app.pods.values():
            if date > view.now:
                plan.wake(date)

    def _begin_tasks(self, view: View, plan: Plan, app: _Application, ready: frozenset[int]) -> None:
        """Tasks begin when there are executors enough, or some after a while."""
        if app.begun:
            return
        patience = app.context + round(self._options.ratio_wait * view.ticks_per_second)
        if len(ready) >= app.wanted * self._options.ratio or (ready and view.now >= patience):
            app.begun = True
        elif view.now < patience:
            plan.wake(patience)

    def _start(self, view: View, plan: Plan, app: _Application, ready: frozenset[int]) -> None:
        """The attempt runs on all executors that are ready."""
        assert app.job is not None
        hosts = hostset.normalise(pair for node in sorted(ready) for pair in self._nodes[node])
        if hostset.difference(hosts, plan.free):
            return  # hosts that are on their way out, or still being vacated
        seconds = self._lives.attempt(app.job).tree.flops / (hostset.size(hosts) * self._speed)
        app.last_at = view.now + round(max(0.0, seconds - LAST) * view.ticks_per_second)
        if app.noticed_at > view.now:
            if app.last_at == view.now:  # a loss that is not noticed yet took an executor just before the end
                app.kept_back = True
                return
            plan.wake(app.last_at)
        plan.start_on(app.job, hosts)
        self._lives.started(app.job, hostset.size(hosts))
        app.nodes = ready

    def _while_running(self, view: View, plan: Plan, app: _Application, ready: frozenset[int]) -> None:
        """Stop it where it must wait for a loss to be noticed, or to go on with executors that came."""
        assert app.job is not None
        if app.noticed_at > view.now:
            if view.now >= app.last_at:
                app.kept_back = True
                self._lives.stop(view, plan, app.job, keep=True)
                return
            plan.wake(app.last_at)
        if ready > app.nodes and app.nodes <= app.pods.keys() and view.now < app.last_at:
            self._lives.stop(view, plan, app.job, keep=True)
