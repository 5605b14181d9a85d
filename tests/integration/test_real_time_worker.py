"""``batpy worker`` as a real process: a script has the same statuses and durations as in virtual time."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from dealer import Dealer
from inference_cases import RESNET50, Bench, infer
from peers import DEADLINE, process

from batpy.models.inference.actions import Evict as CoreEvict
from batpy.models.inference.actions import Load as CoreLoad
from batpy.protocol.extensions import (
    ActionResult,
    ClearCache,
    EvictWeights,
    GetWorkerState,
    Infer,
    LoadModelFromDisk,
    LoadWeights,
)
from batpy.protocol.messages import DecisionRefused, KillJob

pytestmark = pytest.mark.integration

MS = 1_000_000
INPUT = RESNET50.input_size


@contextmanager
def worker(
    folder: Path, *options: str, load_time: int = RESNET50.weights_load_time
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A worker that knows resnet50_v2, bound to a port of its own; loads may take longer than real ones."""
    row = {
        "weights_load_time_nanos": load_time,
        "batch_exec_times_nanos": {str(size): nanos for size, nanos in RESNET50.exec_times},
        "weights_memory": RESNET50.weights_size,
        "num_weights_pages": RESNET50.num_weights_pages,
        "page_size": RESNET50.page_size,
        "input_size": RESNET50.input_size,
        "output_size": RESNET50.output_size,
    }
    (folder / "zoo.json").write_text(json.dumps({"models": {"resnet50_v2": row}}))
    command = [sys.executable, "-m", "batpy", "worker", "--table", "zoo.json", "--bind", "tcp://127.0.0.1:*"]
    with process(*command, *options, cwd=folder) as child:
        end = time.monotonic() + DEADLINE
        while not (found := re.search(r"listen on (\S+)", (folder / "peer.log").read_text())):
            assert child.poll() is None, (folder / "peer.log").read_text()
            assert time.monotonic() < end, "the worker did not start"
            time.sleep(0.02)
        yield found[1], child


@pytest.mark.parametrize("codec", ["json", "msgpack"])
def test_a_script_ends_as_in_virtual_time(tmp_path: Path, codec: str) -> None:
    long = 1500 * MS  # loads: the eviction comes in time on a busy machine, too
    bench = Bench(load_time=long)
    bench.at(0, CoreLoad(1, 0, 0, 0), CoreLoad(2, 0, 1, 0))
    bench.at(4, CoreEvict(3, 0, 0, 0))
    bench.at(3030, infer(4, 7, model=1), infer(5, 17, model=1), infer(6, 1), infer(7, 0, model=1))
    bench.at(3060)

    def action(id_: int, batch: int, model: int) -> Infer:
        return Infer(0, id_, 0, model, 0, batch, batch * INPUT)

    served = worker(tmp_path, load_time=long)
    with served as (endpoint, child), Dealer(endpoint, codec) as dealer:
        dealer.say(LoadModelFromDisk(0, 900, 0, 0, "resnet50_v2", no_of_copies=3))
        results = dealer.results(1)
        dealer.say(LoadWeights(0, 1, 0, 0, 0), LoadWeights(0, 2, 0, 1, 0))
        dealer.say(EvictWeights(0, 3, 0, 0, 0))
        results += dealer.results(3)
        dealer.say(action(4, 7, 1), action(5, 17, 1), action(6, 1, 0), action(7, 0, 1))
        results += dealer.results(4)
        child.send_signal(signal.SIGTERM)
        assert child.wait(DEADLINE) == 0
    assert [result.id for result in results] == bench.order
    for result in results:
        expected = bench.results[result.id]
        assert (result.status, result.message) == (expected.status, expected.message)
        assert result.action_type == expected.action_type
        assert result.model == expected.model
        assert result.action_received <= result.result_sent
        if expected.inference is not None:
            assert result.inference is not None
            assert result.inference.exec.duration == expected.inference.exec.duration
            assert result.inference.output_size == 28_000
    assert re.search(r"worker: 8 results, lag median ", (tmp_path / "peer.log").read_text())


