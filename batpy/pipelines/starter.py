"""Texts that ``batpy pipelines init`` writes: a parameter file with the defaults, and a first policy."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from batpy.base.options import option_meanings
from batpy.workloads.pipelines.parameters import OWN_KEYS, Parameters

_POLICY = '''\
"""A first policy: first come, first served, one ready operator for each pool that is free."""

from batpy.pipelines import (
    ASSIGNABLE_STATES,
    Assignment,
    register_scheduler,
    register_scheduler_init,
)


@register_scheduler_init(key="{name}")
def prepare(s):
    """Called once. s is yours for attributes; s.executor, s.params and s.clock are there."""
    s.waiting = []


@register_scheduler(key="{name}")
def decide(s, results, pipelines):
    """Called in every tick; returns what to suspend and what to start."""
    s.waiting += pipelines
    s.waiting = [p for p in s.waiting if not p.runtime_status().is_pipeline_successful()]
    assignments = []
    for pool in s.executor.pools:
        cpu, ram = pool.avail_cpu_pool, pool.avail_ram_pool
        if cpu <= 0 or ram <= 0:
            continue
        for pipeline in s.waiting:
            ready = pipeline.runtime_status().get_ops(ASSIGNABLE_STATES, require_parents_complete=True)
            if ready:
                assignments.append(
                    Assignment(
                        ops=ready[:1],
                        cpu=cpu,
                        ram=ram,
                        priority=pipeline.priority,
                        pool_id=pool.pool_id,
                        pipeline_id=pipeline.pipeline_id,
                    )
                )
                break
    return [], assignments
'''


def toml_value(value: Any) -> str:
    """A scalar as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return repr(value)


def parameter_text(scheduler: str | None = None) -> str:
    """All parameters with their meanings, defaults, and perhaps a policy of the user's own."""
    meanings = option_meanings(Parameters)
    table = Parameters().as_dict()
    if scheduler is not None:
        table["scheduler_algo"] = scheduler
    lines = []
    for name, value in table.items():
        lines += _comment(meanings[name])
        lines.append(f"{name} = {toml_value(value)}")
    lines += ["", "# What Eudoxia does not have; all of it is off unless its # is taken away."]
    for name in OWN_KEYS:
        lines += _comment(meanings[name])
        lines.append(f"# {name} = {toml_value(getattr(Parameters(), name))}")
    return "\n".join(lines) + "\n"


def _comment(meaning: str) -> list[str]:
    return wrap(meaning.replace("``", ""), 100, initial_indent="# ", subsequent_indent="# ")


def policy_text(name: str) -> str:
    """A policy file under that key."""
    return _POLICY.replace("{name}", name)
