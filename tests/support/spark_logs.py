"""Small Spark event logs made by hand, and packed as Spark packs them."""

from __future__ import annotations

import json
import struct
from typing import Any

Event = dict[str, Any]


def start(time: int = 1000, id: str = "app-1") -> Event:
    return {
        "Event": "SparkListenerApplicationStart",
        "App Name": "demo",
        "App ID": id,
        "Timestamp": time,
        "User": "ada",
    }


def end(time: int = 60_000) -> Event:
    return {"Event": "SparkListenerApplicationEnd", "Timestamp": time}


def executor(id: str, time: int = 1500, *, host: str = "n1", cores: int = 4, profile: int = 0) -> Event:
    info = {"Host": host, "Total Cores": cores, "Resource Profile Id": profile, "Log Urls": {}}
    return {
        "Event": "SparkListenerExecutorAdded",
        "Timestamp": time,
        "Executor ID": id,
        "Executor Info": info,
    }


def removed(id: str, time: int) -> Event:
    return {
        "Event": "SparkListenerExecutorRemoved",
        "Timestamp": time,
        "Executor ID": id,
        "Removed Reason": "idle\nfor long",
    }


def profile(id: int, executor: dict[str, float], task: dict[str, float]) -> Event:
    def requests(amounts: dict[str, float]) -> Event:
        return {name: {"Resource Name": name, "Amount": amount} for name, amount in amounts.items()}

    return {
        "Event": "SparkListenerResourceProfileAdded",
        "Resource Profile Id": id,
        "Executor Resource Requests": requests(executor),
        "Task Resource Requests": requests(task),
    }


def job(id: int, time: int, stages: list[int]) -> Event:
    return {
        "Event": "SparkListenerJobStart",
        "Job ID": id,
        "Submission Time": time,
        "Stage Infos": [],
        "Stage IDs": stages,
    }


def job_end(id: int, time: int) -> Event:
    result = {"Result": "JobSucceeded"}
    return {"Event": "SparkListenerJobEnd", "Job ID": id, "Completion Time": time, "Job Result": result}


def stage(
    id: int,
    tasks: int,
    begin: int,
    finish: int | None = None,
    *,
    parents: list[int] | None = None,
    **more: Any,
) -> Event:
    info: Event = {
        "Stage ID": id,
        "Stage Attempt ID": 0,
        "Stage Name": f"stage {id}",
        "Number of Tasks": tasks,
        "Parent IDs": parents or [],
        "RDD Info": [],
        "Submission Time": begin,
    }
    if finish is not None:
        info["Completion Time"] = finish
    info.update(more)
    name = "SparkListenerStageSubmitted" if finish is None else "SparkListenerStageCompleted"
    return {"Event": name, "Stage Info": info}


def task(
    stage: int,
    index: int,
    launch: int,
    finish: int,
    *,
    attempt: int = 0,
    reason: str = "Success",
    metrics: Event | None = None,
    locality: str = "NODE_LOCAL",
) -> Event:
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Stage Attempt ID": attempt,
        "Task Type": "ResultTask",
        "Task End Reason": {"Reason": reason},
        "Task Info": {
            "Task ID": index,
            "Index": index,
            "Attempt": 0,
            "Launch Time": launch,
            "Executor ID": "1",
            "Host": "n1",
            "Locality": locality,
            "Getting Result Time": 0,
            "Finish Time": finish,
            "Accumulables": [{"ID": 1, "Value": "a text"}],
        },
        "Task Metrics": metrics,
    }


def metrics(
    run: int, cpu_ms: int, *, read: int = 0, written: int = 0, remote: int = 0, local: int = 0
) -> Event:
    return {
        "Executor Run Time": run,
        "Executor CPU Time": cpu_ms * 1_000_000,
        "Executor Deserialize Time": 2,
        "JVM GC Time": 1,
        "Result Size": 10,
        "Peak Execution Memory": 100 * run,
        "Shuffle Read Metrics": {
            "Remote Bytes Read": remote,
            "Local Bytes Read": local,
            "Fetch Wait Time": 3,
        },
        "Shuffle Write Metrics": {"Shuffle Bytes Written": 7, "Shuffle Write Time": 1_000_000},
        "Input Metrics": {"Bytes Read": read},
        "Output Metrics": {"Bytes Written": written},
    }


