"""Where the requirement, the real worker and Clockwork's own emulator disagree: one switch each.

The requirement is the default. ``REAL`` and ``DUMMY`` reproduce the other two for comparisons, with two
exceptions that no comparison needs: an input of zero size that is not allowed is refused with 75 (the real
worker aborts), and every accepted action gets its one result (the emulator loses some on shutdown).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from batpy.base.errors import InputError


@dataclass(frozen=True, slots=True)
class Flavour:
    """The switches.

    Attributes:
        own_evict_executor: evictions do not wait for loads; else they share one queue, by ``earliest``.
        outstanding: how many loads, and how many inferences, an executor issues before the first is over.
            Those after the first wait in the GPU's own queue; window and weights are looked at when they are
            issued.
        checks_input_first: the input is taken up to 5 ms before ``earliest`` and checked then (codes 70 to
            77); else when the execution begins (codes 80, 81 first).
        reload: what a load does to weights that are there: ``hide`` them until it is over and keep their
            pages, ``stay`` usable, or ``replace`` them.
        evict_during_load: ``free`` the pages at once and succeed, or ``lose`` them for good and fail with
            63; the load fails in both cases.
        failed_load_counts: a load that finds no pages is a change of the version too.
        checks_compressed_sizes: the sizes of compressed inputs must add up.
        tells_size_as_pages: GET_WORKER_STATE says the page size where the number of pages belongs, and
            whole pages where the size of the weights belongs.
    """

    own_evict_executor: bool = True
    outstanding: int = 1
    checks_input_first: bool = False
    reload: Literal["hide", "stay", "replace"] = "hide"
    evict_during_load: Literal["free", "lose"] = "free"
    failed_load_counts: bool = False
    checks_compressed_sizes: bool = True
    tells_size_as_pages: bool = False


REQUIREMENT = Flavour()
REAL = Flavour(
    own_evict_executor=False,
    outstanding=2,
    checks_input_first=True,
    reload="replace",
    evict_during_load="lose",
    failed_load_counts=True,
)
DUMMY = Flavour(
    own_evict_executor=False,
    reload="stay",
    failed_load_counts=True,
    checks_compressed_sizes=False,
    tells_size_as_pages=True,
)
FLAVOURS = {"requirement": REQUIREMENT, "real": REAL, "dummy": DUMMY}


def flavour(name: str, source: str | None = None) -> Flavour:
    """The flavour of this name.

    Raises:
        InputError: there is none.
    """
    if name not in FLAVOURS:
        raise InputError(f"must be one of {', '.join(FLAVOURS)}, got {name!r}", source=source)
    return FLAVOURS[name]
