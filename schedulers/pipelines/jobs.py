"""What the priority policies share: jobs in line, and what became of suspended containers."""

from __future__ import annotations

from typing import Any, NamedTuple

from batpy.base.pipelines import OperatorState, Priority


class Retry(NamedTuple):
    """The container a job had before: its size, and what killed it (None: it was suspended)."""

    cpu: float
    ram: float
    error: str | None


def retry_of(result: Any) -> Retry:
    """What a failed result tells about the next try; a container whose pool was taken away did not fail."""
    return Retry(result.cpu, result.ram, None if result.error == "revoked" else result.error)


class Job(NamedTuple):
    """Operators that are to run in one container."""

    priority: Priority
    pipeline: Any
    ops: list[Any]
    retry: Retry | None = None


def unfinished(ops: list[Any]) -> list[Any]:
    """Those that are not complete."""
    return [op for op in ops if op.state() is not OperatorState.COMPLETED]


class SuspendedJobs:
    """Remembers the jobs of suspended containers until they can go back in line.

    The original sees a suspension only while it is being written out: one that takes a single tick is never
    seen, and its job is lost. That is kept in compat mode; otherwise every suspended container counts.
    """

    def __init__(self, *, compat: bool) -> None:
        self._compat = compat
        self._waiting: dict[str, Job] = {}
        self._taken: dict[int, int] = {}
        self._seen = 0

    def returned(self, executor: Any) -> list[Job]:
        """Jobs whose containers are written out, by pool."""
        if executor.suspension_changes == self._seen:
            return []
        self._seen, pools = executor.suspension_changes, executor.pools
        for pool in pools:
            for container in pool.suspending_containers:
                self._note(container)
        jobs = []
        for pool in pools:
            seen = self._taken.get(pool.pool_id, 0)
            new = pool.suspended_containers[seen:]
            if not new:
                continue
            self._taken[pool.pool_id] = seen + len(new)
            for container in new:
                if not self._compat and container.container_id not in self._waiting:
                    self._note(container)
                job = self._waiting.pop(container.container_id, None)
                if job is not None:
                    jobs.append(job)
        return jobs

    def _note(self, container: Any) -> None:
        if container.container_id in self._waiting:
            return
        ops = unfinished(container.operators)
        order = container.assignment
        retry = Retry(order.cpu, order.ram, container.error)
        self._waiting[container.container_id] = Job(container.priority, ops[0].pipeline, ops, retry)
