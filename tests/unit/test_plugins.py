from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from batpy.base.errors import InputError
from batpy.base.options import convert, describe_options
from batpy.base.plugins import Registry, build_options, parse_spec


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Settings:
    depth: int
    share: float = 0.5
    strict: bool = False
    order: Literal["sjf", "fcfs"] = "fcfs"
    colour: Colour = Colour.RED
    file: Path | None = None
    label: str = ""
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.depth < 0:
            raise ValueError("depth must be 0 or more")


class Tool:
    """A plug-in with options."""

    Options = Settings

    def __init__(self, options: Settings) -> None:
        self.options = options


class Bare:
    """A plug-in without options."""


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("easy", "easy", {}),
        ("easy[]", "easy", {}),
        (" easy[order=sjf, depth=40] ", "easy", {"order": "sjf", "depth": "40"}),
        ("a[x=]", "a", {"x": ""}),
        ("a[x=1=2]", "a", {"x": "1=2"}),
        ('replay[schedule="a,b].csv"]', "replay", {"schedule": "a,b].csv"}),
        ("./my file.py:Mine[time-out=3]", "./my file.py:Mine", {"time_out": "3"}),
        ("easy[order=2*wait-0.5*walltime]", "easy", {"order": "2*wait-0.5*walltime"}),
    ],
)
def test_a_spec_is_a_name_and_texts(text: str, name: str, options: dict[str, str]) -> None:
    assert parse_spec(text) == (name, options)


@pytest.mark.parametrize(
    "text",
    ["", "[a=1]", "easy[order=sjf", "easy]", "easy[order]", "easy[=1]", "easy[a=1,a=2]", "easy[a=1,]",
     'easy[a="1]',
     "easy[a=[1]]", "easy[a=1]x"],
)  # fmt: skip
def test_a_malformed_spec_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_spec(text)
    assert repr(text) in str(refused.value)


def test_texts_become_the_types_of_the_fields() -> None:
    texts = {
        "depth": "4", "share": "1e-1", "strict": "Yes", "order": "sjf", "colour": "blue", "file": "a.toml",
        "label": "x", "limit": "none",
    }  # fmt: skip
    assert build_options(Settings, texts, base=Path("/base")) == Settings(
        4, 0.1, True, "sjf", Colour.BLUE, Path("/base/a.toml"), "x", None
    )


@pytest.mark.parametrize(
    ("texts", "parts"),
    [
        ({"depht": "4"}, ["easy[depht=4]", "depth, share, strict"]),
        ({"depth": "4.5"}, ["easy[depth=4.5]", "whole number"]),
        ({"depth": "1", "share": "nan"}, ["easy[share=nan]", "a finite number, got 'nan'"]),
        ({"depth": "1", "strict": "maybe"}, ["easy[strict=maybe]", "true or false"]),
        ({"depth": "1", "order": "fifo"}, ["easy[order=fifo]", "sjf, fcfs"]),
        ({"depth": "1", "colour": "green"}, ["easy[colour=green]", "red, blue"]),
        ({"depth": "-1"}, ["easy[depth=-1]", "0 or more"]),
        ({}, ["easy[depth=...]", "needed"]),
    ],
)
def test_a_bad_option_is_named_with_the_choices(texts: dict[str, str], parts: list[str]) -> None:
    with pytest.raises(InputError) as refused:
        build_options(Settings, texts, name="easy")
    assert all(part in str(refused.value) for part in parts), str(refused.value)


def test_options_are_described_for_listings() -> None:
    shown = {option.name: (option.type, option.default) for option in describe_options(Tool)}
    assert shown["depth"] == ("int", None)
    assert shown["order"] == ("sjf|fcfs", "fcfs")
    assert shown["colour"] == ("red|blue", "red")
    assert shown["limit"] == ("int", "None")
    assert describe_options(Bare) == []


def test_a_name_can_be_taken_once() -> None:
    registry: Registry[Any] = Registry("tool")
    registry.register("tool", Tool)
    with pytest.raises(ValueError, match="already a tool named 'tool'"):
        registry.register("tool", Bare)


