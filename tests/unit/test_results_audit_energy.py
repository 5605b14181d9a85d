"""Laws of energy and power states: a real journal passes, and each forged one is found by one clear line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from playback import Journal, job
from powered import park, simulate, to

from batpy.base.errors import InputError
from batpy.protocol.records import (
    AnyRecord,
    EnergyBegins,
    EnergyEnds,
    EnergyMeasured,
    HostsSwitched,
    PstateAsked,
    RunEnds,
    Started,
)
from batpy.results.audit import audit
from batpy.results.journal import JournalWriter
from batpy.results.recorder import RunRecorder
from batpy.results.timing import Timing

Records = list[AnyRecord]
S = 1_000_000


@pytest.fixture(scope="module")
def real() -> Journal:
    """Job 0 on host 0 from 1 s to 11 s; host 1 is switched off from 2 s to 4 s, on from 10 s to 30 s."""
    full = {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}
    script = {2: [to(1, 1)], 10: [to(0, 1)]}
    return simulate(park(2), script, [job(0, 1, profile="full")], {"full": full})[1]


def findings(folder: Path, records: Records) -> list[str]:
    writer = JournalWriter(folder / "journal.msgpack")
    writer.write_many(records)
    writer.close()
    return [str(finding) for finding in audit(folder).findings]


def changed(kind: type, place: int, **changes: object) -> Callable[[Records], Records]:
    """The records with one of a kind changed."""

    def forge(records: Records) -> Records:
        nth = [i for i, record in enumerate(records) if type(record) is kind][place]
        forged = msgspec.structs.replace(records[nth], **changes)
        return [*records[:nth], forged, *records[nth + 1 :]]

    return forge


def without(kind: type, place: int = 0) -> Callable[[Records], Records]:
    def forge(records: Records) -> Records:
        nth = [i for i, record in enumerate(records) if type(record) is kind][place]
        return records[:nth] + records[nth + 1 :]

    return forge


def test_a_real_journal_breaks_no_law(tmp_path: Path, real: Journal) -> None:
    assert findings(tmp_path, real.records) == []


FORGED: list[tuple[str, Callable[[Records], Records], str]] = [
    (
        "start on a sleeping host",
        changed(EnergyBegins, 0, sleeping=((0, 0),), pstates=((0, ((1, 1),)), (1, ((0, 0),)))),
        "start-on-sleeping-host: w0!0 at 1: it starts on host 0, which sleeps",
    ),
    (
        "start on a host that is being switched",
        lambda records: _moved(records, Started, after=PstateAsked, time=3 * S, alloc=((1, 1),)),
        "start-on-sleeping-host: w0!0 at 3: it starts on host 1, which is being switched off",
    ),
    (
        "switched off under a job",
        changed(PstateAsked, 0, hosts=((0, 0),), off=((0, 0),)),
        "switched-under-a-job: host 0 at 2: a job runs on it",
    ),
    (
        "too fast",
        changed(HostsSwitched, 0, time=3 * S),
        "switching-time: host 1 at 3: its switching took 1000000 ticks, one flop in pstate 2 takes 2000000",
    ),
    (
        "too slow",
        changed(HostsSwitched, 1, time=30 * S + 1),
        "switching-time: host 1 at 30.000001: its switching took 20000001 ticks, one flop in pstate 3 takes",
    ),
    (
        "elsewhere",
        changed(HostsSwitched, 0, state=0, sleep=False),
        "switching-impossible: host 1 at 4: it reaches pstate 0, to where it was not on its way",
    ),
    (
        "never arrived",
        without(HostsSwitched, 1),
        "never-switched: host 1 at 30: it is being switched on, in pstate 3, and the run is done",
    ),
    (
        "complete before it is",
        without(HostsSwitched, 0),
        "pstate-not-reached: host 1 at 4: it is said to be in pstate 1, and not all of it has been there",
    ),
    (
        "at once",
        changed(PstateAsked, 2, on=()),
        "switching-skipped: host 1 at 10: it changes to pstate 0 at once; it sleeps, in pstate 1",
    ),
    (
        "awake already",
        changed(PstateAsked, 0, off=(), on=((1, 1),)),
        "switching-impossible: host 1 at 2: it begins to go to pstate 1; it is awake, in pstate 0",
    ),
    ("unknown pstate", changed(PstateAsked, 0, state=9), "no-such-pstate: host 1 at 2: it has no pstate 9"),
    (
        "joules fall",
        changed(EnergyMeasured, -1, joules=100.0),
        "consumed-energy-falls: hosts at 30: 100.000000 J consumed until now, ",
    ),
    (
        "more than the hosts can draw",
        changed(EnergyMeasured, 2, joules=999.0),
        "joules-impossible: hosts at 2: 939.000000 J since the last measurement; states and watts of the "
        "hosts allow 60.000000 to 200.000000 J",
    ),
    (
        "less than the hosts draw",
        changed(EnergyMeasured, 3, joules=500.0),
        "joules-impossible: hosts at 4: 310.000000 J since the last measurement; ",
    ),
    (
        "all joules wrong",
        changed(EnergyEnds, 0, joules=20000.0),
        "joules-do-not-add-up: hosts at 30: 20000.000000 J are reported, jobs and the rest have 10623.98",
    ),
    (
        "share of a job wrong",
        changed(EnergyMeasured, 5, fair_joules=900.0),
        "joules-do-not-add-up: hosts at 30: 1000.000000 J are reported, the fair shares of the jobs are "
        "900.000000 J",
    ),
    (
        "rest wrong",
        changed(EnergyEnds, 0, idle=560.0, sleeping=158.5),
        "joules-wrong: hosts at 30: 560.000000 J are reported, states and watts of the idle hosts give "
        "660.000000 J",
    ),
    (
        "sleep wrong",
        changed(EnergyEnds, 0, idle=560.0, sleeping=158.5),
        "joules-wrong: hosts at 30: 158.500000 J are reported, states and watts of the sleeping hosts give "
        "58.500000 J",
    ),
    ("untold", without(EnergyEnds), "energy-never-ends: journal at 30: the run is done, its joules"),
]


def _moved(records: Records, kind: type, *, after: type, **changes: object) -> Records:
    [nth] = [i for i, record in enumerate(records) if type(record) is kind]
    rest = records[:nth] + records[nth + 1 :]
    place = next(i for i, record in enumerate(rest) if type(record) is after) + 1
    return [*rest[:place], msgspec.structs.replace(records[nth], **changes), *rest[place:]]


@pytest.mark.parametrize(("forge", "line"), [f[1:] for f in FORGED], ids=[f[0] for f in FORGED])
def test_each_forged_journal_is_found_by_one_line(
    tmp_path: Path, real: Journal, forge: Callable[[Records], Records], line: str
) -> None:
    lines = findings(tmp_path, forge(real.records))
    assert any(found.startswith(line) for found in lines), lines


def test_a_journal_of_an_older_version_tells_no_watts_and_passes(tmp_path: Path, real: Journal) -> None:
    records = changed(EnergyBegins, 0, powers=())(without(EnergyEnds)(real.records))
    assert findings(tmp_path, records) == []


def test_figures_that_no_host_can_have_are_damage(tmp_path: Path, real: Journal) -> None:
    begins = next(record for record in real.records if type(record) is EnergyBegins)
    [power] = begins.powers
    for wrong in ({"cores": 0}, {"watts": ()}, {"speeds": (1.0,)}):
        powers = (msgspec.structs.replace(power, **wrong),)
        with pytest.raises(InputError, match=r"record 2: damaged journal: a host has \d speeds and"):
            findings(tmp_path, changed(EnergyBegins, 0, powers=powers)(real.records))


def test_a_first_pstate_that_is_not_there_is_no_traceback(tmp_path: Path, real: Journal) -> None:
    records = changed(EnergyBegins, 0, pstates=((99, ((0, 1),)),))(real.records)
    assert any(line.startswith("no-such-pstate: host 1 at 2") for line in findings(tmp_path, records))


def test_a_stopped_run_may_have_hosts_on_their_way(tmp_path: Path, real: Journal) -> None:
    place = next(i for i, record in enumerate(real.records) if type(record) is PstateAsked) + 1
    records = [*real.records[:place], RunEnds(2 * S, "interrupted")]
    assert findings(tmp_path, records) == []


@pytest.mark.parametrize("name", ["consumed_energy.csv", "pstate_changes.csv"])
def test_the_tables_of_energy_are_compared_with_the_journal(tmp_path: Path, real: Journal, name: str) -> None:
    recorder = RunRecorder(tmp_path)
    for record in real.records:
        recorder.write(record)
    recorder.close(Timing())
    assert audit(tmp_path).passed
    lines = (tmp_path / name).read_text().splitlines(keepends=True)
    (tmp_path / name).write_text("".join([*lines[:2], "9" + lines[2], *lines[3:]]))
    [finding] = audit(tmp_path).findings
    assert (finding.rule, finding.subject) == ("table-differs", f"{name}:3")
