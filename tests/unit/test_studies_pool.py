"""Processes of a study: what becomes of one that dies."""

from __future__ import annotations

import os

import pytest

from batpy.base.errors import PeerError
from batpy.studies.pool import workers


def test_a_process_that_is_killed_is_told_in_one_line() -> None:
    with workers(2) as apply, pytest.raises(PeerError, match="was killed"):
        apply(os._exit, [1, 1, 1], lambda: None)