def test_a_plugin_is_made_with_its_options() -> None:
    registry: Registry[Any] = Registry("tool")
    registry.register("tool", Tool)
    registry.register("bare", Bare)
    registry.register("later", "fractions:Fraction")
    assert registry.make("tool[depth=3]").options == Settings(3)
    assert isinstance(registry.make("bare"), Bare)
    assert registry.lookup("later").__name__ == "Fraction"
    assert registry.names() == ["bare", "later", "tool"]
    with pytest.raises(InputError, match=r"bare\[x=1\]: no such option; it has no options"):
        registry.make("bare[x=1]")
    with pytest.raises(InputError, match="nothing: no such tool; choose from bare, later, tool"):
        registry.make("nothing")


def test_an_entry_point_is_looked_up_only_for_unknown_names(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata

    asked = []

    class Point:
        name, value = "outside", "their.package:Tool"

        def load(self) -> Any:
            return Tool

    def entry_points(group: str) -> list[Any]:
        asked.append(group)
        return [Point()]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    registry: Registry[Any] = Registry("tool", group="their.group")
    registry.register("tool", Tool)
    registry.make("tool[depth=3]")
    assert asked == []
    assert registry.make("outside[depth=5]").options.depth == 5
    assert asked == ["their.group"]


class TestUserFiles:
    SOURCE = "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass Mine:\n    limit: int = 2\n"

    def test_a_class_of_a_file_is_made(self, tmp_path: Path) -> None:
        (tmp_path / "mine.py").write_text(self.SOURCE)
        registry: Registry[Any] = Registry("tool")
        assert registry.make(f"{tmp_path}/mine.py:Mine[limit=7]").limit == 7
        assert registry.make("mine.py[limit=7]", base=tmp_path).limit == 7
        with pytest.raises(InputError, match=r"mine.py:Mine\[limt=7\]: no such option; choose from limit"):
            registry.make("mine.py:Mine[limt=7]", base=tmp_path)

    @pytest.mark.parametrize(
        ("source", "name", "message"),
        [
            (None, "", "no such file"),
            ("x = (", "", r"mine\.py:1: SyntaxError"),
            ("a = 1\nraise ValueError('no')", "", r"mine\.py:2: ValueError: no"),
            ("class A: pass\nclass B: pass", "", "found A, B; say"),
            ("x = 1", "", "found none"),
            ("x = 1", ":Mine", r"defines no Mine \(there are: none\)"),
            ("class Mine: pass", ":Mne", r"defines no Mne \(there are: Mine\)"),
        ],
    )
    def test_a_file_that_does_not_do_is_refused_in_one_line(
        self, tmp_path: Path, source: str | None, name: str, message: str
    ) -> None:
        if source is not None:
            (tmp_path / "mine.py").write_text(source)
        registry: Registry[Any] = Registry("tool")
        with pytest.raises(InputError, match=message) as refused:
            registry.lookup(f"{tmp_path}/mine.py{name}")
        assert "\n" not in str(refused.value)

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            (":Idle", "Idle is not a tool; want a class with work()"),
            (":Mne", "defines no Mne (there are: Mine); want a class with work()"),
            (":Mine", None),
            ("", None),
        ],
    )
    def test_what_is_wanted_of_a_class_is_told(self, tmp_path: Path, name: str, said: str | None) -> None:
        (tmp_path / "mine.py").write_text("class Mine:\n    def work(self): pass\nclass Idle: pass\n")
        registry: Registry[Any] = Registry(
            "tool", accepts=lambda kind: hasattr(kind, "work"), wanted="a class with work()"
        )
        if said is None:
            assert registry.lookup(f"{tmp_path}/mine.py{name}").__name__ == "Mine"
            return
        with pytest.raises(InputError) as refused:
            registry.lookup(f"{tmp_path}/mine.py{name}")
        assert refused.value.problem == said

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            (
                "class Mine:\n    def __init__(self):\n        self.x = 1 / 0\n",
                r"__init__\(\) failed at mine.py:3: Zero",
            ),
            (
                "class Mine:\n    def __init__(self, jobs):\n        pass\n",
                r"__init__\(\) failed.*missing 1 required",
            ),
            (
                "import sys\nclass Mine:\n    def __init__(self):\n        sys.exit()\n",
                r"__init__\(\) failed at mine.py:4: it left with sys.exit\(\)",
            ),
            (
                "from dataclasses import dataclass\n@dataclass\nclass Mine:\n    x: int = 0\n"
                "    def __post_init__(self):\n        self.y = {}[self.x]\n",
                r"__post_init__\(\) failed at mine.py:6: KeyError",
            ),
            (
                "from dataclasses import dataclass, field\n@dataclass\nclass Mine:\n"
                "    x: int = field(default_factory=lambda: 1 / 0)\n",
                "failed at mine.py:4: ZeroDivisionError",
            ),
            (
                "from __future__ import annotations\n"
                "from dataclasses import dataclass\n@dataclass\nclass Mine:\n"
                "    x: Unknown = 0\n",
                "failed.*name 'Unknown' is not defined",
            ),
        ],
    )
    def test_a_class_that_fails_when_it_is_made_is_the_users_and_no_bug(
        self, tmp_path: Path, body: str, said: str
    ) -> None:
        (tmp_path / "mine.py").write_text(body)
        registry: Registry[Any] = Registry("tool")
        with pytest.raises(InputError, match=said) as refused:
            registry.make("mine.py:Mine", base=tmp_path)
        assert str(refused.value).startswith("mine.py:Mine: ")
        assert "\n" not in str(refused.value)

    def test_an_option_of_a_type_that_no_text_can_give_is_refused(self, tmp_path: Path) -> None:
        text = "from dataclasses import dataclass\n@dataclass\nclass Mine:\n    x: dict = None\n"
        (tmp_path / "mine.py").write_text(text)
        registry: Registry[Any] = Registry("tool")
        with pytest.raises(
            InputError, match=r"mine.py:Mine\[x=1\]: options of type .*dict.* cannot be given"
        ):
            registry.make("mine.py:Mine[x=1]", base=tmp_path)

    def test_a_file_that_leaves_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "mine.py").write_text("import sys\nsys.exit(3)\n")
        with pytest.raises(InputError, match=r"mine.py:2: it leaves with sys.exit\(\)"):
            Registry("tool").make("mine.py", base=tmp_path)


