"""Accounts of a run's folder."""

from __future__ import annotations

from pathlib import Path

import msgspec

from batpy.base.errors import InputError
from batpy.results.accounting.account import Account
from batpy.results.accounting.figures import Sharing, figures
from batpy.results.accounting.fold import account_records
from batpy.results.accounting.tables import write_sharing_tables
from batpy.results.journal import JOURNAL, JournalReader
from batpy.results.sharing_journal import SHARING_JOURNAL, SharingJournalReader
from batpy.results.summary import SUMMARY, Summary


def is_shared(folder: str | Path) -> bool:
    """True if a broker left its journal there."""
    return (Path(folder) / SHARING_JOURNAL).exists()


def account_run(folder: str | Path) -> Account:
    """The accounts of a run from its two journals.

    Raises:
        InputError: a journal cannot be read, or the two cannot be of one run.
    """
    folder = Path(folder)
    try:
        return account_records(
            JournalReader(folder / JOURNAL), SharingJournalReader(folder / SHARING_JOURNAL)
        )
    except InputError as error:
        if error.source is not None:
            raise
        raise InputError(error.problem, source=str(folder / SHARING_JOURNAL)) from None


def finish_accounts(folder: str | Path) -> Sharing:
    """Write the tables of a shared run whose journals are closed; the figures for its summary.

    Raises:
        InputError: as ``account_run``, or a table cannot be written.
    """
    account = account_run(folder)
    write_sharing_tables(folder, account)
    return figures(account)


def finish_summary(folder: str | Path, summary: Summary) -> Summary:
    """Write the tables of a shared run, and its summary again with the figures of its tenants.

    A run that did not come to its end may have left no account to make; then nothing is written.

    Raises:
        InputError: as ``finish_accounts``, of a run that is done.
    """
    try:
        sharing = finish_accounts(folder)
    except InputError:
        if summary.outcome == "done":
            raise
        return summary
    summary = msgspec.structs.replace(summary, sharing=sharing)
    summary.write(Path(folder) / SUMMARY)
    return summary
