"""Random pipeline workloads and runs of both engines on them, for comparisons to the bit."""

from __future__ import annotations

from pipeline_twin import TwinRun

from batpy.base.errors import InputError
from batpy.base.pipelines import Priority
from batpy.models.containers.engine import PipelineRun
from batpy.pipelines.simulate import load_shipped, shown
from batpy.schedulers.pipelines.api import Scheduler
from batpy.workloads.pipelines.parameters import read_parameters
from batpy.workloads.pipelines.pipeline import OperatorSpec, PipelineSpec, make_shape
from batpy.workloads.pipelines.segment import SCALING, Segment
from batpy.workloads.pipelines.trace import Arrival, TraceSource

POLICIES = ("naive", "priority", "priority-pool", "overbook", "sjf", "priority-est", "wild")


def random_segment(dice):
    """Fixed or growing memory, sizes that meet limits exactly now and then, sometimes no length at all."""
    reading = dice.choice([0, 0, 0.5, 1, 2, 5, 10.3, 20, 25, 37.5, 40, 55])
    memory = dice.choice([None, None, 0, 1, 3, 4.2, 10, 16, 20, 33.3])
    seconds = dice.choice([0.0, 0.01, 0.1, 0.3, 0.5, 1, 1.0, 1.7, 2.57, 5, 15.0])
    return Segment(seconds, dice.choice(list(SCALING)), memory, reading)


def random_pipeline(dice, name):
    """Up to six operators, each with random earlier parents."""
    operators = []
    for position in range(dice.choice([1, 1, 2, 3, 4, 6])):
        parents = tuple(sorted(dice.sample(range(position), dice.randint(0, min(2, position)))))
        segments = tuple(random_segment(dice) for _ in range(dice.choice([1, 1, 1, 2, 3])))
        operators.append(OperatorSpec(f"op{position + 1}", segments, parents))
    return PipelineSpec(name, dice.choice(list(Priority)), make_shape(operators))


def random_case(dice, compat, *, shared=False):
    """Parameters and arrivals; with one storage for all containers if *shared*."""
    policy = dice.choice(POLICIES)
    table = {
        "duration": dice.choice([3, 7.3, 12.5, 20, 31]),
        "ticks_per_second": dice.choice([1, 3, 5, 7, 10, 20, 30, 50]),
        "scheduler_algo": policy,
        "num_pools": 2 if policy == "priority-pool" else dice.choice([1, 1, 2, 3]),
        "cpus_per_pool": dice.choice([1, 2, 4, 10, 16, 64]),
        "ram_gb_per_pool": dice.choice([5, 16, 20, 40, 64, 100, 250]),
        "multi_operator_containers": dice.random() < 0.6,
        "allow_memory_overcommit": policy in ("overbook", "wild") and dice.random() < 0.8,
        "max_job_seconds": dice.choice([0, 0, 0, 1, 2.5, 8]),
        "estimator_algo": dice.choice(["", "noisy"]),
        "noisy_estimator_sigma": dice.choice([0.0, 0.5]),
        "random_seed": dice.randint(0, 1000),
        "compat": compat,
        "container_start_seconds": dice.choice([0, 0, 0, 0.5]),
        "remote_read_gb_per_second": dice.choice([0, 0, 0, 4.0, 30]),
        "shared_storage_gb_per_second": dice.choice([3.3, 7.5, 20, 30, 45, 100]) if shared else 0,
    }
    if policy in ("overbook", "sjf"):
        table["multi_operator_containers"] = False
    seconds, arrivals = 0.0, []
    for number in range(dice.randint(1, 14)):
        # A name that comes again replaces the earlier one in the original's list.
        name = f"p{number}" if dice.random() < 0.97 else "p0"
        arrivals.append(Arrival(seconds, random_pipeline(dice, name)))
        seconds += dice.choice([0.0, 0.0, 0.07, 0.3, 0.9, 1.0, 2.2])
    return table, arrivals


def both(table, arrivals, *, every_tick=False):
    """Run both engines; returns what each of them saw, in one form."""
    import wild_policy  # noqa: F401 - registers itself

    load_shipped()
    file = read_parameters(table)
    return fast(file, arrivals, every_tick=every_tick), slow(file, arrivals)


def _estimator(file):
    from batpy.pipelines.estimators import RunEstimator

    parameters = file.parameters
    return RunEstimator(parameters.estimator_algo, shown(file)) if parameters.estimator_algo else None


def _source(file, arrivals):
    return TraceSource(arrivals, file.parameters.tick_length, exact=file.parameters.is_compat)


def fast(file, arrivals, *, every_tick=False):
    run = PipelineRun(file.parameters, _source(file, arrivals), estimator=_estimator(file))
    crash = _go(run, run.executor, file, every_tick)
    record = run.record
    events = []
    for event in record.events:
        c = event.container
        row = (event.tick, event.kind, c.container_id, c.pool_id)
        if event.kind == "start":
            row += (tuple(op.id for op in c.operators), c.cpu, c.ram)
        elif event.kind == "end":
            row += (event.error, tuple(op.id for op in event.done))
        events.append(row)
    finished = sorted(
        (p.status.finish_tick, p.unique_id) for group in record.finished.values() for p in group
    )
    timed_out = sorted(p.unique_id for group in record.timed_out.values() for p in group)
    times = [pool.container_tick_times for pool in run.executor.pools]
    samples = [sample[:2] for sample in record.samples for _ in range(sample[2])]
    return _seen(crash, run.executor.pools, events, samples, finished, timed_out, times, record.pipelines)


def slow(file, arrivals):
    run = TwinRun(file.parameters, _source(file, arrivals), _estimator(file))
    crash = _go(run, run, file, True)
    times = [pool.ended_ticks for pool in run.pools]
    return _seen(
        crash,
        run.pools,
        run.events,
        run.samples,
        sorted(run.finished),
        sorted(run.timed_out),
        times,
        run.pipelines,
    )


def _go(run, executor, file, every_tick):
    try:
        key = file.parameters.scheduler_algo
        policy = Scheduler(key, executor, run.clock, shown(file), compat=file.parameters.is_compat)
        policy.every_tick = policy.every_tick or every_tick
        run.run(policy)
    except InputError as why:
        return getattr(why, "condition", "AssertionError")
    return None


def _seen(crash, pools, events, samples, finished, timed_out, times, pipelines):
    seen = {
        "crash": crash,
        "events": events,
        "finished": finished,
        "timed_out": timed_out,
        "times": times,
    }
    if crash is None:
        seen["samples"] = samples
        seen["late"] = [pipeline.status.has_timed_out() for pipeline in pipelines]
        seen["states"] = [[op.value for op in pipeline.values.nodes] for pipeline in pipelines]
        seen["pools"] = [
            (
                pool.avail_cpu_pool,
                pool.avail_ram_pool,
                pool.consumed_ram_gb,
                [c.container_id for c in pool.active_containers],
                [c.container_id for c in pool.suspending_containers],
                [c.container_id for c in pool.suspended_containers],
                [c.get_current_memory_usage() for c in pool.active_containers],
            )
            for pool in pools
        ]
    return seen
