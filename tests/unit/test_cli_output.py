"""Which folders a run may write to."""

from __future__ import annotations

from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.cli.output import EXPERIMENT, check_output, claim
from batpy.results.journal import JOURNAL


def test_new_and_empty_folders_and_earlier_runs_are_fine(tmp_path: Path) -> None:
    check_output(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    check_output(tmp_path)
    (tmp_path / JOURNAL).touch()
    check_output(tmp_path)


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InputError, match="holds files but no run of batpy"):
        check_output(tmp_path)


def test_an_earlier_run_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).touch()
    with pytest.raises(InputError, match="holds an earlier run, which is to be kept"):
        check_output(tmp_path, overwrite=False)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(InputError, match="is a file"):
        check_output(tmp_path / "f")


def test_two_runs_cannot_write_to_one_folder_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "o"
    with (
        claim(folder),
        pytest.raises(InputError, match="another run is writing to this folder"),
        claim(folder),
    ):
        pytest.fail("both have it")
    with claim(folder):
        pass
    assert list(folder.iterdir()) == []


def test_a_folder_is_looked_at_again_once_it_is_claimed(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(InputError, match="holds files but no run"), claim(tmp_path):
        pytest.fail("it is not ours")


def test_what_a_run_killed_at_once_left_may_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "scheduler-easy.log").touch()
    check_output(tmp_path)
    (tmp_path / EXPERIMENT).touch()
    check_output(tmp_path)
    with pytest.raises(InputError, match="is to be kept"):
        check_output(tmp_path, overwrite=False)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    with pytest.raises(InputError, match="cannot prepare the output folder"), claim(tmp_path / "f" / "o"):
        pytest.fail("it is there")
