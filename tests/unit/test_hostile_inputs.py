"""What a careless or hostile user can put into files and flags: one line, whatever it is."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from batpy.base.errors import InputError, one_line
from batpy.base.plugins import Registry
from batpy.cli.experiment import load_experiment
from batpy.cli.overrides import apply_overrides
from batpy.platforms.load import load_platform
from batpy.workloads.batsim_json import parse_batsim_json
from batpy.workloads.external_events import ExternalEvent, read_events
from batpy.workloads.load import load_workload

DIGITS = "1" * 5000  # more than Python turns into an integer
MINIMAL = """
[platform]
hosts = 4
[[workload]]
file = "log.swf"
[scheduler.easy]
algorithm = "easy"
"""


# --------------------------------------------------------------------------- complaints


def test_a_complaint_has_no_control_characters_and_is_short() -> None:
    assert one_line("a\n b\x1b[31m\u2028é\udcff") == "a b\\x1b[31m é\\udcff"
    assert one_line("x" * 100_000 + "end").endswith("xxend")
    assert len(one_line("x" * 100_000)) < 520
    assert one_line(ValueError()) == "ValueError"


# --------------------------------------------------------------------------- experiments


def refused(tmp_path: Path, change: tuple[str, str], *settings: str) -> str:
    (tmp_path / "my.toml").write_text(MINIMAL.replace(*change))
    with pytest.raises(InputError) as caught:
        load_experiment("my.toml", settings, cwd=tmp_path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("scheduler.easy", 'scheduler."../../x"'), "my.toml: scheduler.../../x: its name becomes part of a"),
        (("scheduler.easy", f'scheduler."{"x" * 101}"'), f"my.toml: scheduler.{'x' * 101}: its name"),
        (("hosts = 4", f"hosts = {DIGITS}"), "my.toml: not well-formed TOML: a number has too many digits"),
        (('file = "log.swf"', 'file = "log.swf"\nid = "\\u001b"'), "my.toml: workload[0].id: must hold no"),
        (
            ('algorithm = "easy"', 'algorithm = "easy"\nwants = ["refusal"]'),
            "my.toml: scheduler.easy.wants: choose from sharing, pipelines, serving, refusals, machine_",
        ),
    ],
)
def test_names_that_would_harm_files_or_tables_are_refused(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    assert refused(tmp_path, change).startswith(said)


@pytest.mark.parametrize("key", ["time_step", "latency"])
def test_a_duration_shorter_than_a_tick_is_not_taken_for_none(tmp_path: Path, key: str) -> None:
    said = refused(tmp_path, ("", ""), f"simulation.{key}=0.05", "simulation.resolution=7")
    assert said.startswith(f"my.toml: simulation.{key}: is shorter than a tick (7 ticks a second), got 0.05")


def test_a_value_of_thousands_of_digits_is_a_text() -> None:
    tree: dict[str, Any] = {}
    apply_overrides(tree, [f"seed={DIGITS}"])
    assert tree == {"seed": DIGITS}


def test_nothing_can_be_set_inside_what_is_no_table() -> None:
    with pytest.raises(InputError, match=r"workload\[0\]: is no table"):
        apply_overrides({"workload": ["x"]}, ["workload.0.swf.strict=true"])
    with pytest.raises(InputError, match="is not a number from 0 to 0"):
        apply_overrides({"workload": [{}]}, [f"workload.{DIGITS}.file=x"])


# --------------------------------------------------------------------------- pipes


@pytest.mark.parametrize("kind", ["workload", "platform", "events", "experiment"])
def test_a_pipe_nobody_writes_to_is_refused_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    pipe = tmp_path / "pipe.xml"
    os.mkfifo(pipe)
    readers: dict[str, Any] = {
        "workload": lambda: load_workload(pipe),
        "platform": lambda: load_platform(pipe),
        "events": lambda: read_events(pipe, ticks_per_second=1, generic=False),
        "experiment": lambda: load_experiment(str(pipe)),
    }
    with pytest.raises(InputError, match="is a pipe, a socket or a device"):
        readers[kind]()


# --------------------------------------------------------------------------- numbers in workloads


def workload(job: dict[str, Any], profile: dict[str, Any] | None = None) -> bytes:
    plain = {"id": "1", "subtime": 0, "res": 1, "profile": "d"}
    profiles = {"d": profile or {"type": "delay", "delay": 1}}
    return json.dumps({"nb_res": 4, "jobs": [plain | job], "profiles": profiles}).encode()


@pytest.mark.parametrize("value", [1e19, 1e308, 10**400])
@pytest.mark.parametrize("resolution", [7, 10**9])
def test_dates_and_durations_beyond_any_use_are_refused_by_their_path(value: float, resolution: int) -> None:
    cases = {
        "jobs[0].subtime": workload({"subtime": value}),
        "jobs[0].walltime": workload({"walltime": value}),
        "profiles.d.delay": workload({}, {"type": "delay", "delay": value}),
    }
    for path, content in cases.items():
        with pytest.raises(InputError) as caught:
            parse_batsim_json(content, "w0", source="w.json", ticks_per_second=resolution)
        # The JSON reader itself takes 10**400 for malformed.
        assert caught.value.path == path or "JSON" in caught.value.problem


def test_json_numbers_of_thousands_of_digits_are_one_line() -> None:
    content = workload({}).replace(b'"subtime": 0', b'"subtime": ' + DIGITS.encode())
    with pytest.raises(InputError, match=r"w\.json.*(too many digits|out of range|at most)"):
        parse_batsim_json(content, "w0", source="w.json")


# --------------------------------------------------------------------------- external events


def events(tmp_path: Path, text: str) -> list[ExternalEvent]:
    (tmp_path / "ev.txt").write_text(text)
    return read_events(tmp_path / "ev.txt", source="ev.txt", ticks_per_second=10**6, generic=True)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"timestamp": 1e308, "type": "x"}', "ev.txt:1: timestamp: must be at most 1e+18 seconds"),
        ('{"timestamp": NaN, "type": "x"}', "ev.txt:1: timestamp: must be a number of at least 0"),
        ('{"timestamp": ' + DIGITS + ', "type": "x"}', "ev.txt:1: not a JSON object on one line"),
        ("[" * 200_000, "ev.txt:1: not a JSON object on one line"),
        ('{"timestamp": 1, "type": "machine_available", "resources": "²"}', "ev.txt:1: resources: "),
        ('{"timestamp": 1, "type": "machine_available", "resources": "' + DIGITS + '"}', "ev.txt:1: resou"),
    ],
)
def test_a_malformed_event_is_one_line_with_its_number(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        events(tmp_path, line)
    assert str(caught.value).startswith(said)


def test_only_line_breaks_end_an_event(tmp_path: Path) -> None:
    (event,) = events(tmp_path, '{"timestamp": 1, "type": "x", "note": "a\u2028b"}\n')
    assert event.raw["note"] == "a\u2028b"


# --------------------------------------------------------------------------- platforms


@pytest.mark.parametrize("radical", ["0-99999999999999", "0-99999999999999999999", f"0-{DIGITS}"])
def test_a_radical_of_too_many_hosts_is_refused_however_long_its_numbers(
    tmp_path: Path, radical: str
) -> None:
    (tmp_path / "p.xml").write_text(
        '<platform version="4.1"><zone id="z" routing="Full">'
        f'<cluster id="c" prefix="n" suffix="" radical="{radical}" speed="1f"/></zone></platform>'
    )
    with pytest.raises(InputError, match=r"more than .* hosts|neither a number nor an interval"):
        load_platform(tmp_path / "p.xml")


# --------------------------------------------------------------------------- a user's class


@pytest.mark.parametrize("head", ["def __init__(self): raise KeyError('x')", "def __init__(self, x): pass"])
@pytest.mark.parametrize("base", [True, False])
def test_a_users_class_that_cannot_be_made_is_the_users_fault(tmp_path: Path, head: str, base: bool) -> None:
    (tmp_path / "mine.py").write_text(f"class Mine:\n    {head}\n")
    registry: Registry[Any] = Registry("thing")
    name = "mine.py:Mine" if base else f"{tmp_path}/mine.py:Mine"
    with pytest.raises(InputError, match=r"mine\.py.*(KeyError|TypeError)"):
        registry.make(name, base=tmp_path if base else None)
