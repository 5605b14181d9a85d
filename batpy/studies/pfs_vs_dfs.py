"""``pfs-vs-dfs``: from how many nodes on are the disks of the nodes faster than a parallel file system?"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.resources import as_file, files
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from batpy.base.errors import InputError
from batpy.kernel.streams import stream
from batpy.studies.figures import drawing
from batpy.studies.io_rounds import IoJob, Park, dfs_seconds, pfs_seconds
from batpy.studies.study import Findings, Parameter, Row, Study, Workshop
from batpy.workloads.stages.graph import Application
from batpy.workloads.stages.importing import import_graph

GB: Final = 1e9
SLOTS: Final = 8
LINK: Final = 1.25 * GB
RACK_NODES: Final = 32
UPLINK: Final = 10 * GB
PFS: Final = (1.0, 2.0, 5.0, 10.0, 20.0)
"""Bandwidths of the parallel file system in GB/s."""
DISKS: Final = {"hdd": (0.15 * GB, 0.12 * GB), "ssd": (0.5 * GB, 0.45 * GB)}
"""Bytes per second that a node's disk reads and writes."""
NODES: Final = (4, 8, 16, 32, 64, 128, 256, 512)
SHIPPED: Final = {"swim": "swim-fb2009-204.tsv", "spark": "spark-io.json"}


def conduct(shop: Workshop, nodes: Sequence[int] = NODES) -> Findings:
    """Sweep nodes, disks and file systems over every log.

    Args:
        nodes: numbers of nodes; fewer in tests.
    """
    logs = read_logs(shop.inputs)
    points = [
        (name, disk, count, number)
        for name in logs
        for disk in DISKS
        for count in nodes
        for number in range(1, shop.seeds + 1)
    ]
    found = shop.map(partial(_dfs_point, shop.seed, logs), points, "points")
    times: dict[tuple[str, str, int], list[tuple[float, float, float]]] = {}
    for (name, disk, count, _), result in zip(points, found, strict=True):
        times.setdefault((name, disk, count), []).append(result)
    rows = [
        _row(logs[name], name, disk, count, bandwidth, results)
        for (name, disk, count), results in times.items()
        for bandwidth in PFS
    ]
    return _findings(rows, logs)


# ------------------------------------------------------------------ logs


def read_logs(paths: Sequence[Path]) -> dict[str, list[IoJob]]:
    """Jobs of each log, by its name; the shipped ones if none is given.

    Raises:
        InputError: a log cannot be read, moves nothing, or has the name of another.
    """
    logs: dict[str, list[IoJob]] = {}
    if paths:
        for path in paths:
            if path.name in logs:
                raise InputError("two logs of one name", source=str(path))
            logs[path.name] = io_jobs(import_graph([path]).graph.applications, str(path))
        return logs
    for name, file in SHIPPED.items():
        with as_file(files("batpy.studies").joinpath("published", file)) as path:
            logs[name] = io_jobs(import_graph([path]).graph.applications, file)
    return logs


def io_jobs(applications: Sequence[Application], source: str) -> list[IoJob]:
    """What each application reads and writes; stages one after the other, as jobs of their own.

    A MapReduce job is one job, since its map and reduce stages read and write on the same nodes.

    Raises:
        InputError: nothing is read or written.
    """
    jobs: list[IoJob] = []
    for application in applications:
        stages = [stage for stage in application.stages if stage.input_bytes or stage.output_bytes]
        if not stages:
            continue
        if application.framework == "mapreduce":
            tasks = max(stage.tasks for stage in stages)
            read = sum(stage.input_bytes for stage in stages)
            jobs.append(IoJob(max(1, tasks), read, sum(stage.output_bytes for stage in stages)))
        else:
            jobs += [IoJob(max(1, s.tasks), s.input_bytes, s.output_bytes) for s in stages]
    if not jobs:
        raise InputError("tells of no bytes that are read or written", source=source)
    return jobs


# ------------------------------------------------------------------ points


def park_of(disk: str, nodes: int) -> Park:
    """The park of a point."""
    read, write = DISKS[disk]
    return Park(nodes, SLOTS, LINK, RACK_NODES, UPLINK, read, write)


