"""The reference policy for external schedulers: Eudoxia's Go example, as a function of the snapshot alone."""

from __future__ import annotations

from batpy.schedulers.pipelines.snapshot import AssignOrder, Orders, Snapshot


class ReferencePolicy:
    """Whole pools, first come, first served, no retries.

    Each pool with something free gets the first operator, new pipelines before others, that is assignable,
    whose parents are complete, and whose pipeline is neither complete nor has failures.
    """

    def schedule(self, snapshot: Snapshot) -> Orders:
        """Orders for one snapshot."""
        ready = (
            (pipeline.priority, operator.id)
            for pipeline in (*snapshot.new_pipelines, *snapshot.other_pipelines)
            if not pipeline.is_complete and not pipeline.has_failures
            for operator in pipeline.operators
            if operator.is_assignable_state and operator.parents_complete
        )
        assignments = []
        for pool in snapshot.pools:
            if pool.avail_cpu <= 0 or pool.avail_ram_gb <= 0:
                continue
            priority, name = next(ready, (None, ""))
            if priority is None:
                break
            assignments.append(
                AssignOrder(
                    operator_ids=(name,),
                    cpu=pool.avail_cpu,
                    ram_gb=pool.avail_ram_gb,
                    pool_id=pool.pool_id,
                    priority=priority,
                    is_resume=False,
                    force_run=False,
                )
            )
        return Orders((), tuple(assignments))
