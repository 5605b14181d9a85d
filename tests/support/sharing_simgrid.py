"""Runs one case on SimGrid's Python package, as a process of its own (an engine of SimGrid exists once).

Reads JSON from standard input: ``platform`` (XML), ``tasks`` (``start``, ``hosts``, ``cpu``, ``com``, and
``cancel`` after so many seconds or null) and ``speeds`` (date, host, pstate). Writes ``[date, share left]``
of each task.
"""

import json
import sys
import tempfile
from pathlib import Path

import simgrid


def main() -> None:
    case = json.load(sys.stdin)
    engine = simgrid.Engine(["oracle", "--cfg=host/model:ptask_L07", "--log=root.thres:critical"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "platform.xml"
        path.write_text(case["platform"])
        engine.load_platform(str(path))
    found = [None] * len(case["tasks"])

    def run(index, task):
        if task["start"] > 0:
            simgrid.this_actor.sleep_until(task["start"])
        hosts = [simgrid.Host.by_name(name) for name in task["hosts"]]
        execution = simgrid.this_actor.exec_init(hosts, task["cpu"], task["com"])
        execution.start()
        left = 0.0
        if task["cancel"] is None:
            execution.wait()
        else:
            try:
                execution.wait_for(task["cancel"])
            except simgrid.TimeoutException:
                left = execution.remaining_ratio
                execution.cancel()
        found[index] = [simgrid.Engine.clock, left]

    def change_speeds():
        for date, host, pstate in case["speeds"]:
            simgrid.this_actor.sleep_until(date)
            simgrid.Host.by_name(host).pstate = pstate

    somewhere = engine.all_hosts[0]
    for index, task in enumerate(case["tasks"]):
        simgrid.Actor.create(f"task{index}", somewhere, run, index, task)
    if case["speeds"]:
        simgrid.Actor.create("speeds", somewhere, change_speeds)
    engine.run()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
