"""The one-way doors between rooms: who may import whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Folder -> name of the package it is installed as.
FOLDERS = {
    "batpy": "batpy",
    "broker": "batpy.broker",
    "schedulers": "batpy.schedulers",
    "platforms": "batpy.platforms",
    "workloads": "batpy.workloads",
}

ANYTHING = {"*"}
# Room -> rooms it may look into. ``batpy.base`` (errors, plug-ins) is open to all.
DOORS: dict[str, set[str]] = {
    "batpy.base": set(),
    "batpy.workloads": {"batpy.dfs"},
    "batpy.platforms": set(),
    "batpy.protocol": set(),
    "batpy.kernel": set(),
    "batpy.dfs": set(),
    "batpy.transport": {"batpy.protocol"},
    "batpy.models": {"batpy.kernel", "batpy.dfs", "batpy.platforms", "batpy.workloads"},
    "batpy.simulator": {
        "batpy.models",
        "batpy.kernel",
        "batpy.dfs",
        "batpy.protocol",
        "batpy.platforms",
        "batpy.workloads",
    },
    "batpy.results": {"batpy.protocol", "batpy.dfs", "batpy.platforms", "batpy.workloads"},
    "batpy.broker": {"batpy.protocol", "batpy.transport"},
    "batpy.schedulers": {"batpy.protocol", "batpy.transport", "batpy.dfs"},
    "batpy.campaign": ANYTHING,
    "batpy.pipelines": ANYTHING,
    "batpy.studies": ANYTHING,
    "batpy.cli": ANYTHING,
}
OPEN = {"batpy.base", "batpy._version"}
# Libraries that only one room may import.
ONLY_IN = {"zmq": "batpy.transport"}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the source tree under its import name."""
    for folder, package in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            yield ".".join([package, *(part for part in parts if part != "__init__")]), path


def room_of(module: str) -> str | None:
    found = [room for room in DOORS if module == room or module.startswith(room + ".")]
    return max(found, key=len, default=None)


def imports(source: str) -> Iterator[tuple[int, str]]:
    """Line and full name of everything imported; what is imported from a package may be a module of it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            assert node.module is not None
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def trespasses(module: str, source: str) -> Iterator[str]:
    home = room_of(module)
    may = DOORS[home] if home is not None else ANYTHING  # batpy/__init__.py and __main__.py are shells
    for line, name in imports(source):
        library = name.partition(".")[0]
        if library in ONLY_IN and home != ONLY_IN[library]:
            yield f"{module}:{line} imports {library}, which only {ONLY_IN[library]} may"
        if library != "batpy" or any(name == door or name.startswith(door + ".") for door in OPEN):
            continue
        there = room_of(name)
        if may is ANYTHING or there == home:
            continue
        if there is None:
            # The root: its version is all that may be taken from it.
            if name != "batpy.__version__":
                yield f"{module}:{line} imports {name}, which is in no room"
        elif there not in may:
            yield f"{module}:{line} imports {name}: {home} may not look into {there}"


def test_nobody_walks_through_a_wall() -> None:
    found = [wrong for module, path in modules() for wrong in trespasses(module, path.read_text())]
    assert not found, "\n".join(found)


def test_every_package_has_a_room() -> None:
    shells = {"batpy", "batpy._version", "batpy.__main__"}
    homeless = [module for module, _ in modules() if room_of(module) is None and module not in shells]
    assert not homeless


def test_the_tree_is_looked_at() -> None:
    names = {module for module, _ in modules()}
    assert {"batpy.schedulers.core", "batpy.kernel.agenda", "batpy.workloads.job"} <= names


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("batpy.schedulers.core", "import batpy.simulator.gate"),
        ("batpy.schedulers.hpc.easy", "from batpy import simulator"),
        ("batpy.workloads.job", "from batpy.platforms.platform import Host"),
        ("batpy.simulator.core", "def f():\n    from batpy.results import journal"),
        ("batpy.base.plugins", "import batpy.schedulers"),
        ("batpy.simulator.core", "import zmq"),
        ("batpy.kernel.agenda", "from batpy.cli import main"),
        ("batpy.dfs.state", "from batpy.platforms.disks import Disk"),
    ],
)
def test_a_wall_is_noticed(module: str, line: str) -> None:
    assert list(trespasses(module, line))


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("batpy.schedulers.core", "from batpy.protocol import hostset"),
        ("batpy.schedulers.core", "from batpy.base.errors import InputError"),
        ("batpy.cli.main", "from batpy.simulator.core import Simulator"),
        ("batpy.transport.zeromq", "import zmq"),
        ("batpy.broker.core", "from batpy.transport.link import Core"),
        ("batpy.results.journal", "from batpy import __version__"),
    ],
)
def test_a_door_is_open(module: str, line: str) -> None:
    assert not list(trespasses(module, line))