def _dfs_point(
    seed: int, logs: Mapping[str, Sequence[IoJob]], point: tuple[str, str, int, int]
) -> tuple[float, float, float]:
    name, disk, nodes, number = point
    # Disks do not decide where blocks lie.
    rng = stream(seed, "pfs-vs-dfs", name, nodes, number)
    found = dfs_seconds(logs[name], park_of(disk, nodes), rng)
    return found.read, found.write, found.local


def _row(
    jobs: Sequence[IoJob],
    name: str,
    disk: str,
    nodes: int,
    bandwidth: float,
    results: Sequence[tuple[float, float, float]],
) -> Row:
    totals = [read + write for read, write, _ in results]
    return {
        "log": name,
        "disk": disk,
        "nodes": nodes,
        "pfs_gb_per_s": bandwidth,
        "dfs_s": statistics.fmean(totals),
        "dfs_sd_s": statistics.stdev(totals) if len(totals) > 1 else 0.0,
        "dfs_read_s": statistics.fmean(read for read, _, _ in results),
        "dfs_write_s": statistics.fmean(write for _, write, _ in results),
        "dfs_local": statistics.fmean(local for _, _, local in results),
        "pfs_s": pfs_seconds(jobs, park_of(disk, nodes), bandwidth * GB),
    }


def crossover(points: Sequence[tuple[int, float, float]]) -> tuple[float | None, str]:
    """Number of nodes from which on the DFS is the faster, and what to print.

    Args:
        points: nodes, seconds on the DFS, seconds on the PFS; by nodes.

    Returns:
        Between two points the logarithm of the ratio is taken to be linear in that of the nodes. None if the
        DFS is the slower at most nodes or the faster at fewest; the text then says which.
    """
    ratios = [(math.log(nodes), math.log(dfs / pfs)) for nodes, dfs, pfs in points]
    if ratios[-1][1] > 0:
        return None, f"> {points[-1][0]}"
    last_slower = max((i for i, (_, ratio) in enumerate(ratios) if ratio > 0), default=None)
    if last_slower is None:
        return None, f"< {points[0][0]}"
    (x0, y0), (x1, y1) = ratios[last_slower], ratios[last_slower + 1]
    nodes = math.exp(x0 + (x1 - x0) * y0 / (y0 - y1))
    return nodes, f"{nodes:.0f}"


# ------------------------------------------------------------------ findings


def _findings(rows: Sequence[Row], logs: Mapping[str, Sequence[IoJob]]) -> Findings:
    table = {
        name: {
            disk: {f"{bandwidth:g}": crossover(_curve(rows, name, disk, bandwidth)) for bandwidth in PFS}
            for disk in DISKS
        }
        for name in logs
    }
    notes = [
        "crossover: nodes from which on the DFS is the faster",
        f"  {'PFS, GB/s':<30}" + "".join(f"{bandwidth:>8g}" for bandwidth in PFS),
    ]
    notes += [
        f"  {name:<24} {disk:<5}" + "".join(f"{text:>8}" for _, text in found.values())
        for name, disks in table.items()
        for disk, found in disks.items()
    ]
    notes.append("nothing is published to compare with; --explain tells what the figures rest on")
    figures: dict[str, Any] = {
        "crossover_nodes": {
            name: {
                disk: {
                    bandwidth: {
                        "nodes": nodes,
                        "text": text,
                        "even_loads": _balance(logs[name], disk, float(bandwidth)),
                    }
                    for bandwidth, (nodes, text) in found.items()
                }
                for disk, found in disks.items()
            }
            for name, disks in table.items()
        },
        "logs": {
            name: {
                "jobs": len(jobs),
                "read": sum(j.read for j in jobs),
                "written": sum(j.written for j in jobs),
            }
            for name, jobs in logs.items()
        },
    }
    return Findings(rows, (), figures, notes, partial(draw, rows))


def _curve(rows: Sequence[Row], name: str, disk: str, bandwidth: float) -> list[tuple[int, float, float]]:
    return [
        (row["nodes"], row["dfs_s"], row["pfs_s"])
        for row in rows
        if (row["log"], row["disk"], row["pfs_gb_per_s"]) == (name, disk, bandwidth)
    ]


