"""The table of shipped sharing policies, and how a text becomes one."""

from __future__ import annotations

from pathlib import Path

from batpy.base.plugins import Registry
from batpy.broker.policy import SharingPolicy, is_policy

POLICIES: Registry[SharingPolicy] = Registry(
    "sharing policy", group="batpy.policies", accepts=is_policy, wanted="a class derived from SharingPolicy"
)
POLICIES.register("static", "batpy.broker.policies.static:Static")
POLICIES.register("bebida", "batpy.broker.policies.bebida:Bebida")
POLICIES.register("priority", "batpy.broker.policies.priority:Priority")


def make_policy(spec: str, *, base: Path | None = None) -> SharingPolicy:
    """Make a policy from ``bebida[lazy=true]``, an entry point's name, or ``./mine.py:Mine[...]``.

    Raises:
        InputError: no such policy or option.
    """
    return POLICIES.make(spec, base=base)
