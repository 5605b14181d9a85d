"""Files of the user are read, or refused, in the same way everywhere."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.base.files import read_text, read_toml


@pytest.mark.parametrize(
    "data",
    [b"a\nb", b"a\r\nb", b"a\rb", b"\xef\xbb\xbfa\nb", gzip.compress(b"a\nb", mtime=0)],
)
def test_a_text_is_the_same_however_it_is_stored(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    assert read_text(tmp_path / "a.txt") == "a\nb"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\xff\xfe", "is not a text in UTF-8"),
        (b"\x1f\x8bno", "damaged archive: "),
        (gzip.compress(b"abc" * 50, mtime=0)[:-9], "damaged archive: "),
    ],
)
def test_what_is_no_text_is_refused_under_the_name_the_user_wrote(
    tmp_path: Path, data: bytes, problem: str
) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(InputError, match=f"^mine.txt: {problem}"):
        read_text(tmp_path / "a.txt", "mine.txt")


def test_a_pipe_a_folder_and_nothing_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, problem in [
        ("pipe", "is a pipe, a socket or a device"),
        (".", "cannot be read: Is a directory"),
        ("no", "cannot be read: No such file"),
        ("n\0", "cannot be read: .*null"),
    ]:
        with pytest.raises(InputError, match=problem):
            read_text(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1\nb = \n", "e.toml:2: not well-formed TOML: Invalid value"),
        ("a = [1,", "e.toml:1: not well-formed TOML: "),
        ("a = " + "[" * 100_000, "e.toml: not well-formed TOML: nested too deeply"),
        ("a = " + "9" * 5000, "e.toml: not well-formed TOML: a number has too many digits"),
    ],
)
def test_malformed_toml_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "e.toml").write_text(text)
    with pytest.raises(InputError) as refused:
        read_toml(tmp_path / "e.toml", "e.toml")
    assert str(refused.value).startswith(said)
