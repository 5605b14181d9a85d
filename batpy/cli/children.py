"""Processes that ``batpy run --processes`` starts beside itself."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from batpy.base.errors import EXIT_BAD_INPUT, EXIT_PEER, InputError, PeerError
from batpy.cli.config import SchedulerConfig

GRACE = 5.0
"""Seconds a child has to go by itself before it is made to."""

SOCKET = "s"
"""Name of a child's socket in its folder; short, since systems allow about 100 bytes for the whole path."""

MOST_SOCKET_BYTES = 100

POLL = 0.005
"""Seconds between two looks for a starting child's socket."""


@dataclass(slots=True)
class Child:
    """One started scheduler or broker.

    Attributes:
        title: what complaints call it.
        endpoint: where it listens.
        log: what it wrote to its standard error.
        finished: it has answered the last message and goes by itself.
    """

    title: str
    endpoint: str
    log: Path
    process: subprocess.Popen[bytes]
    folder: Path
    finished: bool = False

    def why_dead(self, patience: float = 0.0) -> str | None:
        """None while the process lives, else how it ended, with its last words.

        Args:
            patience: seconds it may take to end.
        """
        code = self.process.poll()
        if code is None and patience:
            # A connection closes a moment before its process is over.
            with suppress(subprocess.TimeoutExpired):
                code = self.process.wait(patience)
        if code is None:
            return None
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return f"its process {how}" + (f" after saying: {lines[-1]}" if lines else "")

    @property
    def refused(self) -> bool:
        """It ended because of bad input, such as a policy that failed: so does the run, with its code."""
        return self.process.poll() == EXIT_BAD_INPUT

    def wait_until_bound(self, deadline: float | None) -> None:
        """Return once the process listens.

        Raises:
            InputError: it ended because of bad input.
            PeerError: it ended otherwise, or does not listen *deadline* seconds later.
        """
        socket = self.folder / SOCKET
        give_up = None if deadline is None else time.monotonic() + deadline
        while not socket.exists():
            if (end := self.why_dead()) is not None:
                raise (InputError if self.refused else PeerError)(f"{self.title}: {end}")
            if give_up is not None and time.monotonic() > give_up:
                raise PeerError(f"{self.title}: its process did not listen within {deadline:g} s")
            time.sleep(POLL)

    def stop(self) -> None:
        """Let the process go if its conversation is over, and make it go if it does not."""
        for patience, push in (
            (GRACE if self.finished else 0, self.process.terminate),
            (GRACE, self.process.kill),
        ):
            try:
                self.process.wait(patience)
                break
            except subprocess.TimeoutExpired:
                push()
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.log.is_file() and not self.log.stat().st_size:
            self.log.unlink()


def start_scheduler(scheduler: SchedulerConfig, output: Path) -> Child:
    """Start a scheduler as a process in a session of its own, listening on a private socket.

    Raises:
        InputError: the process cannot be started.
    """
    assert scheduler.algorithm is not None
    log = output / f"scheduler-{scheduler.name}.log"
    arguments = ["scheduler", scheduler.algorithm]
    return _start(scheduler.title, arguments, log, scheduler.base)


def start_broker(flags: list[str], base: Path, output: Path) -> Child:
    """Start a broker in the same way; it writes its journal to *output*.

    Args:
        flags: arguments of ``batpy broker``.
        base: its working folder.

    Raises:
        InputError: the process cannot be started.
    """
    arguments = ["broker", *flags, "--output", str(output.resolve())]
    return _start("the broker", arguments, output / "broker.log", base)


def _start(title: str, arguments: list[str], log: Path, base: Path) -> Child:
    folder = _private_folder()
    endpoint = f"ipc://{folder / SOCKET}"
    # -P: a folder with a batpy or a queue.py in it must not take the place of the installed ones.
    command = [sys.executable, "-P", "-m", "batpy", *arguments]
    command += ["--bind", endpoint, "--quiet", "--leash", str(folder)]
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as words:
            process = subprocess.Popen(
                command,
                cwd=base,
                stdin=subprocess.PIPE,  # the leash: it closes when this process ends, in whatever way
                stdout=words,
                stderr=words,
                start_new_session=True,
            )
    except OSError as why:
        shutil.rmtree(folder, ignore_errors=True)
        raise InputError(f"cannot be started: {why.strerror or why}", path=title) from None
    return Child(title, endpoint, log, process, folder)


def _private_folder() -> Path:
    """A new folder whose path is short enough for a socket in it.

    Raises:
        InputError: there is no place for temporary files.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="batpy-"))
        if len(os.fsencode(folder / SOCKET)) > MOST_SOCKET_BYTES:
            folder.rmdir()
            folder = Path(tempfile.mkdtemp(prefix="batpy-", dir="/tmp"))
    except OSError as why:
        raise InputError(f"no place for a socket: {why.strerror or why}", source="TMPDIR") from None
    return folder


def hold_leash(folder: Path) -> None:
    """In a child: end with the process that started it, whatever this one is doing then.

    A thread waits for the end of standard input. Then this process gets the time to go by itself, as after
    Ctrl-C, and is ended; *folder*, which nobody else will remove, goes too.
    """

    def watch() -> None:
        try:
            while os.read(0, 1024):
                pass
        except OSError:
            pass
        shutil.rmtree(folder, ignore_errors=True)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE / 5)
        os._exit(EXIT_PEER)

    threading.Thread(target=watch, name="leash", daemon=True).start()


def pin_together(children: Iterable[Child]) -> None:
    """Put this process and those, with all their threads, on one of the cores it may use.

    Processes of a run take turns; on one core a message costs half as much. They are pinned once they
    listen, so that they start side by side. Where the system does not offer this, nothing happens.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    core = {max(os.sched_getaffinity(0))}
    os.sched_setaffinity(0, core)
    for child in children:
        tasks = Path(f"/proc/{child.process.pid}/task")
        with suppress(OSError):  # it has ended, or the system does not tell its threads
            for task in [child.process.pid, *(int(entry.name) for entry in tasks.iterdir())]:
                os.sched_setaffinity(task, core)
