"""The scheduler's side of conversations recorded with Batsim 4.2.1, replayed: our simulator says the same."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from playback import Journal

from batpy.platforms.load import load_platform
from batpy.protocol import messages as m
from batpy.protocol.json_codec import JsonCodec
from batpy.protocol.vocabulary import NAME_OF
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run
from batpy.workloads.external_events import read_events
from batpy.workloads.load import load_workload

TICKS = 1_000_000
# An end costs up to 2 ms of simulated network time on small_platform and 600 us a hop on cluster512; a start
# that waited for an end passes it on, and fillerSched thinks for 5 ms a call (07).
DATE_TOLERANCE = 100_000
PROGRESS_TOLERANCE = 1e-3

DYNAMIC = {"dynamic_jobs": True, "acknowledge_dynamic_jobs": True, "profile_reuse": True}
SMALL, C512 = "small_platform", "cluster512"
CASES: list[tuple[str, str, str, str | None, dict[str, bool]]] = [
    ("01_delays_pybatsim_easyBackfill", SMALL, "test_delays.json", None, {}),
    ("02_delays_kill_metadata_reject", SMALL, "test_delays.json", None, {}),
    ("03_killmix_progress", SMALL, "own_killmix.json", None, {"forward_profiles": True}),
    ("04_dynamic_register_ack", SMALL, "test_delays.json", None, DYNAMIC),
    ("05_external_events", SMALL, "test_delays.json", "test_events_4hosts.txt", {}),
    ("07_mixed_profiles_pybatsim_fillerSched", SMALL, "test_various_profile_types.json", None, {}),
    (
        "08_bebida_no-io_dynamic_resubmit",
        SMALL,
        "own_bebida.json",
        None,
        {**DYNAMIC, "forward_profiles": True},
    ),
    ("13_walltime_pybatsim_easyBackfill", C512, "test_walltime.json", None, {}),
]


def key(event: m.Event) -> tuple[Any, ...]:
    """What tells an event from others, dates apart."""
    if isinstance(event, m.Notify):
        return ("NOTIFY", event.type, event.resources)
    return (NAME_OF[type(event)], getattr(event, "job_id", None) or tuple(getattr(event, "job_ids", ())))


class Replayed:
    """Gives each recorded reply once everything that came before it in the recording has been heard here."""

    def __init__(self, recording: list[tuple[str, m.Message]]) -> None:
        self.recorded: list[m.Event] = []
        self.heard: list[m.Event] = []
        self._replies: list[tuple[list[tuple[Any, ...]], list[m.Event]]] = []
        for speaker, message in recording:
            if speaker == "simulator":
                self.recorded += message.events
            else:
                self._replies.append(([key(event) for event in self.recorded], message.events))

    def __call__(self, request: m.Message) -> m.Message:
        self.heard += request.events
        seen = [key(event) for event in self.heard]
        decisions: list[m.Event] = []
        while self._replies and not _missing(self._replies[0][0], seen):
            for decision in self._replies.pop(0)[1]:
                decision.timestamp = request.now
                decisions.append(decision)
        return m.Message(request.now, decisions)


def _missing(wanted: list[tuple[Any, ...]], seen: list[tuple[Any, ...]]) -> bool:
    left = list(seen)
    for item in wanted:
        if item not in left:
            return True
        left.remove(item)
    return False


def by_job(events: list[m.Event]) -> dict[Any, list[m.Event]]:
    """Events of each job in order; those of no job under their own name."""
    groups: dict[Any, list[m.Event]] = defaultdict(list)
    for event in events:
        for subject in getattr(event, "job_ids", None) or [getattr(event, "job_id", key(event))]:
            groups[subject].append(event)
    return groups


def assert_equal(ours: m.Event, theirs: m.Event) -> None:
    assert type(ours) is type(theirs)
    assert abs(ours.timestamp - theirs.timestamp) <= DATE_TOLERANCE
    for field in ours.__struct_fields__:
        if field == "job_progress":
            assert_progress(getattr(ours, field), getattr(theirs, field))
        elif field != "timestamp":
            assert getattr(ours, field) == getattr(theirs, field), field


def assert_progress(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(theirs) or {type(ours), type(theirs)} == {int, float}
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        for name in ours:
            assert_progress(ours[name], theirs[name])
    elif isinstance(ours, float):
        assert ours == pytest.approx(theirs, abs=PROGRESS_TOLERANCE)
    else:
        assert ours == theirs


def assert_greeting(ours: m.SimulationBegins, theirs: m.SimulationBegins) -> None:
    """Ours says more about hosts, names the workload file as it was given, and shows its own key."""
    for mine, other in zip(ours.compute_resources, theirs.compute_resources, strict=True):
        assert {name: mine[name] for name in other} == other
    assert ours.batpy is not None
    for field in ours.__struct_fields__:
        if field not in ("compute_resources", "batpy", "workloads"):
            assert getattr(ours, field) == getattr(theirs, field), field


@pytest.mark.parametrize(
    ("name", "platform", "workload", "events", "options"), CASES, ids=[case[0] for case in CASES]
)
def test_the_recorded_scheduler_hears_what_batsim_told_it(
    shared: Path, name: str, platform: str, workload: str, events: str | None, options: dict[str, bool]
) -> None:
    codec = JsonCodec(TICKS)
    lines = (shared / f"golden/batsim/transcripts/{name}.jsonl").read_text().splitlines()
    recording = [
        (line["from"], codec.decode_message(line["raw"].encode())) for line in map(json.loads, lines) if line
    ]
    inputs = shared / "data/batsim-examples"
    files = [inputs / "workloads" / events] if events else []
    external = [read_events(path, ticks_per_second=TICKS, generic=False) for path in files]
    jobs = load_workload(inputs / "workloads" / workload, "w0", ticks_per_second=TICKS)
    mmax = (jobs.nb_res or 0) if platform == C512 else 0  # recorded with --mmax-workload
    park = load_platform(inputs / f"platforms/{platform}.xml", mmax=mmax)
    replayed = Replayed(recording)
    run(Simulator(park, [jobs], Journal(), SimulatorConfig(**options), external), replayed)

    [greeting] = [event for event in replayed.heard if isinstance(event, m.SimulationBegins)]
    [recorded_greeting] = [event for event in replayed.recorded if isinstance(event, m.SimulationBegins)]
    assert_greeting(greeting, recorded_greeting)
    ours, theirs = by_job(replayed.heard), by_job(replayed.recorded)
    assert ours.keys() == theirs.keys()
    for subject, events_of in theirs.items():
        mine = ours[subject]
        assert [type(event) for event in mine] == [type(event) for event in events_of], subject
        for our_event, their_event in zip(mine, events_of, strict=True):
            if not isinstance(our_event, m.SimulationBegins):
                assert_equal(our_event, their_event)
