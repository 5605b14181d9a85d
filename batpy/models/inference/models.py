"""The models that a worker knows: each came from disk, with as many copies as were asked for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from operator import attrgetter

from batpy.workloads.serving.model import ServedModel

_LAST = attrgetter("last")
_FIRST = attrgetter("first")


@dataclass(frozen=True, slots=True)
class HostedModel:
    """Consecutive ids of one model, with the batch sizes that it may use.

    Attributes:
        sizes: supported batch sizes, ascending; ``times``: their durations, nanoseconds.
    """

    first: int
    last: int
    source: str
    disk: ServedModel
    sizes: tuple[int, ...]
    times: tuple[int, ...]

    def padded(self, batch: int) -> int | None:
        """Place among ``sizes`` of the smallest one that holds the batch, or None."""
        place = bisect_left(self.sizes, batch)
        return place if batch > 0 and place < len(self.sizes) else None


def hosted(
    first: int, copies: int, source: str, disk: ServedModel, max_batch_size: int, max_exec_duration: int
) -> HostedModel:
    """A model with those batch sizes that are not too large and, but for size 1, not too slow."""
    kept = [
        (size, nanos)
        for size, nanos in disk.exec_times
        if size <= max_batch_size and (size == 1 or nanos <= max_exec_duration)
    ]
    sizes, times = tuple(size for size, _ in kept), tuple(nanos for _, nanos in kept)
    return HostedModel(first, first + copies - 1, source, disk, sizes, times)


class ModelTable:
    """Models by id. Thousands of copies of one model are one row, so that a thousand workers are cheap."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows: list[HostedModel] = []

    def find(self, model_id: int) -> HostedModel | None:
        """The model of this id, or None."""
        place = bisect_left(self.rows, model_id, key=_LAST)
        if place < len(self.rows) and self.rows[place].first <= model_id:
            return self.rows[place]
        return None

    def taken(self, first: int, last: int) -> int | None:
        """The smallest id from *first* to *last* that is there already, or None."""
        place = bisect_left(self.rows, first, key=_LAST)
        if place < len(self.rows) and self.rows[place].first <= last:
            return max(first, self.rows[place].first)
        return None

    def add(self, model: HostedModel) -> None:
        """Add a model whose ids are not taken."""
        self.rows.insert(bisect_right(self.rows, model.first, key=_FIRST), model)
