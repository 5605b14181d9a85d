"""``[broker.prolog]`` and ``[broker.epilog]``: what handing hosts over costs, as options of the policy."""

from __future__ import annotations

from typing import Any

from batpy.base.plugins import parse_spec
from batpy.cli.tables import Table, shown

PROLOG = {
    "preset": "prolog",
    "base": "prolog_base",
    "per_node": "prolog_per_node",
    "width": "prolog_width",
    "grace": "grace",
    "timeout": "timeout",
    "timeout_per_node": "timeout_per_node",
    "on_timeout": "on_timeout",
    "lazy": "lazy",
}
EPILOG = {
    "base": "epilog_base",
    "per_node": "epilog_per_node",
    "width": "epilog_width",
    "blocking": "epilog_blocking",
    "recommission": "recommission",
}


def with_hand_over(policy: str, broker: Table) -> str:
    """The policy's text with the keys of the two tables among its options.

    Raises:
        InputError: an unknown key, or one that the policy's text has too.
    """
    name, options = parse_spec(policy)
    for word, keys in (("prolog", PROLOG), ("epilog", EPILOG)):
        table = broker.table(word)
        for key, option in keys.items():
            value = table.value(key)
            if value is None:
                continue
            if option in options:
                raise table.fail(key, f"the policy has it too, as {option}={options[option]}; say it once")
            options[option] = _text(table, key, value)
        table.finish()
    if not options:
        return policy
    return f"{name}[{','.join(f'{key}={_quoted(value)}' for key, value in options.items())}]"


def _text(table: Table, key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, str)) and '"' not in str(value):
        return str(value)
    raise table.fail(key, f"must be a number, a text or true or false, got {shown(value)}")


def _quoted(value: str) -> str:
    return f'"{value}"' if any(letter in value for letter in ",[]") else value
