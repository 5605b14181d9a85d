"""Platforms written in one line: what a user says about a cluster, racks or a fat tree, checked and built."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from batpy.platforms.platform import MAX_HOSTS, Platform

if TYPE_CHECKING:
    from batpy.platforms.builders import Quantities

# Kinds, with the option that holds the shape where all is written in one text: ``cluster[hosts=128]``.
KINDS = {"cluster": "hosts", "racks": "shape", "fat_tree": "shape"}

# Options of the links, by kind; what a kind does not know is refused.
LINKS = {
    "cluster": ("bandwidth", "latency", "backbone", "backbone_latency"),
    "racks": ("bandwidth", "latency", "uplink"),
    "fat_tree": ("bandwidth", "latency"),
}

_RACKS = re.compile(r"(\d{1,8})\s*[xX*]\s*(\d{1,8})", re.ASCII)
_NUMBERS = re.compile(r"\d{1,8}(?:\s*[,xX]\s*\d{1,8})*", re.ASCII)


class Blueprint(msgspec.Struct, frozen=True):
    """A kind of platform, its shape and its links.

    Attributes:
        kind: one of ``KINDS``.
        shape: number of hosts of a cluster, ``RACKSxHOSTS``, or ``children;parents;ports`` of a fat tree with
            one number for each level of switches (``4,4;1,2;1,2``; ``4x4;1x2;1x2`` is the same), before which
            the number of levels may stand, as in SimGrid's ``topo_parameters``.
        bandwidth: of a host's links, bytes per second; None for the default, as for all that follow.
        latency: of the links, seconds.
        backbone: bandwidth of a link that all routes of a cluster cross; None for a perfect switch.
        backbone_latency: seconds.
        uplink: bandwidth of a rack's links.
    """

    kind: str
    shape: str
    bandwidth: float | None = None
    latency: float | None = None
    backbone: float | None = None
    backbone_latency: float | None = None
    uplink: float | None = None

    @property
    def source(self) -> str:
        """How results and complaints name the platform."""
        return f"{self.kind}={self.shape}"

    def build(self, **quantities: Unpack[Quantities]) -> Platform:
        """The platform.

        Raises:
            ValueError: a malformed shape, a quantity out of range, or an option of another kind.
        """
        from batpy.platforms import builders

        for name in ("bandwidth", "latency", "backbone", "backbone_latency", "uplink"):
            if getattr(self, name) is not None and name not in LINKS[self.kind]:
                raise ValueError(f"{name} is not for {self.kind}; it has {', '.join(LINKS[self.kind])}")
        links = {name: getattr(self, name) for name in ("bandwidth", "latency", "uplink")}
        told: dict[str, Any] = {name: value for name, value in links.items() if value is not None}
        told.update(quantities)
        if self.kind == "racks":
            return builders.racks(*rack_shape(self.shape), **told)
        if self.kind == "fat_tree":
            return builders.fat_tree(*fat_tree_shape(self.shape), **told)
        if self.backbone is not None:
            told["backbone"] = (self.backbone, self.backbone_latency or 0.0)
        elif self.backbone_latency is not None:
            raise ValueError("backbone_latency needs a backbone")
        return builders.cluster(int(self.shape), **told)


def rack_shape(text: str) -> tuple[int, int]:
    """Racks and hosts a rack of ``4x16``.

    Raises:
        ValueError: it is not written like that, or is no sensible size.
    """
    match = _RACKS.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"want RACKSxHOSTS, such as 4x16, got {text!r}")
    racks, hosts = int(match[1]), int(match[2])
    _check_size((racks, hosts))
    return racks, hosts


def fat_tree_shape(text: str) -> tuple[list[int], list[int], list[int]]:
    """Children, parents and ports of ``4,4;1,2;1,2``.

    Raises:
        ValueError: it is not written like that, or is no sensible size.
    """
    parts = [part.strip() for part in text.split(";")]
    if not all(_NUMBERS.fullmatch(part) for part in parts) or len(parts) not in (3, 4):
        problem = "want children;parents;ports with a number for each level of switches"
        raise ValueError(f"{problem}, such as 4,4;1,2;1,2, got {text!r}")
    lists = [[int(number) for number in re.split("[,xX]", part)] for part in parts]
    if len(lists) == 4:
        (levels,) = lists.pop(0)[:1]
        if any(len(numbers) != levels for numbers in lists):
            raise ValueError(f"want {levels} numbers in each list after the number of levels, got {text!r}")
    children, parents, ports = lists
    if not len(children) == len(parents) == len(ports):
        raise ValueError(f"want as many children as parents and ports, got {text!r}")
    _check_size(children)
    return children, parents, ports


def _check_size(numbers: Sequence[int]) -> None:
    total = math.prod(numbers)
    if not 1 <= total <= MAX_HOSTS:
        raise ValueError(f"want from 1 to {MAX_HOSTS} hosts in all, got {total}")
