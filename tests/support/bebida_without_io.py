"""Starts pybatsim with the one-line fix that its ``schedBebida`` needs for jobs without I/O.

It passes an empty map of I/O jobs, which pybatsim 3.2.1 takes for one that has an entry for every job; the
fix passes None instead. Applied from outside: pybatsim itself stays as it was installed.
"""

from __future__ import annotations

import sys
from typing import Any

if __name__ == "__main__":
    from batsim.batsim import Batsim
    from batsim.cmds.launcher import main

    unfixed = Batsim.execute_jobs

    def execute_jobs(self: Any, jobs: Any, io_jobs: Any = None) -> None:
        unfixed(self, jobs, io_jobs or None)

    Batsim.execute_jobs = execute_jobs
    sys.exit(main())
