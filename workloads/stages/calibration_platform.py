"""The platform pass: what the machines can do, given by microbenchmarks or told from above by the logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from batpy.base.quantiles import quantile
from batpy.workloads.stages.calibration_rows import Run
from batpy.workloads.stages.graph import Stage
from batpy.workloads.stages.roofline import Bandwidth, Figures

LEAST_BYTES = 1e6
"""Of a task: those that move less wait for latencies rather than for bandwidth."""
BLOCKED = 0.01
"""Share of their time that tasks must have waited for data; with less, the bandwidth was not the limit."""
QUANTILE = (9, 10)
"""Of rates: the upper end, without the luckiest."""


def figures_from(
    runs: Sequence[Run],
    *,
    speed: float = 1e9,
    read: Bandwidth | None = None,
    write: Bandwidth | None = None,
    net: Bandwidth | None = None,
) -> Figures:
    """The figures that were given, and for the others what the logs show.

    Bandwidths from logs are those of a slot: the 9th decile, over all stages, of bytes per second that tasks
    waited for them. Where no task waited to speak of, bytes per second of all that tasks ran is a bound from
    below (``at least`` in its basis).
    """
    stages = [stage for run in runs for stage in run.application.stages]

    def blocked(stage: Stage) -> float:
        return stage.blocked_us / 1e6

    return Figures(
        speed=speed,
        read=read or _from_stages(stages, lambda s: s.input_bytes, blocked, lambda s: s.output_bytes),
        write=write or _from_stages(stages, lambda s: s.output_bytes, blocked, lambda s: s.input_bytes),
        net=net or _from_stages(stages, lambda s: s.shuffle_remote_bytes, lambda s: s.fetch_wait_us / 1e6),
    )


def _from_stages(
    stages: Iterable[Stage],
    amount: Callable[[Stage], int],
    waited: Callable[[Stage], float],
    beside: Callable[[Stage], int] | None = None,
) -> Bandwidth:
    """A bandwidth of slots.

    Args:
        beside: bytes that were waited for in the same time.
    """
    limited: list[float] = []
    bounds: list[float] = []
    for stage in stages:
        bytes_moved = amount(stage)
        if bytes_moved < LEAST_BYTES * stage.done or not stage.run_us:
            continue
        seconds = stage.run_us / 1e6
        bounds.append(bytes_moved / seconds)
        if waited(stage) >= BLOCKED * seconds:
            limited.append((bytes_moved + (beside(stage) if beside else 0)) / waited(stage))
    for rates, basis in ((limited, "time blocked"), (bounds, "time run, at least")):
        if rates:
            return Bandwidth(rate=_digits(quantile(sorted(rates), *QUANTILE)), scope="slot", basis=basis)
    return Bandwidth(rate=1e9, scope="slot", basis="nominal")


def _digits(value: float) -> float:
    """Six digits: what is behind them is no measurement."""
    return max(1.0, float(f"{value:.6g}"))
