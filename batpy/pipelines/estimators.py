"""Estimators: what a run tells its policy about an operator's needs, and the shipped noisy one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from batpy.base.blame import FAILURES, blame
from batpy.base.errors import BatpyError, InputError
from batpy.models.containers.pipeline import Estimate, Operator

F = TypeVar("F", bound=Callable[..., Any])

INIT_ESTIMATORS: dict[str, Callable[[Any], Any]] = {}
ESTIMATORS: dict[str, Callable[[Any, Operator], Estimate]] = {}


def register_estimator_init(key: str) -> Callable[[F], F]:
    """Register the function that prepares an estimator; called once with ``e``."""
    return _register(INIT_ESTIMATORS, key)


def register_estimator(key: str) -> Callable[[F], F]:
    """Register the function ``(e, operator) -> Estimate``; called for each operator at its arrival."""
    return _register(ESTIMATORS, key)


def _register(table: dict[str, Any], key: str) -> Callable[[F], F]:
    def note(function: F) -> F:
        if key in table:
            raise InputError(f"the estimator key {key!r} is registered twice")
        table[key] = function
        return function

    return note


class RunEstimator:
    """The object that estimators know as ``e``: ``params``, and room for their own attributes."""

    def __init__(self, key: str, params: Mapping[str, Any]) -> None:
        if key not in ESTIMATORS:
            choices = ", ".join(sorted(ESTIMATORS))
            raise InputError(f"no such estimator; choose from {choices}", source=key, path="estimator_algo")
        self.params = dict(params)
        self._key = key
        self._step = ESTIMATORS[key]
        if (prepare := INIT_ESTIMATORS.get(key)) is not None:
            self._guarded(prepare, self)

    def step(self, operator: Operator) -> Estimate:
        """Estimate one operator."""
        answer = self._guarded(self._step, self, operator)
        if not hasattr(answer, "mem_peak_gb"):
            raise InputError(f"must return an Estimate, got {answer!r}", source=self._key)
        return answer  # type: ignore[no-any-return]

    def _guarded(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except BatpyError:
            raise
        except FAILURES as why:
            raise blame(why, f"{function.__name__}()", function.__module__, self._key) from why


@register_estimator_init(key="noisy")
def _prepare_noisy(e: Any) -> None:
    import numpy as np

    e.sigma = e.params["noisy_estimator_sigma"]
    if e.sigma < 0:
        raise InputError(f"sigma must be >= 0, got {e.sigma}", path="noisy_estimator_sigma")
    e.random = np.random.default_rng(e.params["random_seed"])


@register_estimator(key="noisy")
def _noisy(e: Any, operator: Operator) -> Estimate:
    """The true peak times a lognormal factor; one draw an operator, in DAG order at arrival."""
    peak = max(segment.get_peak_memory_gb() for segment in operator.get_segments())
    if e.sigma > 0:
        peak *= float(e.random.lognormal(mean=0.0, sigma=e.sigma))
    return Estimate(peak)
