"""A GPU's weights cache: pages, and what each model holds of them."""

from __future__ import annotations

from enum import Enum

from batpy.models.inference.models import HostedModel


class PageCache:
    """Equal pages, given out all or nothing, in no order.

    Attributes:
        total: how many there are.
        free: how many nobody holds.
        lost: how many nobody can give back (only the real worker loses pages).
    """

    __slots__ = ("free", "lost", "total")

    def __init__(self, total: int) -> None:
        self.total = self.free = total
        self.lost = 0

    def take(self, pages: int) -> bool:
        """Take pages, or none and return False."""
        if pages > self.free:
            return False
        self.free -= pages
        return True

    def give(self, pages: int) -> None:
        """Give pages back."""
        self.free += pages
        assert self.free + self.lost <= self.total, "pages given back that nobody held"


class Stage(Enum):
    """Where the weights of a model on a GPU stand."""

    ABSENT = 0
    LOADING = 1
    LOADED = 2


class Weights:
    """One model on one GPU.

    Attributes:
        version: grows with each change; who began under another one has failed.
    """

    __slots__ = ("model", "model_id", "stage", "version")

    def __init__(self, model_id: int, model: HostedModel) -> None:
        self.model_id = model_id
        self.model = model
        self.version = 0
        self.stage = Stage.ABSENT
