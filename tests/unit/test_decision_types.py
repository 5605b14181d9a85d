"""Wrong types in what a user's policy says: refused alike, however its messages travel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from mini_simulator import Work, begins, submission

from batpy.base.errors import InputError
from batpy.protocol import messages as m
from batpy.protocol.codec import make_codec
from batpy.protocol.forms import FormError, check_event
from batpy.schedulers.api import Plan, View
from batpy.schedulers.core import SchedulerCore
from batpy.transport.encoded import EncodedLink
from batpy.transport.link import InProcessLink, Link


class Count:
    """A whole number that is no ``int``, as libraries of arrays have them."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


@pytest.fixture(params=["embedded", "json", "msgpack"])
def said(request: pytest.FixtureRequest) -> Callable[[Callable[[Plan, View], object]], list[m.Event]]:
    """What a policy with this content of ``decide`` answers to the submission of w0!1, over a link."""

    def decided(fill: Callable[[Plan, View], object]) -> list[m.Event]:
        def decide(_self: object, view: View) -> Plan:
            plan = Plan(view)
            fill(plan, view)
            return plan

        core = SchedulerCore(type("Mine", (), {"decide": decide, "__module__": __name__})(), "mine")
        mode = request.param
        link: Link = InProcessLink(core) if mode == "embedded" else EncodedLink(core, make_codec(mode, 1))
        link.ask(begins(4))
        return link.ask(m.Message(6, [submission(6, Work("w0!1", 6, 4, 5))])).events

    return decided


HOST = ((0, 0),)


@pytest.mark.parametrize(
    ("fill", "told"),
    [
        (lambda p, _: p.say(m.SetResourceState(6, HOST, "13")), "SetResourceState.state: expected `int`"),
        (lambda p, _: p.say(m.SetResourceState(6.5, HOST, 1)), "SetResourceState.timestamp: expected `int`"),
        (lambda p, _: p.say(m.SetJobMetadata(6, "w0!1", 5)), "SetJobMetadata.metadata: expected `str`"),
        (lambda p, _: p.say(m.ExecuteJob(6, "w0!1", "0-3")), "ExecuteJob.alloc: expected `array`"),
        (lambda p, _: p.say(m.ExecuteJob(6, "w0!1", ((3, 0),))), "ExecuteJob.alloc: intervals must be"),
        (lambda p, _: p.say(m.KillJob(6, "w0!1")), "KillJob.job_ids: expected `array`"),
        (lambda p, _: p.say(m.KillJob(6, [])), "KillJob.job_ids: the list of jobs is empty"),
        (lambda p, _: p.switch(HOST, "13"), "cannot be interpreted as an integer"),
        (lambda p, _: p.switch("0-3", 1), "want intervals of hosts"),
        (lambda p, _: p.register_job("w0!2", "job"), "RegisterJob.job: expected `object`"),
        (lambda p, _: p.register_job("w0!2", {"res": Count(1)}), "RegisterJob: encoding objects of type"),
        (lambda p, _: p.register_profile("w0", 5, {}), "RegisterProfile.profile_name: expected `str`"),
        (lambda p, _: p.start("w0!1"), "want a job of the view, got 'w0!1'"),
        (lambda p, _: p.start_on("w0!1", HOST), "want a job of the view, got 'w0!1'"),
        (lambda p, v: p.start(v.queue[0], (0, 1, 2, 3)), "want intervals of hosts"),
        (lambda p, v: p.start(v.queue[0], ((0, 3.0),)), "want intervals of hosts"),
        (
            lambda p, v: p.start_on(v.queue[0], HOST, m.IoJob("0-3", "p")),
            "ExecuteJob.additional_io_job.alloc: expected `array`",
        ),
    ],
)
def test_a_wrong_type_is_told_with_its_field_in_every_mode(said: Any, fill: Any, told: str) -> None:
    with pytest.raises(InputError) as refusal:
        said(fill)
    assert told in str(refusal.value)
    assert str(refusal.value).startswith("mine: decide() failed at test_decision_types.py:")


@pytest.mark.parametrize(
    ("fill", "decisions"),
    [
        (
            lambda p, v: p.start(v.queue[0], ((Count(0), Count(3)),)),
            [m.ExecuteJob(6, "w0!1", ((0, 3),))],
        ),
        (
            lambda p, v: p.start_on(v.queue[0], ((Count(0), Count(1)),)),
            [m.ExecuteJob(6, "w0!1", ((0, 1),))],
        ),
        (lambda p, _: p.wake(Count(9)), [m.CallMeLater(6, 9)]),
        (
            lambda p, _: p.switch(((Count(0), Count(1)),), Count(2)),
            [m.SetResourceState(6, ((0, 1),), 2)],
        ),
    ],
)
def test_whole_numbers_of_any_kind_will_do(said: Any, fill: Any, decisions: list[m.Event]) -> None:
    assert said(fill) == decisions


def test_a_key_that_is_no_text_is_told_with_its_place() -> None:
    with pytest.raises(FormError, match="expected `str`, got `int`") as refusal:
        check_event(m.RegisterJob(0, "w0!1", {3: 4}))  # type: ignore[dict-item]
    assert refusal.value.path == "job"
