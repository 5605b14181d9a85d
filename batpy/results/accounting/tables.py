"""The tables of a shared run.

``accounting.csv``: a row a tenant and compute host, all but zero rows, tenants by rank; rows of tenant ""
hold what belongs to nobody. Columns: ``tenant, host, cores``, then core-seconds: ``lent`` (on loan, whatever
happened there; a host lent to several tenants counts for each), ``useful, lost, reexecuted, unfinished,
overlap`` (executed work) and ``busy, idle, prolog, blocked, epilog, down, unlent`` (states: of one host they
add up, over its rows, to cores times horizon).

``loans.csv``: a row for each set of hosts of a loan that went back together, in the order of their return;
then what was still lent at the end. Columns: ``loan, tenant, hosts, cores, lent_at, asked_at, vacated_at``
(seconds; empty: never), ``how`` (acknowledged, seized, or empty), ``revocation, wanted_by`` (the job
for whose start they were asked back) and ``core_seconds`` on loan.

``work.csv``: a row an original job, those that succeeded first. Columns: ``job_id, tenant, attempts,
disruptions, submission_time, starting_time`` (of the first attempt), ``finish_time`` (of the last that
ended), ``final_state`` (empty: not over), and core-seconds ``executed, useful, lost, reexecuted,
unfinished``.

Dates and amounts are exact decimals (``batpy.results.decimals``).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from batpy.base.files import unwritable
from batpy.protocol.hostset import ids, to_text
from batpy.results.accounting import ACCOUNTING, LOANS, WORK
from batpy.results.accounting.account import AMOUNTS, Account
from batpy.results.decimals import fixed_text, shortened

ACCOUNTING_HEADER = ",".join(("tenant", "host", "cores", *AMOUNTS)) + "\n"
LOANS_HEADER = "loan,tenant,hosts,cores,lent_at,asked_at,vacated_at,how,revocation,wanted_by,core_seconds\n"
WORK_HEADER = (
    "job_id,tenant,attempts,disruptions,submission_time,starting_time,finish_time,final_state,"
    "executed,useful,lost,reexecuted,unfinished\n"
)


def sharing_tables(account: Account) -> dict[str, str]:
    """The whole text of each table, by its file's name."""
    return {
        ACCOUNTING: "".join(_accounting(account)),
        LOANS: "".join(_loans(account)),
        WORK: "".join(_work(account)),
    }


def write_sharing_tables(folder: str | Path, account: Account) -> None:
    """Write the tables into a folder.

    Raises:
        InputError: a file cannot be written.
    """
    for name, text in sharing_tables(account).items():
        path = Path(folder) / name
        try:
            path.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise unwritable(path, error) from None


def _accounting(account: Account) -> Iterator[str]:
    begins = account.begins
    names, fixed = [*map(_cell, begins.tenants), ""], fixed_text(begins.ticks_per_second)
    zero = fixed(0)
    yield ACCOUNTING_HEADER
    for row in account.rows():
        if not any(row[2:]):
            continue
        cores = begins.cores[row.host]
        amounts = ",".join([shortened(fixed(ticks * cores)) if ticks else zero[:1] for ticks in row[2:]])
        yield f"{names[row.tenant]},{row.host},{cores},{amounts}\n"


def _loans(account: Account) -> Iterator[str]:
    begins = account.begins
    cores, fixed = begins.cores, fixed_text(begins.ticks_per_second)
    yield LOANS_HEADER
    for piece in account.loans:
        weight = sum(cores[host] for host in ids(piece.hosts))
        end = piece.vacated_at if piece.vacated_at >= 0 else account.horizon
        dates = ",".join(
            shortened(fixed(date)) if date >= 0 else ""
            for date in (piece.lent_at, piece.asked_at, piece.vacated_at)
        )
        wanted_by = _cell(account.job_of_start.get(piece.start, ""))
        revocation = piece.revocation if piece.revocation >= 0 else ""
        amount = shortened(fixed((end - piece.lent_at) * weight))
        yield (
            f"{piece.loan},{_cell(begins.tenants[piece.tenant])},{to_text(piece.hosts)},{weight},{dates},"
            f"{piece.how},{revocation},{wanted_by},{amount}\n"
        )


def _work(account: Account) -> Iterator[str]:
    begins = account.begins
    names, fixed = [*map(_cell, begins.tenants), ""], fixed_text(begins.ticks_per_second)

    def text(ticks: int) -> str:
        return shortened(fixed(ticks)) if ticks else "0"

    yield WORK_HEADER
    for job in account.jobs:
        dates = ",".join(text(date) if date >= 0 else "" for date in (job.submitted, job.started, job.ended))
        amounts = ",".join(map(text, (job.executed, job.useful, job.lost, job.reexecuted, job.unfinished)))
        yield (
            f"{_cell(job.job)},{names[job.tenant]},{job.attempts},{job.disruptions},{dates},{job.state},"
            f"{amounts}\n"
        )


def _cell(text: str) -> str:
    """A text fit for a cell (RFC 4180)."""
    if any(mark in text for mark in ',"\n\r'):
        quoted = text.replace('"', '""')
        return f'"{quoted}"'
    return text