def _balance(jobs: Sequence[IoJob], disk: str, bandwidth: float) -> float:
    """Nodes at which even loads on all disks take as long as the file system: the roofline."""
    read, write = DISKS[disk]
    all_read, written = sum(job.read for job in jobs), sum(job.written for job in jobs)
    return (all_read / read + 3 * written / write) / ((all_read + written) / (bandwidth * GB))


def draw(rows: Sequence[Row], path: Path) -> None:
    """Times over nodes for each log; where lines cross is marked."""
    names = list(dict.fromkeys(row["log"] for row in rows))
    with drawing(path, len(names), (6.0 * len(names), 4.8)) as axes:
        for name, ax in zip(names, axes, strict=True):
            for disk, style in zip(DISKS, ("-", "--"), strict=True):
                curve = _curve(rows, name, disk, PFS[0])
                ax.plot(
                    [n for n, _, _ in curve],
                    [s for _, s, _ in curve],
                    style,
                    color="black",
                    lw=2,
                    label=f"DFS, {disk}",
                )
            for place, bandwidth in enumerate(PFS):
                colour = f"C{place}"
                curve = _curve(rows, name, next(iter(DISKS)), bandwidth)
                ax.plot(
                    [n for n, _, _ in curve],
                    [s for _, _, s in curve],
                    color=colour,
                    label=f"PFS, {bandwidth:g} GB/s",
                )
                for disk in DISKS:
                    points = _curve(rows, name, disk, bandwidth)
                    nodes, _ = crossover(points)
                    if nodes is not None:
                        ax.plot(nodes, _seconds_at(points, nodes), "o", color=colour)
            ax.set(
                xscale="log",
                yscale="log",
                xlabel="nodes",
                ylabel="seconds of reading and writing",
                title=name,
            )
            ax.legend(fontsize=8)


def _seconds_at(points: Sequence[tuple[int, float, float]], nodes: float) -> float:
    """Seconds on the PFS between two points, linear in logarithms."""
    for (n0, _, s0), (n1, _, s1) in pairwise(points):
        if n0 <= nodes <= n1:
            share = math.log(nodes / n0) / math.log(n1 / n0)
            return math.exp(math.log(s0) + share * math.log(s1 / s0))
    raise AssertionError("a crossover lies between two points")


STUDY: Final = Study(
    name="pfs-vs-dfs",
    title="Disks of the nodes against a parallel file system: the crossover number of nodes",
    source="nothing published; the question of the first notes on Bebida in simulation",
    seeds=3,
    seeds_mean="placements of the blocks",
    inputs_mean="logs that batpy workload import reads, instead of the shipped ones",
    carry_out=conduct,
    parameters=(
        Parameter(
            "logs",
            "204 jobs of FB-2009 (SWIM); two Spark applications",
            "published",
            "every 29th job, and the bytes of the stages of a TPC-DS-like query and of a copy; name whole "
            "logs "
            "as FILE for more",
        ),
        Parameter(
            "nodes", "4 to 512", "chosen", "doubling; from less than a PFS needs to more than it can serve"
        ),
        Parameter(
            "PFS", "1, 2, 5, 10, 20 GB/s, reads and writes", "chosen", "from a file server to a small Lustre"
        ),
        Parameter(
            "disk of a node",
            "hdd 150 / 120 MB/s, ssd 500 / 450 MB/s",
            "chosen",
            "one SATA disk, one SATA SSD",
        ),
        Parameter(
            "network", "10 Gb/s a node, 80 Gb/s a rack of 32", "chosen", "Ethernet with 4:1 oversubscription"
        ),
        Parameter("tasks of a node", "8", "chosen", "half of the 16 cores that were common in 2017"),
        Parameter(
            "DFS", "HDFS placement, 3 replicas, blocks of 128 MiB", "published", "Hadoop's defaults since 2.x"
        ),
        Parameter(
            "jobs at a time",
            "in order, as many as have room",
            "chosen",
            "a busy park: what runs together shares disks, links and file system",
        ),
        Parameter(
            "nodes of a job",
            "the free ones that hold most of its blocks",
            "chosen",
            "what delay scheduling comes to when jobs may wait for their nodes",
        ),
    ),
    limits=(
        "Time to compute and to shuffle is left out: it is the same on both.",
        "Input was written from outside the cluster, so its first replica is anywhere.",
        "A PFS has no limit but its bandwidth: no metadata server, no stripes.",
    ),
)
