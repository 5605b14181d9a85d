"""Real peers for integration tests: processes in groups of their own, waited for with deadlines."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEADLINE = 60.0


def free_port() -> int:
    """A TCP port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def process(*command: str, cwd: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a group of its own that is gone afterwards, whatever happens; it talks to ``peer.log``."""
    with (cwd / "peer.log").open("wb") as log:
        # Not a pipe: a talkative peer would fill it and wait for ever.
        child = subprocess.Popen(
            command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield child
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


@contextmanager
def pybatsim(scheduler: str, folder: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """An unmodified pybatsim scheduler, bound to a port of its own; yields its endpoint and process."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-m", "batsim.cmds.launcher", scheduler]
    command += ["-s", f"tcp://127.0.0.1:{port}", "-t", "0", *options]
    with process(*command, cwd=folder) as child:
        yield f"tcp://127.0.0.1:{port}", child


@contextmanager
def bebida_of_pybatsim(folder: Path, variant: str = "no-io") -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """pybatsim's ``schedBebida`` with its one-line fix applied from outside."""
    port = free_port()
    starter = Path(__file__).with_name("bebida_without_io.py")
    command = [sys.executable, "-W", "ignore", str(starter), "schedBebida"]
    command += ["-s", f"tcp://127.0.0.1:{port}", "-t", "0", "-o", json.dumps({"variant": variant})]
    with process(*command, cwd=folder) as child:
        yield f"tcp://127.0.0.1:{port}", child
