"""Which folders a run may write to."""

from __future__ import annotations

from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.cli.output import check_output
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
