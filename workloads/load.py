"""Reading a workload file of any known kind, told by its content."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from batpy.base.errors import InputError
from batpy.workloads.files import read_bytes
from batpy.workloads.job import Workload
from batpy.workloads.seconds import DEFAULT_TICKS_PER_SECOND
from batpy.workloads.swf_options import SwfOptions

_ROW = re.compile(rb"\s*-?\d[\d.]*[\s;]")
_EVENT = re.compile(rb'\{[^\n]*"timestamp"[^\n]*\}\s*\n')
_NAMES_ROW = re.compile(rb"\s*\w+([\t;, ]+\w+){9,}\s*\n")


def load_workload(
    path: str | Path,
    id: str = "w0",
    *,
    source: str | None = None,
    ticks_per_second: int = DEFAULT_TICKS_PER_SECOND,
    swf: SwfOptions | Mapping[str, Any] | None = None,
    swf_path: str = "swf",
) -> Workload:
    """Read a workload file, plain, gzipped or zipped.

    Args:
        path: the file.
        id: workload id.
        source: the file's name as the user wrote it.
        ticks_per_second: the run's resolution; wins over the one in *swf*.
        swf: options of the SWF reader, or their table; only for SWF logs.
        swf_path: where that table stands, for complaints.

    Raises:
        InputError: unreadable, of no known kind, or breaking the rules of its kind.
    """
    source = source if source is not None else str(path)
    if kind_of(path, source) == "batsim":
        from batpy.workloads.batsim_json import read_batsim_json

        if swf:
            raise InputError(f"options of the SWF reader, but {source} is a Batsim workload", path=swf_path)
        return read_batsim_json(path, id, source=source, ticks_per_second=ticks_per_second)
    from batpy.workloads.swf import read_swf

    if isinstance(swf, SwfOptions):
        from dataclasses import replace

        options = replace(swf, ticks_per_second=ticks_per_second)
    else:
        options = SwfOptions.from_mapping(swf or {}, swf_path, ticks_per_second)
    return read_swf(path, id, options, source=source)


def kind_of(path: str | Path, source: str | None = None) -> Literal["swf", "batsim"]:
    """Tell an SWF log from a Batsim JSON workload by the first bytes of the (unpacked) content.

    Raises:
        InputError: neither; the line says what it looks like.
    """
    source = source if source is not None else str(path)
    head = read_bytes(path, source, 4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"{") and not _EVENT.match(head):
        return "batsim"
    name = re.sub(r"\.(gz|zip)$", "", str(path).lower())
    if head.startswith(b";") or _ROW.match(head) or name.endswith(".swf") or _NAMES_ROW.match(head):
        return "swf"
    if name.endswith(".json"):
        return "batsim"
    looks = "it is empty"
    if _EVENT.match(head):
        looks = "it looks like a file of external events, one object a line"
    elif head.startswith(b"<"):
        looks = "it looks like XML (a platform file?)"
    elif head:
        looks = f"it begins with {head[:20].decode('utf-8', 'replace')!r}"
    raise InputError(
        f"not a workload: {looks}; known are SWF logs (rows of 18 numbers) and Batsim JSON workloads",
        source=source,
    )