def small() -> list[Event]:
    """Two stages in two jobs, six tasks, two hosts of four cores, 20 s of think time between the jobs."""
    return [
        {"Event": "SparkListenerLogStart", "Spark Version": "3.5.0"},
        start(),
        executor("1"),
        executor("2", host="n2"),
        {"Event": "org.example.CustomEvent", "anything": [1]},
        job(0, 2000, [0]),
        stage(0, 4, 2000),
        *(
            task(0, i, 2000, 3000 + 100 * i, metrics=metrics(900, 500, read=1000, remote=40, local=60))
            for i in range(4)
        ),
        stage(0, 4, 2000, 4000),
        job_end(0, 4000),
        job(1, 24_000, [1]),
        stage(1, 2, 24_000, parents=[0]),
        *(task(1, i, 24_000, 26_000, metrics=metrics(1900, 1500, written=500)) for i in range(2)),
        stage(1, 2, 24_000, 26_000, parents=[0]),
        job_end(1, 26_000),
        end(30_000),
    ]


def lines(events: list[Event]) -> bytes:
    return b"".join(json.dumps(event, separators=(",", ":")).encode() + b"\n" for event in events)


def lz4_java(content: bytes, block: int = 700) -> bytes:
    """As LZ4BlockOutputStream writes: the first block stored, the others packed, members of two blocks."""
    import lz4.block

    out = b""
    for number, at in enumerate(range(0, len(content), block)):
        part = content[at : at + block]
        packed = part if number == 0 else lz4.block.compress(part, store_size=False)
        token = 0x10 if number == 0 else 0x20
        out += struct.pack("<8sBiiI", b"LZ4Block", token | 5, len(packed), len(part), 0) + packed
        if number % 2:
            out += struct.pack("<8sBiiI", b"LZ4Block", 0x10 | 5, 0, 0, 0)
    return out + struct.pack("<8sBiiI", b"LZ4Block", 0x10 | 5, 0, 0, 0)


def snappy_java(content: bytes, block: int = 700) -> bytes:
    """As SnappyOutputStream writes, with a second header in the middle."""
    import snappy

    header = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    out = header
    for number, at in enumerate(range(0, len(content), block)):
        packed = snappy.compress(content[at : at + block])
        out += (header if number == 2 else b"") + struct.pack(">i", len(packed)) + packed
    return out


def lzf(content: bytes, block: int = 700) -> bytes:
    """As compress-lzf writes: stored blocks, and packed ones that pack runs of one byte."""
    out = b""
    for number, at in enumerate(range(0, len(content), block)):
        part = content[at : at + block]
        if number % 2:
            packed = lzf_block(part)
            out += struct.pack(">2sBHH", b"ZV", 1, len(packed), len(part)) + packed
        else:
            out += struct.pack(">2sBH", b"ZV", 0, len(part)) + part
    return out


def lzf_block(content: bytes) -> bytes:
    """Greedy LZF: a copy from the last place where the next three bytes stood, else a literal."""
    out, at, seen = bytearray(), 0, dict[bytes, int]()
    while at < len(content):
        key = content[at : at + 3]
        place = seen.get(key)
        seen[key] = at
        if place is None or len(key) < 3 or at - place > 8192:
            out += bytes((0, content[at]))
            at += 1
            continue
        length = 3
        while at + length < len(content) and length < 264 and content[place + length] == content[at + length]:
            length += 1
        back, code = at - place - 1, length - 2
        if code < 7:
            out += bytes((code << 5 | back >> 8, back & 255))
        else:
            out += bytes((7 << 5 | back >> 8, code - 7, back & 255))
        at += length
    return bytes(out)
