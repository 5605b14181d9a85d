"""A user's sharing policy that fails or answers nonsense: one line with its name, nothing half recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from broker_talk import Talk, job, over, run

from batpy.base.errors import InputError
from batpy.broker import guard
from batpy.broker.guard import GuardedPolicy, guarded
from batpy.broker.policy import SharingPolicy
from batpy.broker.registry import make_policy
from batpy.protocol import sharing_records as r

HEAD = """\
from batpy.broker.actions import *
from batpy.broker.policy import SharingPolicy

class P(SharingPolicy):
"""
START = "def start_requested(self, start): return "
NO_HOSTS = "hosts must be a HostSet: a tuple of pairs"


def written(folder: Path, *body: str) -> str:
    """A policy with these lines as its body; its name."""
    (folder / "p.py").write_text(HEAD + "".join(f"    {line}\n" for line in body))
    return f"{folder}/p.py:P"


def one_job(policy: str) -> Talk:
    """One job of the first tenant starts at 1 and is over at 5, its hosts go back."""
    talk = Talk(policy)
    talk.tell(1, job(1, "h!1"), hpc=[run(1, "h!1", "0-1")])
    talk.tell(5, over(5, "h!1", "0-1"))
    talk.tell(9)
    return talk


ANSWERS = [
    ("None", "must answer with a list of actions, got None"),
    ("Grant()", "must answer with a list of actions, got Grant()"),
    ("'grant'", "must answer with a list of actions, got 'grant'"),
    ("['grant']", "answered 'grant': it means nothing here; choose from Grant, Hold, Deny, Revoke"),
    ("[Clean(5)]", "answered Clean(ticks=5, blocking=False): it means nothing here"),
    ("[Grant(), Deny('no')]", "answered Deny(reason='no'): it said Grant() before"),
    ("[Deny(5)]", "answered Deny(reason=5): reason must be a text"),
    ("[Revoke(7, start.hosts)]", "there is no tenant 7; choose from 0 (hpc), 1 (bda)"),
    ("[Revoke(-1, start.hosts)]", "there is no tenant -1; choose from 0 (hpc), 1 (bda)"),
    ("[Revoke(True, start.hosts)]", "there is no tenant True; choose from"),
    ("[Revoke(1, start.hosts), Revoke(1, ((1, 2),))]", "not lent to the tenant: host 1"),
    ("[Revoke(1, ((0, 99),))]", "the tenant may never use hosts 4-99"),
    ("[Revoke(1, [0, 1])]", NO_HOSTS),
    ("[Revoke(1, ((0, 0), (1, 1)))]", NO_HOSTS),
    ("[Revoke(1, ((0, 1.0),))]", NO_HOSTS),
    ("[Revoke(0, start.hosts)]", "hosts that the tenant's own start h!1 is to run on"),
    ("[Revoke(1, start.hosts, -1)]", "grace must be whole ticks from 0"),
    ("[Revoke(1, start.hosts, timeout='q')]", "timeout must be whole ticks from 0"),
    ("[Revoke(1, start.hosts, on_timeout='x')]", "on_timeout must be one of seize, cancel, fail, got 'x'"),
    ("[Hold((), 2.5)]", "prolog must be whole ticks from 0"),
    ("[Hold((), -5)]", "prolog must be whole ticks from 0"),
    ("[Hold((), 10**30)]", "prolog must be whole ticks from 0"),
    ("[Hold((9,))]", "there is no tenant 9"),
    ("[Hold([1])]", "clear_of must be a tuple of tenants, got [1]"),
    ("[Hold((0,))]", "it would wait for itself"),
    ("[Give(9, start.hosts)]", "there is no tenant 9"),
    ("[Give(1, ((0, 99),))]", "the tenant may never use hosts 4-99"),
    ("[Give(1, start.hosts, -4)]", "delay must be whole ticks from 0"),
    ("[Timer('a', 1)]", "at must be a date in whole ticks, later than now (1)"),
    ("[Timer('a', 'x')]", "at must be a date in whole ticks"),
    ("[Timer(3, 9)]", "key must be a text, got 3"),
    ("(Grant() for _ in iter(int, 1))", "answers with more than 100000 actions"),
    ("1 / 0", "failed at p.py:5: ZeroDivisionError('division by zero')"),
    ("(1 / 0 for _ in 'a')", "failed at p.py:5: ZeroDivisionError('division by zero')"),
    ("exit(0)", "failed at p.py:5: it left with sys.exit()"),
]


@pytest.mark.parametrize(("answer", "told"), ANSWERS)
def test_an_answer_that_cannot_be_carried_out(answer: str, told: str, tmp_path: Path) -> None:
    policy = written(tmp_path, START + answer)
    talk = Talk(policy)
    with pytest.raises(InputError) as said:
        talk.tell(1, job(1, "h!1"), hpc=[run(1, "h!1", "0-1")])
    text = str(said.value)
    assert text.startswith(f"{policy}: start_requested() ")
    assert told in text
    assert "\n" not in text
    assert isinstance(talk.sink.rows[-1], r.StartAsked)  # nothing of the answer is in the journal


@pytest.mark.parametrize(
    ("callback", "told"),
    [
        (
            "ended(self, start): return [Clean('x')]",
            "ended() answered Clean(ticks='x', blocking=False): ticks",
        ),
        ("ended(self, start): return [Clean(1, 2)]", "blocking must be True or False, got 2"),
        ("ended(self, start): return [Clean(1), Clean(2)]", "only one of them can hold"),
        ("ended(self, start): return [Hold(())]", "choose from Clean, Revoke, Give, Timer"),
        ("released(self, start): return [Grant()]", "choose from Revoke, Give, Timer"),
        ("released(self, start): yield Give(1, ()); 1 / 0", "released() failed at p.py:5: ZeroDivision"),
        ("begin(self, park): 1 / 0", "begin() failed at p.py:5: ZeroDivisionError"),
        ("visible(self, tenant): return None", "visible() answered None for scheduler hpc: hosts must be"),
        ("visible(self, tenant): return ()", "visible() answered () for scheduler hpc: each scheduler needs"),
        ("visible(self, tenant): return ((0, 50),)", "the park has no hosts 4-50"),
        ("visible(self, tenant): 1 / 0", "visible() failed at p.py:5"),
    ],
)
def test_another_callback_that_fails(callback: str, told: str, tmp_path: Path) -> None:
    policy = written(tmp_path, f"def {callback}")
    with pytest.raises(InputError) as said:
        one_job(policy)
    assert str(said.value).startswith(f"{policy}: ")
    assert told in str(said.value)


def test_what_a_lazy_policy_answers_late_is_checked_too(tmp_path: Path) -> None:
    policy = written(tmp_path, "lazy = True", "def released(self, start): return [Give(7, start.hosts)]")
    with pytest.raises(InputError, match=r"released\(\) answered Give.*there is no tenant 7"):
        one_job(policy)


def test_revoked_and_timer_are_checked(tmp_path: Path) -> None:
    take = START + "[Revoke(1, start.hosts), Hold((1,)), Timer('a', self.park.now + 3)]"
    policy = written(tmp_path, take, "def timer(self, key): return [Deny(key)]")
    talk = Talk(policy)
    talk.tell(1, job(1, "h!1"), hpc=[run(1, "h!1", "0-1")])
    with pytest.raises(InputError, match=r"timer\(\) answered Deny\(reason='a'\)"):
        talk.tell(4)


def test_the_park_that_a_policy_sees_has_the_present_date(tmp_path: Path) -> None:
    policy = written(tmp_path, START + "[Deny(f'it is {self.park.now}')]")
    talk = Talk(policy)
    talk.tell(7, job(7, "b!1"), bda=[run(7, "b!1", "0")])
    assert [record.reason for record in talk.records(r.StartDropped)] == ["it is 7"]


def test_a_policy_sees_what_hosts_do_and_what_they_amount_to(tmp_path: Path) -> None:
    look = (
        "[Deny(f'{self.park.state(0).value} {self.park.state(3).value} {self.park.amount(((0, 2),)).cores}')]"
    )
    policy = written(
        tmp_path, f"def start_requested(self, start): return {look} if start.tenant else [Grant()]"
    )
    talk = Talk(policy)
    talk.tell(7, job(7, "h!1"), hpc=[run(7, "h!1", "0")])
    talk.tell(8, job(8, "b!1"), bda=[run(8, "b!1", "1")])
    assert [record.reason for record in talk.records(r.StartDropped)] == ["busy held 3"]


def test_a_policy_that_wakes_itself_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "MAX_TIMERS", 3)
    again = "[Timer('tick', self.park.now + 1)]"
    policy = written(tmp_path, START + again, f"def timer(self, key): return {again}")
    talk = Talk(policy)
    talk.tell(1, job(1, "h!1"), hpc=[run(1, "h!1", "0")])
    for now in (2, 3):
        talk.tell(now)
    talk.tell(4, over(4, "h!1", "0"))  # counts as progress
    for now in (5, 6):
        talk.tell(now)
    with pytest.raises(InputError, match=r"timer\(\) was called 3 times in a row \(the last for 'tick'\)"):
        talk.tell(7)


def test_shipped_policies_are_not_slowed_down() -> None:
    for name in ("static", "bebida", "priority"):
        policy = make_policy(name)
        assert guarded(policy, name) is policy
    assert isinstance(guarded(SharingPolicy(), "x"), GuardedPolicy)