def test_promised_times_are_kept_or_the_lag_is_told(tmp_path: Path) -> None:
    with worker(tmp_path, "--gpus", "8") as (endpoint, child), Dealer(endpoint) as dealer:
        dealer.say(LoadModelFromDisk(0, 1, 0, 0, "resnet50_v2"))
        dealer.say(*(LoadWeights(0, 10 + gpu, 0, 0, gpu) for gpu in range(8)))
        dealer.results(9)
        sent = [Infer(0, 100 + i, 0, 0, i % 8, 1, INPUT) for i in range(400)]
        dealer.say(*sent)
        results = dealer.results(400)
        child.send_signal(signal.SIGINT)
        assert child.wait(DEADLINE) == 0
    ends: dict[int, int] = {}
    for result in results:
        assert result.status == 0
        assert result.inference is not None
        step = result.inference.exec
        # One after the other without a gap, whatever the lag of the messages.
        gpu = result.inference.gpu_id
        assert step.begin == ends.get(gpu, step.begin)
        assert step.duration == 3_322_000
        ends[gpu] = step.end
        assert result.result_sent >= step.end
    log = (tmp_path / "peer.log").read_text()
    told = re.search(
        r"409 results, lag median \S+ ms, p99\.9 (\S+) ms( \(more than the promised 1 ms\))?", log
    )
    assert told is not None, log
    assert (float(told[1]) > 1.0) == bool(told[2])


def test_what_is_no_action_is_refused_and_the_worker_lives_on(tmp_path: Path) -> None:
    with worker(tmp_path) as (endpoint, _), Dealer(endpoint, "json") as dealer, Dealer(endpoint) as other:
        dealer.socket.send(b"{oops")
        dealer.socket.send_multipart([b"two", b"frames"])
        dealer.say(KillJob(0, ["w!1"]), Infer(0, 1, 0, -1, 0, 1, INPUT), ClearCache(0, 2, 0))
        heard = [dealer.hear() for _ in range(5)]
        told = [event for message in heard for event in message.events]
        refused = [event for event in told if isinstance(event, DecisionRefused)]
        assert [event.decision for event in refused] == ["", "", "KILL_JOB", "INFER"]
        assert "model_id must be from 0" in refused[3].reason
        assert isinstance(told[-1], ActionResult)
        # Ids belong to who chose them; hosts are what the controller calls this worker.
        other.say(LoadModelFromDisk(0, 1, 7, 0, "resnet50_v2"))
        other.say(LoadWeights(0, 2, 7, 0, 0), LoadWeights(0, 2, 7, 0, 0))
        first, second, third = (other.hear().events[0] for _ in range(3))
        assert isinstance(first, ActionResult)
        assert isinstance(second, DecisionRefused)
        assert "id 2 is that of an action without a result yet" in second.reason
        assert isinstance(third, ActionResult)
        assert (third.id, third.host, third.status) == (2, 7, 0)


def test_when_interrupted_what_is_queued_is_cancelled_and_what_runs_ends(tmp_path: Path) -> None:
    with worker(tmp_path) as (endpoint, child), Dealer(endpoint) as dealer:
        dealer.say(LoadModelFromDisk(0, 1, 0, 0, "resnet50_v2"), LoadWeights(0, 2, 0, 0, 0))
        dealer.results(2)
        dealer.say(*(Infer(0, 10 + i, 0, 0, 0, 16, 16 * INPUT) for i in range(200)), GetWorkerState(0, 3, 0))
        [state] = dealer.results(1)
        assert state.memory is not None
        assert state.memory.gpus[0].models == (0,)
        child.send_signal(signal.SIGTERM)
        results = dealer.results(200)
        assert child.wait(DEADLINE) == 0
    statuses = [result.status for result in results]
    assert statuses.count(1) >= 150
    assert set(statuses) == {0, 1}
    assert statuses[-1] == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--gpus", "0"], "must be from 1 to 100000"),
        (["--config", "none.cfg"], "none.cfg: cannot be read"),
        (["--models", "none"], "none: --models: is not a folder"),
        (["--jitter", "exec_sd=2"], "exec_sd must be from 0 to 1"),
        (["--bind", "nowhere"], "--bind: nowhere: an endpoint is tcp://"),
    ],
)
def test_bad_options_are_one_line(tmp_path: Path, options: list[str], problem: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "batpy", "worker", *options],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    [line] = done.stderr.decode().splitlines()
    assert problem in line
