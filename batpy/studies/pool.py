"""Work in several processes: results come in the order of the items, whoever was first."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from batpy.base.errors import PeerError

Apply = Callable[[Callable[[Any], Any], Sequence[Any], Callable[[], None]], list[Any]]
"""Function, items, and what is called when an item is done; the results in the order of the items."""


@contextmanager
def workers(jobs: int) -> Iterator[Apply]:
    """A way to apply functions of modules to items, in up to *jobs* processes; in this one for a single job.

    Processes are spawned afresh, so that nothing of this one reaches them but the items.
    """
    if jobs == 1:
        yield _here
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:

        def spread(
            function: Callable[[Any], Any], items: Sequence[Any], done: Callable[[], None]
        ) -> list[Any]:
            def told(future: Future[Any]) -> None:
                if not future.cancelled():
                    done()

            futures = [pool.submit(function, item) for item in items]
            for future in futures:
                future.add_done_callback(told)
            try:
                return [future.result() for future in futures]
            except BrokenProcessPool:
                raise PeerError("a process of the study was killed, or could not be started") from None
            finally:
                # Nothing is left of a list that is done.
                for future in futures:
                    future.cancel()

        yield spread


def _here(function: Callable[[Any], Any], items: Sequence[Any], done: Callable[[], None]) -> list[Any]:
    results = []
    for item in items:
        results.append(function(item))
        done()
    return results
