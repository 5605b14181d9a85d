"""The file of an experiment as a tree: TOML as users write it, or the ``experiment.json`` beside results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from batpy.base.errors import InputError
from batpy.base.files import read_text, read_toml

_HINT = "an experiment is a TOML file that names it ([[workload]] file = ...); the README shows one"


def read_tree(path: Path, written: str, cwd: Path) -> tuple[dict[str, Any], Path]:
    """The tree, and the folder that relative paths in it start from.

    What a run kept does not say where its experiment lay: its paths start from the working folder.

    Raises:
        InputError: no such file, not well-formed, or something else, with what it looks like.
    """
    if path.name.lower().endswith(".json"):
        return _of_results(read_text(path, written), written), cwd
    try:
        return read_toml(path, written), path.parent
    except InputError as why:
        if not why.problem.startswith("cannot be read") and (looks := what_it_is(path)):
            raise InputError(f"is no experiment, it looks like {looks}; {_HINT}", source=written) from None
        raise


def what_it_is(path: Path) -> str:
    """What a file of another kind looks like by its first bytes: ``an SWF log``; empty if unknown."""
    from batpy.workloads.load import kind_of

    try:
        return {"swf": "an SWF log", "batsim": "a Batsim workload"}[kind_of(path)]
    except InputError as why:
        looks = why.problem.partition("it looks like ")[2]
        return looks.partition(";")[0].partition(",")[0]


def _of_results(text: str, written: str) -> dict[str, Any]:
    """The tree that a run kept, less what only a run's record has."""
    import json

    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as why:
        raise InputError(f"not well-formed JSON: {why}", source=written) from None
    if not isinstance(tree, dict):
        raise InputError(f"is no experiment; {_HINT}", source=written)
    if "jobs" in tree and "profiles" in tree:
        raise InputError(f"is no experiment, it looks like a Batsim workload; {_HINT}", source=written)
    tree.pop("name", None)
    platform = tree.get("platform")
    if isinstance(platform, dict) and platform.get("roles") == {}:
        del platform["roles"]
    return tree
