"""Shared fixtures: where the large inputs lie, if they are there."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of large inputs and recorded runs beside the checkout; tests that need it skip without it."""
    if not SHARED.is_dir():
        pytest.skip("the folder of large inputs is not beside this checkout")
    return SHARED
