"""A policy without sense that uses all that the interface allows, decided by a random stream of its own.

It looks at everything a policy can see and draws from what it saw, so a view that differs in one bit between
two engines leads to other decisions.
"""

from __future__ import annotations

import random

from batpy.base.pipelines import ASSIGNABLE_STATES
from batpy.pipelines import Assignment, Suspend, register_scheduler, register_scheduler_init


@register_scheduler_init(key="wild")
def prepare(s):
    s.random = random.Random(s.params["random_seed"])
    s.pipelines = []


@register_scheduler(key="wild")
def decide(s, results, pipelines):
    s.pipelines += pipelines
    pools = s.executor.pools
    look = [s.clock.now_ticks]
    for pool in pools:
        look += [pool.avail_cpu_pool, pool.avail_ram_pool, pool.consumed_ram_gb]
        look += [(c.container_id, c.get_current_memory_usage()) for c in pool.active_containers]
        look += [c.container_id for c in pool.suspending_containers + pool.suspended_containers]
    look += [(r.container_id, r.error, r.failed(), [op.id for op in r.ops]) for r in results]
    look += [op.state().value for p in s.pipelines for op in p.values]
    dice = random.Random(repr((s.params["random_seed"], look)))
    suspensions = [
        Suspend(c.container_id, pool.pool_id)
        for pool in pools
        for c in pool.active_containers
        if c.can_suspend_container() and dice.random() < 0.6
    ]
    if dice.random() < 0.4:
        return suspensions, []
    return suspensions, _assign(s, dice, pools)


def _assign(s, dice, pools):
    several = s.params["multi_operator_containers"]
    free = [[pool.avail_cpu_pool, pool.avail_ram_pool] for pool in pools]
    assignments = []
    for pipeline in dice.sample(s.pipelines, len(s.pipelines)):
        ops = pipeline.runtime_status().get_ops(ASSIGNABLE_STATES, require_parents_complete=not several)
        if not ops or (pipeline.runtime_status().has_timed_out() and dice.random() < 0.8):
            continue
        ops = ops[: dice.randint(1, len(ops))] if several else ops[:1]
        index = dice.randrange(len(pools))
        cpu = dice.choice([0.25, 1, 1.5, 2, 3, 8])
        ram = dice.choice([0.5, 2, 4, 6, 10, 20, 33.3, 55.0, 64])
        roomy = ram <= free[index][1] or s.params["allow_memory_overcommit"]
        if cpu <= free[index][0] and roomy:
            free[index][0] -= cpu
            free[index][1] -= ram
            name = pipeline.pipeline_id
            assignments.append(Assignment(ops, cpu, ram, pipeline.priority, index, name))
        if dice.random() < 0.2:
            break
    return assignments
