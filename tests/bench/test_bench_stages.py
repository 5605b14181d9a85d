"""Speed of importing a Spark log of 13,504 tasks, and of replaying it."""

from __future__ import annotations

import timeit
from pathlib import Path

import pytest

from batpy.models.dag.replay import LEVELS, replay
from batpy.workloads.stages.importing import ImportOptions, import_graph

pytestmark = pytest.mark.bench


def test_import_and_replay(shared: Path) -> None:
    pytest.importorskip("zstandard")
    path = shared / "data" / "spark" / "nds_q72_dataproc_spark3.5.zstd"
    seconds = min(timeit.repeat(lambda: import_graph([path], "spark"), number=1, repeat=5))
    print(f"\nimport: {seconds:.3f} s, {13_504 / seconds:,.0f} tasks/s")
    (application,) = import_graph([path], "spark", ImportOptions(keep_tasks=True)).graph.applications
    for level in LEVELS:
        seconds = min(timeit.repeat(lambda level=level: replay(application, level), number=1, repeat=5))
        print(f"replay at level {level}: {seconds:.3f} s, {13_504 / seconds:,.0f} tasks/s")
