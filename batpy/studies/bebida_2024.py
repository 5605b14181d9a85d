"""``bebida-2024``: SparkPi on Kubernetes beside light ESP on 16 nodes of 18 cores, as in REGALE."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any, Final

from batpy.kernel.streams import stream
from batpy.results.accounting.run import account_run
from batpy.studies.bebida_2024_findings import findings
from batpy.studies.runs import Finished, RunSpec
from batpy.studies.study import Findings, Parameter, Row, Study, Workshop
from batpy.workloads.generators.esp import TYPES

NODES: Final = 16
NODE_HOSTS: Final = 2
HOSTS: Final = NODES * NODE_HOSTS
"""A host is half a node: nine cores, the smallest size in the mix."""

RUNS: Final = 4
EXECUTORS: Final = 4
AHEAD: Final = 10.0
PAUSE: Final = 5.0
ALONE: Final = 50.2
DRIVER_START: Final = 8.0
EXECUTOR_START: Final = 5.0
SLICES: Final = 150
"""Parts that an application is made of: a lost executor costs a quarter of a second of work at most."""

AT_ONCE: Final = 50
SUBMISSION: Final = 2.0
INTERVAL: Final = 12.0
HPC_JOBS: Final = 150
RUN_TIMES: Final = 0.4
WALLTIMES: Final = 1.5
P: Final = 0.06
"""Probability that the loss of an executor is noticed by its timeout only."""

DRAIN: Final = {"preset": "k3s_drain_2024", "timeout_per_node": 15.0 / NODE_HOSTS}
VARIANTS: Final[dict[str, tuple[bool, float, float]]] = {
    "nohpc": (False, 0.0, 1.0),
    "none": (True, 0.0, 1.0),
    "none+timeout": (True, P, 1.0),
    "none, 5 s a node": (True, 0.0, 5.0),
}
"""By name: are there HPC jobs, the probability above, and seconds that the drain of a node takes."""


def conduct(shop: Workshop) -> Findings:
    """Run every variant on the same HPC workloads and compare."""
    rows = shop.run(list(grid(shop.seed, shop.seeds)), "runs")
    return findings(rows)


def grid(seed: int, experiments: int) -> Iterator[RunSpec]:
    """Every experiment in every variant; those of one number have the same HPC jobs and the same draws."""
    for number in range(1, experiments + 1):
        hpc = esp_light(seed, number)
        draws = stream(seed, "bebida-2024", "run", number).getrandbits(32)
        for variant, (with_hpc, p, drain) in VARIANTS.items():
            pods = (
                f"spark_pods[node_hosts={NODE_HOSTS},driver_start={DRIVER_START},"
                f"executor_start={EXECUTOR_START},pause={PAUSE},p={p},seed={draws}]"
            )
            experiment: dict[str, Any] = {
                "seed": draws,
                "platform": {"hosts": HOSTS, "cores": 9, "speed": "1Gf"},
                "broker": {
                    "policy": "bebida",
                    "prolog": {**DRAIN, "per_node": drain / NODE_HOSTS},
                },
                "workload": [
                    {"id": "hpc", "file": "hpc.json", "scheduler": "hpc"},
                    {"id": "bda", "file": "bda.json", "scheduler": "bda"},
                ],
                "scheduler": {"hpc": {"algorithm": "conservative"}, "bda": {"algorithm": pods}},
            }
            files = {"hpc.json": hpc if with_hpc else nothing(), "bda.json": spark_pi()}
            name = f"{variant.replace(', ', '-').replace(' ', '-')}-{number}"
            yield RunSpec(name, {"variant": variant, "experiment": number}, experiment, files, measure)


def esp_light(seed: int, number: int) -> dict[str, Any]:
    """The first jobs of a light ESP in a random order, without those of the whole machine."""
    rng = stream(seed, "bebida-2024", "esp", number)
    mix = [
        (name, max(1, round(part * HOSTS)), round(light * RUN_TIMES, 3))
        for name, part, count, _, light in TYPES
        if name != "Z"
        for _ in range(count)
    ]
    rng.shuffle(mix)
    jobs: list[dict[str, Any]] = []
    profiles: dict[str, Any] = {}
    for place, (name, size, run) in enumerate(mix[:HPC_JOBS]):
        late = max(0, place - AT_ONCE)
        jobs.append(
            {
                "id": f"{place}_{name}",
                "subtime": (place - late) * SUBMISSION + late * INTERVAL,
                "res": size,
                "walltime": round(run * WALLTIMES, 3),
                "profile": name,
            }
        )
        profiles[name] = {"type": "delay", "delay": run}
    return {"nb_res": HOSTS, "jobs": jobs, "profiles": profiles}


def nothing() -> dict[str, Any]:
    """A workload without jobs."""
    return {"nb_res": HOSTS, "jobs": [], "profiles": {}}


def spark_pi() -> dict[str, Any]:
    """Four times SparkPi, the first submitted ten seconds after the first HPC job."""
    work = ALONE - DRIVER_START - EXECUTOR_START
    hosts = EXECUTORS * NODE_HOSTS
    flops = work * hosts * 1e9 / SLICES
    return {
        "nb_res": HOSTS,
        "jobs": [
            {"id": str(number), "subtime": AHEAD, "res": hosts, "profile": "pi"} for number in range(RUNS)
        ],
        "profiles": {
            "pi": {"type": "composed", "repeat": SLICES, "seq": ["slice"]},
            "slice": {"type": "parallel_homogeneous_total", "cpu": flops, "com": 0},
        },
    }


def measure(run: Finished) -> Row:
    """Times of the four applications, each from its submission, and what HPC jobs waited meanwhile."""
    account = account_run(run.folder)
    second = account.begins.ticks_per_second
    ends = {job.job: job.ended / second for job in account.jobs if job.job.startswith("bda!")}
    submitted, row = AHEAD, {}
    for number in range(RUNS):
        end = ends[f"bda!{number}"]
        row[f"run{number + 1}"] = round(end - submitted, 6)
        submitted = end + PAUSE
    waits = [
        (job.started - job.submitted) / second
        for job in account.jobs
        if job.job.startswith("hpc!") and job.submitted / second <= submitted
    ]
    pods = [job for job in account.jobs if job.job.startswith("bda!")]
    return {
        **row,
        "losses": sum(job.disruptions for job in pods),
        "hpc_jobs": len(waits),
        "hpc_wait": statistics.fmean(waits) if waits else None,
    }


STUDY: Final = Study(
    name="bebida-2024",
    title="SparkPi on Kubernetes beside light ESP on 16 x 18 cores, with plain Bebida",
    source="analysis page of the REGALE project's Bebida (oar-team/regale-nixos-compose, 2024)",
    seeds=50,
    seeds_mean="experiments of four applications each, in every variant",
    carry_out=conduct,
    parameters=(
        Parameter(
            "nodes", "16 of 18 cores, each as two hosts of 9", "published", "9 cores is the smallest HPC job"
        ),
        Parameter(
            "applications",
            "4 SparkPi in a row, 5 s apart, 4 executors, one a node",
            "published",
            "design of the experiment; executors of 16 cores leave room for no second one on a node",
        ),
        Parameter("HPC", "starts 10 s earlier", "published", "design of the experiment"),
        Parameter(
            "work of SparkPi",
            "37.2 s on 4 executors",
            "fitted",
            "50.2 s without HPC, less the two starts below; so the figure without HPC is no prediction",
        ),
        Parameter(
            "driver start",
            "8 s",
            "fitted",
            "stalled runs took 188 s and, once, 248 s: Spark looks for silent executors 180 and 240 s "
            "after the "
            "context is up, which leaves 8 s",
        ),
        Parameter("executor start", "5 s", "chosen", "a pod whose image is there, and a JVM that registers"),
        Parameter(
            "begin of tasks",
            "at 80 % of the executors, or after 30 s",
            "published",
            "defaults of spark.scheduler.minRegisteredResourcesRatio on Kubernetes and of "
            "spark.scheduler.maxRegisteredResourcesWaitingTime",
        ),
        Parameter("tasks", "nothing is lost with an executor", "published", "50 000 tasks of milliseconds"),
        Parameter("node of a pod", "drawn among the free", "published", "Kubernetes draws among equal nodes"),
        Parameter(
            "HPC mix",
            "light ESP in random orders, without the two jobs of the whole machine",
            "chosen",
            "the fixed order is not published, and no job of the whole machine appears among those that "
            "waited",
        ),
        Parameter(
            "HPC submissions",
            "50 jobs 2 s apart, then one every 12 s",
            "fitted",
            "numbers of the published jobs: 66 an experiment, 9 to 11 more in those that are two minutes "
            "longer; "
            "and only so do the printed waits let jobs of one type start in the order of their numbers",
        ),
        Parameter(
            "HPC run times",
            "0.4 times those of light ESP",
            "fitted",
            "to the HPC side alone: of 330 jobs beside plain Bebida 38 waited, 3.3 s on average over all; "
            "with the "
            "times of light ESP more than half would wait",
        ),
        Parameter("HPC walltimes", "1.5 times the run time", "chosen", "as the generator esp; not published"),
        Parameter(
            "HPC scheduler", "conservative", "published", "OAR plans all jobs in order and fills holes"
        ),
        Parameter(
            "hand-over",
            "k3s_drain_2024: one node after another, 5 s of grace, 15 s at most",
            "published",
            "the prolog script drains the nodes in a loop",
        ),
        Parameter(
            "drain of a node",
            "1 s",
            "chosen",
            "a round trip to the API; the preset's 5 s are for a node with pods, and 12 of 16 nodes have "
            "none. "
            "With 5 s for every node HPC jobs wait far longer than published; that variant is run, too",
        ),
        Parameter(
            "p, losses noticed by timeout only",
            f"{P:g} for each executor that runs tasks",
            "fitted",
            "to 8 stalled runs of 92 beside HPC, all heuristics together",
        ),
        Parameter(
            "timeout",
            "the first multiple of 60 s since the context that is more than 120 s after the loss",
            "published",
            "defaults of spark.network.timeoutInterval and spark.network.timeout",
        ),
    ),
    limits=(
        "HPC jobs of 28 and 46 cores are rounded to 27 and 45, so that they fill half nodes.",
        "The order of the HPC jobs and their true lengths are not published: with ours the park is "
        "fullest during the "
        "first of the four runs, where the published times are longest in the second.",
        "A node is uncordoned when all of it is free; in the original the end of one of two jobs on a "
        "node does that.",
        "The duration of HPC jobs does not depend on pods; network and disks are not shared.",
    ),
)
