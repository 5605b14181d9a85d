"""What the accounts and the audit see of the broker at work."""

from __future__ import annotations

import textwrap
from pathlib import Path

from shared_park import SECOND, SharedRun, run_shared, workload

from batpy.broker import policy as policies
from batpy.broker.tenants import TenantConfig
from batpy.protocol.records import Started
from batpy.results.accounting.figures import figures
from batpy.results.accounting.fold import account_records
from batpy.results.accounting.joined import joined
from batpy.results.accounting.laws import SharingLaws
from batpy.schedulers.registry import make_scheduler

DELAYS = {"d10": {"type": "delay", "delay": 10}}


def run(policy: str, jobs: dict[str, int], hosts: int = 4) -> SharedRun:
    """One job of two hosts for each tenant, by its submission; none of them speaks the sharing extension."""
    tenants = [(TenantConfig(name, (f"w{name}",)), make_scheduler("fcfs")) for name in jobs]
    loads = [
        workload(f"w{name}", [{"id": "1", "subtime": t, "res": 2, "walltime": 20, "profile": "d10"}], DELAYS)
        for name, t in jobs.items()
    ]
    return run_shared(policy, tenants, loads, hosts)


def broken(shared: SharedRun) -> list[str]:
    laws = SharingLaws()
    found = [f for record in joined(shared.journal, shared.sharing) for f in laws.check(record)]
    return list(map(str, [*found, *laws.finish(shared.journal[-1].time)]))


def test_a_start_waits_for_every_lower_tenant_and_the_prolog_even_if_hosts_are_seized_at_once() -> None:
    shared = run("priority[prolog_base=5]", {"a": 3, "b": 100, "c": 200})
    starts = {record.job: record.time / SECOND for record in shared.journal if type(record) is Started}
    assert starts == {"wa!1": 8, "wb!1": 105, "wc!1": 200}
    assert broken(shared) == []


def test_waiting_is_told_apart_from_the_prolog() -> None:
    shared = run("priority[prolog_base=5,epilog_base=2]", {"a": 3, "b": 100, "c": 200})
    told = figures(account_records(shared.journal, shared.sharing)).tenants
    assert [(t.mean_waiting, t.mean_waiting_prolog) for t in told.values()] == [(5, 5), (5, 5), (0, 0)]
    spent = [(t.core_seconds.prolog, t.core_seconds.busy, t.core_seconds.epilog) for t in told.values()]
    assert spent == [(10, 20, 4), (10, 20, 4), (0, 20, 0)]


def test_hosts_that_nobody_has_on_loan_are_unlent() -> None:
    shared = run("static[shares=a:0-1 b:2-3]", {"a": 3, "b": 4}, hosts=5)
    assert broken(shared) == []
    told = figures(account_records(shared.journal, shared.sharing))
    spent = [(t.core_seconds.busy, t.core_seconds.idle) for t in told.tenants.values()]
    # Fourteen seconds: ten busy and four idle on each lent host, all of them unlent on the fifth.
    assert (told.horizon, spent, told.unlent, told.down) == (14, [(20, 8), (20, 8)], 14, 0)


def test_a_policy_that_takes_no_hosts_from_anybody_breaks_no_law(tmp_path: Path) -> None:
    _, _, example = (policies.__doc__ or "").partition("::\n")
    (tmp_path / "half.py").write_text(textwrap.dedent(example))
    shared = run(f"{tmp_path}/half.py:Half", {"a": 3, "b": 4})
    starts = {record.job: record.time / SECOND for record in shared.journal if type(record) is Started}
    assert starts == {"wa!1": 3, "wb!1": 13}  # b is lent the hosts that a uses, and waits for them
    assert broken(shared) == []
