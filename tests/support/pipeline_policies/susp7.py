"""The policy "susp7" from its description: suspends what it can in every seventh tick."""

from batpy.pipelines import (
    ASSIGNABLE_STATES,
    Assignment,
    OperatorState,
    Suspend,
    register_scheduler,
    register_scheduler_init,
)


@register_scheduler_init(key="susp7")
def prepare(s):
    s.jobs = []
    s.seen = set()


@register_scheduler(key="susp7")
def decide(s, results, pipelines):
    queue(s, results, pipelines)
    suspensions = []
    if s.clock.now_ticks % 7 == 0:
        for pool in s.executor.pools:
            for container in pool.active_containers:
                if container.can_suspend_container():
                    suspensions.append(Suspend(container.container_id, pool.pool_id))
    return suspensions, place(s)


def queue(s, results, pipelines):
    for pipeline in pipelines:
        s.jobs.append((pipeline.runtime_status().get_ops(ASSIGNABLE_STATES), 1.5, 6.5))
    for result in results:
        if result.failed():
            left = [op for op in result.ops if op.state() != OperatorState.COMPLETED]
            s.jobs.append((left, result.cpu, 2 * result.ram))
    for pool in s.executor.pools:
        for container in pool.suspended_containers:
            if container.container_id not in s.seen:
                s.seen.add(container.container_id)
                left = [op for op in container.operators if op.state() == OperatorState.PENDING]
                order = container.assignment
                s.jobs.append((left, order.cpu + 0.25, order.ram))


def place(s):
    free = [[pool.avail_cpu_pool, pool.avail_ram_pool] for pool in s.executor.pools]
    assignments, kept = [], []
    for job in s.jobs:
        ops, cpu, ram = job
        if all(ram > pool.max_ram_pool for pool in s.executor.pools):
            continue
        for index, (cpus, memory) in enumerate(free):
            if cpu <= cpus and ram <= memory:
                free[index][0] -= cpu
                free[index][1] -= ram
                pipeline = ops[0].pipeline
                assignments.append(Assignment(ops, cpu, ram, pipeline.priority, index, pipeline.pipeline_id))
                break
        else:
            kept.append(job)
    s.jobs = kept
    return assignments
