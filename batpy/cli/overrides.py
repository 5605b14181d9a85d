"""``--set a.b=value``: changes to an experiment file's tree before it is checked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from batpy.base.errors import InputError

_STEP = re.compile(r"[A-Za-z0-9_-]+")


def apply_overrides(tree: dict[str, Any], settings: Iterable[str]) -> list[str]:
    """Change *tree* in place.

    A value is read as TOML if it can be, else it is taken as a text; an empty value takes the key away.
    Elements of lists are named by number: ``workload.0.file`` or ``workload[0].file``.

    Returns:
        The paths that were set, written as complaints write them: ``workload[0].file``.

    Raises:
        InputError: not ``key=value``, or a path that leads through something that is no table.
    """
    return [_apply(tree, setting) for setting in settings]


def _apply(tree: dict[str, Any], setting: str) -> str:
    path, equals, text = setting.partition("=")
    steps = path.strip().replace("[", ".").replace("]", "").split(".")
    if not equals or not all(_STEP.fullmatch(step) for step in steps):
        raise InputError("want KEY=VALUE, such as simulation.time_step=60", source=f"--set {setting}")
    place: Any = tree
    shown = ""
    for step in steps[:-1]:
        shown = _join(shown, step, place)
        place = _enter(place, step, setting)
        if not isinstance(place, (dict, list)):
            raise InputError("is no table, nothing can be set inside", source=f"--set {setting}", path=shown)
    _put(place, steps[-1], text.strip(), setting)
    return _join(shown, steps[-1], place)


def _join(shown: str, step: str, place: Any) -> str:
    if isinstance(place, list):
        return f"{shown}[{step}]"
    return f"{shown}.{step}" if shown else step


def _enter(place: Any, step: str, setting: str) -> Any:
    if isinstance(place, list):
        return place[_index(place, step, setting)]
    return place.setdefault(step, {})


def _put(place: Any, step: str, text: str, setting: str) -> None:
    key: Any = _index(place, step, setting) if isinstance(place, list) else step
    if text:
        place[key] = _value(text)
    elif isinstance(place, list):
        del place[key]
    else:
        place.pop(key, None)


def _index(place: list[Any], step: str, setting: str) -> int:
    if not step.isdigit() or len(step) > 9 or int(step) >= len(place):
        problem = f"{step!r} is not a number from 0 to {len(place) - 1}" if place else "the list is empty"
        raise InputError(problem, source=f"--set {setting}")
    return int(step)


def _value(text: str) -> Any:
    import tomllib

    # A line break could smuggle in further keys; such a text is no TOML value.
    if "\n" not in text:
        try:
            return tomllib.loads(f"value = {text}")["value"]
        except (ValueError, RecursionError):  # malformed, or a number of thousands of digits
            pass
    return text
