"""What an emulated worker must know of a model: sizes, pages and durations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One model as it is stored on disk.

    Attributes:
        input_size, output_size: bytes of one input and of one output, at batch size 1.
        weights_size: bytes of its parameters.
        num_weights_pages: pages that they need in a GPU's cache; parameters are packed by tensor, so this
            may be more than their size divided by that of a page.
        page_size: bytes of the pages that it was compiled for.
        weights_load_time: duration of the copy to a GPU, nanoseconds.
        exec_times: duration of an inference by supported batch size, ascending, nanoseconds.
    """

    input_size: int
    output_size: int
    weights_size: int
    num_weights_pages: int
    page_size: int
    weights_load_time: int
    exec_times: tuple[tuple[int, int], ...]

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        """Supported batch sizes, ascending."""
        return tuple(size for size, _ in self.exec_times)


class NoModelError(Exception):
    """No such model, or its files cannot be used; the text says which file and why.

    Attributes:
        profile_only: the model is there and only its measurements are missing.
    """

    def __init__(self, problem: str, *, profile_only: bool = False) -> None:
        super().__init__(problem, profile_only)
        self.profile_only = profile_only

    def __str__(self) -> str:
        return str(self.args[0])
