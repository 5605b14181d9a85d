"""Ctrl-C and polite kills during a run: it stops between two messages, never in the middle of a record."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

POLITE = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)  # SIGHUP is not everywhere


def interrupt_on_polite_kills() -> None:
    """Have SIGTERM and SIGHUP end this process as Ctrl-C does; what is ignored (``nohup``) stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in POLITE:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def ignore_polite_kills() -> None:
    """Go on as if nobody were waiting: a process that is ending anyway must end with its own exit code."""
    if threading.current_thread() is threading.main_thread():
        for number in POLITE:
            signal.signal(number, signal.SIG_IGN)


PATIENCE = 10
"""Seconds that the work of an instant may take after an interrupt, before it is broken off."""


class Interrupts:
    """Holds interrupts back while the ``with`` block changes something, lets them through while it waits.

    Attributes:
        waiting: nothing is lost by an interrupt now. Set it before looking at ``pending``.
        pending: an interrupt came.
    """

    def __init__(self) -> None:
        self.waiting = False
        self.pending = False
        self._before: dict[int, Any] = {}
        self._hurries = False
        self._armed = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in POLITE:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._heard)
        return self

    def __exit__(self, *_why: object) -> None:
        self.waiting = False
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def working(self) -> Iterator[None]:
        """In this block an interrupt that is held back for too long breaks through where it stands.

        Only for work that ought to be short and might never end.
        """
        self._hurries = True
        try:
            yield
        finally:
            self._hurries = False
            if self._armed:
                self._armed = False
                self._alarm(0)

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """Interrupts raise KeyboardInterrupt in this block, one held back at its beginning."""
        self.waiting = True
        try:
            self.check()
            yield
        finally:
            self.waiting = False

    def check(self) -> None:
        """Raise an interrupt that was held back.

        Raises:
            KeyboardInterrupt: there is one.
        """
        if self.pending:
            raise KeyboardInterrupt

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        self.pending = True
        if self.waiting:
            self.waiting = False
            raise KeyboardInterrupt
        if self._hurries:
            self._hurries = False
            self._armed = True
            self._alarm(PATIENCE)

    @staticmethod
    def _alarm(seconds: float) -> None:
        if hasattr(signal, "setitimer"):  # not everywhere
            signal.signal(signal.SIGALRM, signal.default_int_handler if seconds else signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, seconds)
