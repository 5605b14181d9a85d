"""The studies there are; a study is loaded when it is asked for."""

from __future__ import annotations

import importlib
from typing import Final

from batpy.base.errors import InputError
from batpy.studies.study import Study

STUDIES: Final = {
    "bebida-2017": "batpy.studies.bebida_2017",
    "bebida-2024": "batpy.studies.bebida_2024",
    "pfs-vs-dfs": "batpy.studies.pfs_vs_dfs",
}


def load(name: str) -> Study:
    """The study of that name.

    Raises:
        InputError: there is none.
    """
    module = STUDIES.get(name)
    if module is None:
        raise InputError(f"no such study; choose from {', '.join(STUDIES)}", source=name)
    study = importlib.import_module(module).STUDY
    assert isinstance(study, Study)
    return study
