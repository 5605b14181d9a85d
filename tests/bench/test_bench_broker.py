"""What a broker costs: a hop over ZeroMQ, four tenants in one process, and three processes that take turns.

The machine's speed at that moment is printed beside each figure (a loop of dictionary writes): a shared
machine is slower at times. Targets: a hop at most 1.5 times the bare forwarder, 20 s, 2,000 jobs/s.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from batpy.protocol import messages as m
from batpy.protocol.codec import make_codec
from batpy.transport.zeromq import ZmqLink

pytestmark = pytest.mark.bench

ROUNDS, WARM = 3000, 300
SECOND = 1_000_000


def calibration() -> float:
    """Nanoseconds of one dictionary write in a loop, the best of several."""

    def once() -> float:
        begun, table = time.perf_counter(), {}
        for i in range(200_000):
            table[i & 1023] = i
        return (time.perf_counter() - begun) / 200_000 * 1e9

    return min(once() for _ in range(5))


def report(name: str, figure: str) -> None:
    print(f"\n{name}: {figure} (a dict write took {calibration():.0f} ns)")


# ------------------------------------------------------------------------- a hop


@contextmanager
def processes(*commands: tuple[str, ...]) -> Iterator[None]:
    """Those of ``tests/support/hops.py``, gone afterwards."""
    script = str(Path(__file__).parents[1] / "support/hops.py")
    running = [subprocess.Popen([sys.executable, script, *command]) for command in commands]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def ends() -> tuple[str, str]:
    import socket

    probes = [socket.socket() for _ in range(2)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return f"tcp://127.0.0.1:{ports[0]}", f"tcp://127.0.0.1:{ports[1]}"


def submission(now: int) -> m.Message:
    """One job, as the simulator says it."""
    job = {"id": f"w0!{now}", "subtime": now, "res": 1, "walltime": 100, "profile": "d10"}
    return m.Message(now, [m.JobSubmitted(now, f"w0!{now}", job)])


def through(between: str) -> float:
    """Seconds of one round of real messages, with the broker or the bare forwarder in the middle."""
    front, back = ends()
    hosts = [{"id": i, "name": f"n{i}", "state": "idle", "properties": {}} for i in range(16)]
    begins = m.SimulationBegins(
        0, 16, 16, 0, False, True, {}, hosts, [], {"w0": "w.json"}, {}, m.Offer("0", SECOND)
    )
    with (
        processes(("echo", back), (between, front, back)),
        ZmqLink(front, make_codec("json", SECOND), 30) as link,
    ):
        link.ask(m.Message(0, [begins]))
        for now in range(1, WARM):
            link.ask(submission(now))
        begun = time.perf_counter()
        for now in range(WARM, WARM + ROUNDS):
            link.ask(submission(now))
        took = time.perf_counter() - begun
        link.ask(m.Message(WARM + ROUNDS, [m.SimulationEnds(WARM + ROUNDS)]))
    return took / ROUNDS


def through_the_forwarder() -> float:
    """Seconds of one round: the same bytes, nobody reads them."""
    import zmq

    front, back = ends()
    text = make_codec("json", SECOND).encode_message(submission(1000))
    with processes(("bare-echo", back), ("bare-forwarder", front, back)):
        context = zmq.Context()  # a new one, whose own thread is pinned with us
        socket = context.socket(zmq.REQ)
        socket.rcvtimeo = 10_000
        socket.connect(front)
        for _ in range(WARM):
            socket.send(text)
            socket.recv()
        begun = time.perf_counter()
        for _ in range(ROUNDS):
            socket.send(text)
            socket.recv()
        took = time.perf_counter() - begun
        socket.send(b"end")
        socket.recv()
        socket.close()
        context.term()
    return took / ROUNDS


@contextmanager
def one_core() -> Iterator[None]:
    """This process, and those it starts, on one core: what ``batpy run --processes`` does by default."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen here")
def test_a_hop_over_loopback_beside_the_bare_forwarder() -> None:
    """Bare: echo and forwarder pass bytes. Forwarded: real messages at both ends, bytes in the middle."""
    for how in ("free", "pinned"):
        bare = forwarded = ours = 1.0
        with one_core() if how == "pinned" else nullcontext():
            for _ in range(3):
                bare = min(bare, through_the_forwarder())
                forwarded = min(forwarded, through("bare-forwarder"))
                ours = min(ours, through("broker"))
        told = f"bare {bare * 1e6:.0f} us, forwarded {forwarded * 1e6:.0f} us, broker {ours * 1e6:.0f} us"
        report(f"broker hop, {how}", f"{told}; ratios {ours / bare:.2f} and {ours / forwarded:.2f}")


# ------------------------------------------------------------------------- whole runs


def write_jobs(path: Path, count: int, first: int, apart: int) -> None:
    jobs = [
        {
            "id": str(i), "subtime": first + i * apart, "res": 1 + i * 7 % 32, "walltime": 400,
            "profile": f"d{i % 30}",
        }
        for i in range(count)
    ]  # fmt: skip
    profiles = {f"d{i}": {"type": "delay", "delay": 10 + 7 * i} for i in range(30)}
    path.write_text(json.dumps({"nb_res": 128, "jobs": jobs, "profiles": profiles}))


def command(folder: Path, *flags: str) -> float:
    """Wall-clock seconds of a whole command."""
    arguments = [sys.executable, "-m", "batpy", "run", "shared.toml", "--quiet", "--output", "out", *flags]
    begun = time.perf_counter()
    subprocess.run(arguments, check=True, cwd=folder)
    return time.perf_counter() - begun


def test_four_tenants_with_100_000_jobs_in_one_process(tmp_path: Path) -> None:
    lines = ["[platform]\nhosts = 512\n[broker]\npolicy = 'static'"]
    for k in range(4):
        write_jobs(tmp_path / f"w{k}.json", 25_000, k * 5, 20)
        lines.append(f"[[workload]]\nid = 'w{k}'\nfile = 'w{k}.json'\nscheduler = 's{k}'")
    lines += [f"[scheduler.s{k}]\nalgorithm = 'easy'" for k in range(4)]
    (tmp_path / "shared.toml").write_text("\n".join(lines))
    took = command(tmp_path)
    report("four tenants, 100,000 jobs, embedded", f"{took:.1f} s, {100_000 / took:.0f} jobs/s, target 20 s")


def test_broker_and_one_scheduler_as_three_processes(tmp_path: Path) -> None:
    write_jobs(tmp_path / "w.json", 10_000, 0, 20)
    (tmp_path / "shared.toml").write_text(
        "[platform]\nhosts = 128\n[broker]\npolicy = 'priority'\n"
        "[[workload]]\nid = 'w'\nfile = 'w.json'\nscheduler = 'hpc'\n[scheduler.hpc]\nalgorithm = 'easy'\n"
    )
    took = min(command(tmp_path, "--processes") for _ in range(3))
    report("three processes, 10,000 jobs", f"{10_000 / took:.0f} jobs/s, target 2000")
