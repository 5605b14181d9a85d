"""``batpy list``: everything there is to choose from, with the options it takes and what they mean."""

from __future__ import annotations

from typing import Any

import pytest

from batpy.base.options import describe_options
from batpy.cli import samples
from batpy.cli.main import main
from batpy.schedulers.registry import SCHEDULERS
from batpy.workloads.generators import GENERATORS
from batpy.workloads.swf_options import SwfOptions

Capture = pytest.CaptureFixture[str]


def listed(capsys: Capture, what: str) -> str:
    assert main(["list", what]) == 0
    return capsys.readouterr().out


def part(text: str, name: str) -> str:
    """The lines under *name*, up to the next name."""
    lines = text.splitlines()
    [start] = [number for number, line in enumerate(lines) if line.split()[:1] == [name] and line[0] != " "]
    end = next((n for n in range(start + 1, len(lines)) if not lines[n].startswith(" ")), len(lines))
    return " ".join(" ".join(lines[start:end]).split())


@pytest.mark.parametrize(("what", "registry"), [("schedulers", SCHEDULERS), ("generators", GENERATORS)])
def test_every_plugin_is_listed_with_its_options_and_their_meaning(
    capsys: Capture, what: str, registry: Any
) -> None:
    text = listed(capsys, what)
    assert len(registry.names()) >= 3
    for name in registry.names():
        shown = part(text, name)
        for option in describe_options(registry.lookup(name)):
            assert option.meaning, f"{name}.{option.name} is not documented"
            told = "required" if option.default is None else "default: "
            assert f" {option.name}={option.type} ({told}" in shown
            assert option.meaning.replace("``", "") in shown


def test_options_are_shown_as_a_user_writes_them(capsys: Capture) -> None:
    text = listed(capsys, "schedulers")
    assert "hosts=first_fit|contiguous|best_fit (default: first_fit)" in part(text, "easy")
    assert "calendar=file (default: none)" in part(text, "easy")
    assert "order=text (default: fcfs)" in part(text, "filler")
    assert "schedule=file (required) the recorded jobs.csv" in part(text, "replay")


def test_options_of_the_swf_reader_are_among_the_workloads(capsys: Capture) -> None:
    shown = part(listed(capsys, "workloads"), "options")
    for option in describe_options(SwfOptions):
        assert (f" {option.name}=" in shown) == (option.name != "ticks_per_second")
    assert 'statuses="1-5 8" (default: none)' in shown
    assert "strict=true|false (default: false) refuse the file at the first row" in shown


def test_every_sample_is_listed_with_what_it_is(capsys: Capture) -> None:
    text = "".join(listed(capsys, what) for what in ("workloads", "platforms"))
    names = samples.names()
    assert {"composed.json", "hosts-leave.txt", "kth-sp2-5000.swf.gz", "kth-sp2.toml"} <= set(names)
    for name in names:
        assert f"sample:{name.removesuffix('.toml')} " in text


def test_without_a_word_the_choices_are_told(capsys: Capture) -> None:
    assert main(["list"]) == 2
    told = capsys.readouterr().err
    assert all(word in told for word in ("schedulers", "platforms", "workloads", "generators"))


def test_short_names_of_orders_are_listed(capsys: Capture) -> None:
    told = listed(capsys, "schedulers")
    assert "saf for smallest_area, laf for largest_area, xf for expansion_factor" in told


def test_options_are_told_without_the_words_of_the_code(capsys: Capture) -> None:
    assert "None" not in listed(capsys, "workloads")
