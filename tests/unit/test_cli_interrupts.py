"""Interrupts wait while something is being written, and come through while somebody is waited for."""

from __future__ import annotations

import os
import signal

import pytest

from batpy.cli import interrupts as interrupts_module
from batpy.cli.interrupts import POLITE, Interrupts, ignore_polite_kills, interrupt_on_polite_kills


@pytest.mark.parametrize("number", POLITE)
def test_an_interrupt_is_held_back_until_something_is_waited_for(number: int) -> None:
    with Interrupts() as interrupts:
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
        assert interrupts.pending
        with pytest.raises(KeyboardInterrupt), interrupts.let_through():
            pytest.fail("it should not begin to wait")


@pytest.mark.parametrize("number", POLITE)
def test_an_interrupt_ends_a_wait_once(number: int) -> None:
    with Interrupts() as interrupts:
        with pytest.raises(KeyboardInterrupt), interrupts.let_through():
            signal.raise_signal(number)
        os.kill(os.getpid(), number)  # an impatient user, while the results are written
        assert not interrupts.waiting


def test_handlers_are_as_before_afterwards() -> None:
    before = [signal.getsignal(number) for number in POLITE]
    with Interrupts():
        assert [signal.getsignal(number) for number in POLITE] != before
    assert [signal.getsignal(number) for number in POLITE] == before


def test_polite_kills_are_interrupts_unless_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    term = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        interrupt_on_polite_kills()
        signal.raise_signal(signal.SIGHUP)  # as under nohup
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGHUP, before)
        signal.signal(signal.SIGTERM, term)


def test_a_process_that_is_leaving_is_not_interrupted_again() -> None:
    before = [signal.getsignal(number) for number in POLITE]
    try:
        interrupt_on_polite_kills()
        ignore_polite_kills()
        for number in POLITE:
            signal.raise_signal(number)  # an impatient user
    finally:
        for number, handler in zip(POLITE, before, strict=True):
            signal.signal(number, handler)


def test_work_that_never_ends_is_broken_off_a_while_after_the_interrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interrupts_module, "PATIENCE", 0.05)

    def work(interrupts: Interrupts) -> None:
        with interrupts.working():
            os.kill(os.getpid(), signal.SIGTERM)
            while True:
                pass

    with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt):
        work(interrupts)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_work_that_ends_in_time_is_not_broken_off() -> None:
    with Interrupts() as interrupts:
        with interrupts.working():
            os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.pending
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