def test_a_failure_of_our_own_is_a_bug_and_stays_one() -> None:
    class Ours:
        __module__ = "batpy.schedulers.ours"

        def __init__(self) -> None:
            raise ZeroDivisionError

    registry: Registry[Any] = Registry("tool")
    registry.register("ours", Ours)
    with pytest.raises(ZeroDivisionError):
        registry.make("ours")


def test_values_of_toml_and_texts_are_converted_alike() -> None:
    for value, kind, wanted in [
        (5, float, 5.0),
        ("5", float, 5.0),
        (4.0, int, 4),
        ("1e3", int, 1000),
        ("12345678901234567890", int, 12345678901234567890),
        (True, bool, True),
        ("off", bool, False),
        (None, int | None, None),
        ("none", int | None, None),
    ]:
        converted = convert(value, kind)
        assert (converted, type(converted)) == (wanted, type(wanted))
    for value, kind in [
        (1, bool),
        (True, int),
        (4.5, int),
        (10**400, float),
        ("", Path),
        (None, str),
        (3, str),
    ]:
        with pytest.raises(ValueError, match=r"must (be|have)"):
            convert(value, kind)


def test_meanings_come_from_the_docstrings_of_a_class_and_its_bases() -> None:
    @dataclass(frozen=True)
    class Base:
        """Common.

        Attributes:
            first, last: where it begins
                and ends.
        """

        first: int = 0
        last: int = 1

    @dataclass(frozen=True)
    class Child(Base):
        """More.

        Attributes:
            depth: how deep.

        Notes:
            last: is no attribute.
        """

        depth: int = 2

    meanings = {option.name: option.meaning for option in describe_options(Child)}
    assert meanings == {
        "first": "where it begins and ends.",
        "last": "where it begins and ends.",
        "depth": "how deep.",
    }
