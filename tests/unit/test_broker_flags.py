"""The arguments of ``batpy broker``: who is named, what is routed to whom, and what is said about a slip."""

from __future__ import annotations

import pytest

from batpy.base.errors import InputError
from batpy.broker.tenants import TenantConfig
from batpy.cli.commands.broker import configure
from batpy.cli.serve_broker import serve_broker, tenants_of

TWO = ("--scheduler", "hpc=tcp://127.0.0.1:1", "--scheduler", "bda=tcp://127.0.0.1:2")


def test_flags_describe_tenants_by_rank() -> None:
    flags = ("--route", "h=hpc", "--route", "b=bda", "--route", "c=bda", "--wants", "bda=sharing+refusals")
    arguments = configure().parse_args([*TWO, *flags, "--dynamic-jobs", "bda", "--droppable", "bda"])
    assert tenants_of(arguments, ["hpc", "bda"]) == [
        TenantConfig("hpc", ("h",)),
        TenantConfig("bda", ("b", "c"), ("sharing", "refusals"), dynamic_jobs=True, droppable=True),
    ]


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ((), "--scheduler: name at least one, as NAME=tcp://HOST:PORT"),
        (("--scheduler", "hpc=tcp://nowhere"), "--scheduler: hpc=tcp://nowhere:"),
        ((*TWO, "--route", "w=web"), "--route: there is no scheduler 'web'; choose from hpc, bda"),
        ((*TWO, "--wants", "web=sharing"), "--wants: there is no scheduler 'web'; choose from hpc, bda"),
        ((*TWO, "--wants", "bda=money"), "got 'money'"),
        ((*TWO, "--droppable", "web"), "--droppable: there is no scheduler 'web'; choose from hpc, bda"),
        ((*TWO, "--policy", "fair"), "fair"),
    ],
)
def test_a_slip_is_one_line(flags: tuple[str, ...], told: str) -> None:
    with pytest.raises(InputError) as why:
        serve_broker(configure().parse_args(list(flags)), print)
    assert told in str(why.value)
    assert "\n" not in str(why.value)
