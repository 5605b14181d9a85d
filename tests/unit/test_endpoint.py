"""Addresses that cannot work are refused before a socket is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.transport.endpoint import check_endpoint


@pytest.mark.parametrize(
    "endpoint", ["tcp://localhost:28000", "tcp://10.0.0.1:1", "tcp://[::1]:80", "ipc:///tmp/x"]
)
def test_addresses_of_both_sides(endpoint: str) -> None:
    check_endpoint(endpoint, bind=False)
    check_endpoint(endpoint, bind=True)


@pytest.mark.parametrize("endpoint", ["tcp://*:28000", "tcp://127.0.0.1:*", "tcp://127.0.0.1:0"])
def test_addresses_of_the_binding_side_only(endpoint: str) -> None:
    check_endpoint(endpoint, bind=True)
    with pytest.raises(InputError, match=r"the side that binds|must be HOST:PORT"):
        check_endpoint(endpoint, bind=False)


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "localhost:28000",
        "udp://a:1",
        "tcp://",
        "tcp://a",
        "tcp://:1",
        "tcp://a:70000",
        "tcp://a:b",
        "ipc://",
    ],
)
def test_nonsense(endpoint: str) -> None:
    for bind in (False, True):
        with pytest.raises(InputError) as caught:
            check_endpoint(endpoint, bind=bind)
        assert caught.value.source == endpoint


def test_a_users_file_is_never_replaced_by_a_socket(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text("mine")
    with pytest.raises(InputError, match="not a socket"):
        check_endpoint(f"ipc://{file}", bind=True)
    assert file.read_text() == "mine"
