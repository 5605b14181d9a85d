"""Who had which hosts on loan, from when to when, and for whose sake they went back."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from batpy.protocol import hostset
from batpy.protocol.hostset import HostSet
from batpy.protocol.sharing_records import Lent, RevokeAsked, Vacated

_NO_LOAN = -1


class LoanPiece(NamedTuple):
    """Hosts of one loan that went back together; dates are ticks, -1 for never, serials -1 for none.

    Attributes:
        how: ``acknowledged``, ``seized``, or "" if still lent at the end.
        start: serial of the start that wanted the hosts.
    """

    loan: int
    tenant: int
    hosts: HostSet
    lent_at: int
    asked_at: int
    vacated_at: int
    how: str
    revocation: int
    start: int


class LoanBook:
    """Every loan, host by host.

    Args:
        on_piece: told each piece of a loan as it goes back, and at the end what is still lent.
    """

    def __init__(self, hosts: int, tenants: int, on_piece: Callable[[LoanPiece], None]) -> None:
        self._loan_of = [[_NO_LOAN] * hosts for _ in range(tenants)]
        self._begins: dict[int, int] = {}
        self._revocations: dict[int, RevokeAsked] = {}
        self._tell = on_piece

    def lend(self, tenant: int, record: Lent, hosts: HostSet) -> None:
        """A tenant may use hosts (the compute hosts of the record)."""
        self._begins[record.loan] = record.time
        loan_of = self._loan_of[tenant]
        for first, last in hosts:
            loan_of[first : last + 1] = [record.loan] * (last + 1 - first)

    def ask_back(self, record: RevokeAsked) -> None:
        """A tenant is to vacate hosts."""
        self._revocations[record.revocation] = record

    def take_back(self, tenant: int, record: Vacated, hosts: HostSet) -> None:
        """A tenant has vacated hosts (the compute hosts of the record)."""
        asked = self._revocations.get(record.revocation)
        asked_at, start = (asked.time, asked.start) if asked is not None else (-1, -1)
        for loan, part in self._pieces(tenant, hosts):
            dates = self._begins[loan], asked_at, record.time
            self._tell(LoanPiece(loan, tenant, part, *dates, record.how, record.revocation, start))

    def finish(self) -> None:
        """The records end."""
        for tenant, loan_of in enumerate(self._loan_of):
            every = hostset.from_ids(h for h, loan in enumerate(loan_of) if loan != _NO_LOAN)
            for loan, hosts in self._pieces(tenant, every):
                self._tell(LoanPiece(loan, tenant, hosts, self._begins[loan], -1, -1, "", -1, -1))

    def _pieces(self, tenant: int, hosts: HostSet) -> list[tuple[int, HostSet]]:
        """Close the loans of these hosts: hosts by loan, in order of the loans."""
        loan_of = self._loan_of[tenant]
        found: dict[int, list[tuple[int, int]]] = {}
        for first, last in hosts:
            loans = loan_of[first : last + 1]
            loan_of[first : last + 1] = [_NO_LOAN] * (last + 1 - first)
            if loans.count(loans[0]) == len(loans):
                found.setdefault(loans[0], []).append((first, last))
                continue
            for host, loan in enumerate(loans, first):
                found.setdefault(loan, []).append((host, host))
        found.pop(_NO_LOAN, None)
        return [
            (loan, tuple(pairs) if len(pairs) == 1 else hostset.normalise(pairs))
            for loan, pairs in sorted(found.items())
        ]
