"""Importer of SWIM's job traces (UC Berkeley's Statistical Workload Injector for MapReduce).

Tab-separated: job, submission in seconds, seconds since the job before, and the bytes of map input,
shuffle and reduce output; replay scripts add the paths of input and output. A job without shuffled data has
no reduces. The number of tasks is not told: one for each so many bytes of input or shuffled data.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from batpy.base.errors import InputError
from batpy.workloads.stages.graph import MOST_TASKS, Application, Stage
from batpy.workloads.stages.tally import Tally
from batpy.workloads.stages.texts import LARGEST, MOST_SECONDS, read_whole, text_of

WRONG_COLUMNS = "row without the six columns job, submit, gap, input, shuffle, output"
WRONG_NUMBER = "row with something that is not a number of at least 0"
TWICE = "job id that was there before"
SPLIT_BYTES = 128 * 2**20
"""Bytes of input of a map, and of shuffled data of a reduce: HDFS's block size since Hadoop 2."""
_COLUMNS = ("job", "submit", "gap", "map input", "shuffle", "reduce output")


def read_swim(
    paths: Sequence[str | Path], tally: Tally, *, split_bytes: int = SPLIT_BYTES
) -> list[Application]:
    """Read job traces.

    Raises:
        InputError: unreadable, or no row is a job; in strict mode the first row that breaks the format.
    """
    found: list[Application] = []
    seen: set[str] = set()
    for path in paths:
        source = str(path)
        rows = 0
        for number, row in enumerate(text_of(read_whole(path, source), source).splitlines(), 1):
            if not row.strip() or row.startswith("#"):
                continue
            rows += 1
            job = _job(row, source, number, tally, split_bytes)
            if job is None:
                continue
            if job.id in seen:
                tally.skip(TWICE, source, number, job.id)
                continue
            seen.add(job.id)
            found.append(job)
        if not rows:
            raise InputError("holds no job: no row found", source=source)
    return found


def _job(row: str, source: str, line: int, tally: Tally, split: int) -> Application | None:
    cells = [cell.strip() for cell in row.split("\t")]
    if len(cells) < len(_COLUMNS):
        tally.skip(WRONG_COLUMNS, source, line, detail=f"got {len(cells)}")
        return None
    numbers: list[float] = []
    for name, cell in zip(_COLUMNS[1:], cells[1:6], strict=True):
        try:
            value = float(cell)
        except ValueError:
            value = -1.0
        if not 0 <= value < (MOST_SECONDS if name in ("submit", "gap") else LARGEST):
            tally.skip(WRONG_NUMBER, source, line, name, f"got {cell!r}")
            return None
        numbers.append(value)
    submit, _, read, shuffled, written = numbers
    return Application(
        id=cells[0],
        framework="mapreduce",
        submitted_us=round(submit * 1e6),
        stages=_stages(round(read), round(shuffled), round(written), split),
    )


def _stages(read: int, shuffled: int, written: int, split: int) -> tuple[Stage, ...]:
    maps = _tasks(read, split)
    if not shuffled:
        return (Stage(id=0, name="map", tasks=maps, input_bytes=read, output_bytes=written),)
    reduces = _tasks(shuffled, split)
    return (
        Stage(id=0, name="map", tasks=maps, input_bytes=read, shuffle_write_bytes=shuffled),
        Stage(
            id=1,
            name="reduce",
            tasks=reduces,
            parents=(0,),
            shuffle_remote_bytes=shuffled,
            output_bytes=written,
        ),
    )


def _tasks(amount: int, split: int) -> int:
    return min(MOST_TASKS, max(1, -(-amount // split)))
