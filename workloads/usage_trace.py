"""Reader of CPU usage traces, the files behind ``usage_trace`` profiles (Batsim 4.2.1).

A profile names a list file, relative to the workload file; each of its lines names the file of one rank,
relative to the list file; each line of that is ``RANK m_usage USAGE FLOPS``, done one after another.
"""

from __future__ import annotations

import math
import os.path
from pathlib import Path

import msgspec

from batpy.base.errors import InputError
from batpy.base.files import read_text
from batpy.workloads.profile import UsagePhase, UsageTrace


def read_usage_trace(profile: UsageTrace, folder: Path, source: str) -> UsageTrace:
    """The profile with the phases of its ranks.

    Args:
        folder: where the workload file lies.
        source: the workload file as the user named it.

    Raises:
        InputError: a file is missing or malformed, with the file and line that says so.
    """
    where = f"profiles.{profile.name}.trace"
    listed = os.path.join(os.path.dirname(source), profile.trace)
    try:
        text = read_text(folder / profile.trace, listed)
    except InputError as why:
        raise InputError(f"{profile.trace!r} {why.problem}", source=source, path=where) from None
    ranks: list[tuple[UsagePhase, ...]] = []
    for number, row in enumerate(text.split("\n"), 1):
        name = row.strip()
        if not name:
            continue
        shown = os.path.join(os.path.dirname(listed), name)
        try:
            content = read_text((folder / profile.trace).parent / name, shown)
        except InputError as why:
            problem = f"the trace {name!r} of rank {len(ranks)} {why.problem}"
            raise InputError(problem, source=listed, line=number) from None
        ranks.append(_phases(content, len(ranks), shown))
    if not ranks:
        raise InputError("lists no trace; one file a rank is required", source=listed)
    return msgspec.structs.replace(profile, ranks=tuple(ranks))


def _phases(text: str, rank: int, source: str) -> tuple[UsagePhase, ...]:
    found: list[UsagePhase] = []
    for number, row in enumerate(text.split("\n"), 1):
        words = row.split()
        if not words:
            continue
        problem = _problem(words, rank)
        if problem:
            raise InputError(problem, source=source, line=number)
        found.append((float(words[2]), float(words[3])))
    return tuple(found)


def _problem(words: list[str], rank: int) -> str | None:
    """What keeps a line from being a phase of this rank; None if nothing does."""
    if len(words) != 4 or words[1] != "m_usage":
        return f"must be RANK m_usage USAGE FLOPS, got {' '.join(words)!r}"
    if words[0] != str(rank):
        return f"must be of rank {rank}, got {words[0]!r}"
    usage, flops = _number(words[2]), _number(words[3])
    if not 0 <= usage <= 1:
        return f"the usage must be a number from 0 to 1, got {words[2]!r}"
    if not 0 <= flops < math.inf:
        return f"the flops must be a finite number of at least 0, got {words[3]!r}"
    return None


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return math.nan
