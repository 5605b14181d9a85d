"""Routes of RuleBased zones (platform version 3): patterns of zone names, written out for all pairs of zones.

Only patterns of the form ``^before(.*)after$`` are understood, which is what the Grid'5000 files use; a file
is not to be trusted with regular expressions of its own. ``$1src`` and ``$1dst`` stand for what ``(.*)``
took.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from batpy.platforms.simgrid.names import Names
from batpy.platforms.simgrid.wires import RouteDescription

# Pairs of inner zones of one zone that rules are written out for.
MAX_PAIRS = 100_000
_PATTERN = re.compile(r"\^?((?:[\w\s-]|\\\.)*)(?:(\(\.\*\))((?:[\w\s-]|\\\.)*))?\$?")


def expand_rules(
    rules: Sequence[RouteDescription], zones: Sequence[str], names: Names
) -> list[RouteDescription]:
    """The routes between *zones* that the *rules* stand for; of several rules for a pair the first counts.

    Raises:
        InputError: a rule between nodes, a pattern that is not understood, or too many pairs.
    """
    readers = []
    for rule in rules:
        if not rule.between_zones or rule.bypass:
            problem = "RuleBased routing between hosts is not supported; write routes with routing Full"
            raise names.fail(rule.line, rule.title, problem)
        readers.append((rule, _pattern(rule, rule.source, names), _pattern(rule, rule.target, names)))
    if len(zones) ** 2 > MAX_PAIRS and rules:
        first = rules[0]
        raise names.fail(
            first.line, first.title, f"RuleBased routing of more than {MAX_PAIRS} pairs of zones"
        )
    return [
        route
        for source in zones
        for target in zones
        if source != target
        for route in _first(readers, source, target)
    ]


def _first(
    readers: Sequence[tuple[RouteDescription, re.Pattern[str], re.Pattern[str]]], source: str, target: str
) -> Iterator[RouteDescription]:
    for rule, left, right in readers:
        here, there = left.fullmatch(source), right.fullmatch(target)
        if here is not None and there is not None:
            yield _written_out(rule, source, target, _taken(here), _taken(there))
            return


def _taken(match: re.Match[str]) -> str:
    return match[1] if match.re.groups else match[0]


def _pattern(rule: RouteDescription, text: str, names: Names) -> re.Pattern[str]:
    parts = _PATTERN.fullmatch(text)
    if parts is None:
        problem = f"RuleBased pattern {text!r} is not supported; known is ^before(.*)after$"
        raise names.fail(rule.line, rule.title, problem)
    before, group, after = (part or "" for part in parts.groups())
    before, after = (re.escape(part.replace("\\.", ".")) for part in (before, after))
    return re.compile(f"{before}(.*){after}" if group else before)


def _written_out(rule: RouteDescription, source: str, target: str, left: str, right: str) -> RouteDescription:
    def fill(text: str) -> str:
        return text.replace("$1src", left).replace("$1dst", right)

    return replace(
        rule,
        source=source,
        target=target,
        entry=fill(rule.entry),
        exit=fill(rule.exit),
        # The way back is given by the rule that matches it.
        symmetrical=False,
        crossings=tuple([replace(crossing, link=fill(crossing.link)) for crossing in rule.crossings]),
        title=f"{rule.title} for {source!r} -> {target!r}",
    )
