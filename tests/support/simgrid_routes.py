"""Asks SimGrid for links and routes of a platform, in a process of its own: one process holds one platform.

Run as ``python simgrid_routes.py FILE`` with pairs of host names as JSON on the standard input; prints a JSON
line with all links, then one for each pair: link names and latency, or null where SimGrid knows no route.
"""

from __future__ import annotations

import json
import sys

import simgrid  # type: ignore[import-not-found]


def main() -> None:
    pairs = json.load(sys.stdin)
    engine = simgrid.Engine([sys.argv[0], "--log=root.threshold:critical"])
    engine.load_platform(sys.argv[1])

    # Zones are sealed, and their routes ready, once the simulation runs.
    def ask() -> None:
        links = {link.name: (link.bandwidth, link.latency) for link in engine.all_links}
        print(json.dumps(links), flush=True)
        for source, target in pairs:
            try:
                found, latency = simgrid.Host.by_name(source).route_to(simgrid.Host.by_name(target))
                print(json.dumps([[link.name for link in found], latency]), flush=True)
            except Exception:  # its own kinds of errors differ between versions
                print("null", flush=True)

    simgrid.Actor.create("ask", engine.all_hosts[0], ask)
    engine.run()


if __name__ == "__main__":
    main()
