"""Where every core-second of a shared park went: a pure fold of the simulator's and the broker's journals.

All amounts are host-ticks until they are written, where they become core-seconds: ticks over the resolution,
times the cores of the host. The horizon runs from 0 to the last record of the simulator.

**States of a host.** At any time a compute host is in exactly one of these; the first that applies counts, so
that they add up to cores times horizon:

==========  ========================================================================================
busy        a job runs on it (also while the host is away: the job still computes)
down        it has left the park
epilog      its last job is over and it is not cleared yet (job's end to ``HostsCleared``)
prolog      it is prepared for a start (``PrologBegins`` to ``StartReleased``)
blocked     a start that was asked for keeps it, and waits for other hosts to be vacated or cleaned or, once
            released, for the simulator (``StartAsked`` to ``PrologBegins``, ``StartReleased`` to real start)
idle        it is lent and none of the above
unlent      it is lent to nobody
==========  ========================================================================================

A state belongs to the tenant of the job or start in question; idle time, where a host is lent to several
tenants, to the one of the lowest rank, whose use of the hole was the last hope; down and unlent to nobody.
Hosts shared by jobs are busy for the tenant of the job that came first.

**Executed work** of an attempt is the time from its start to its end on each of its hosts. It is divided into

==========  ========================================================================================
useful      it counts in the end: the whole of the attempt that succeeded, and of each killed attempt at
            a job that succeeded later, the part that no later attempt did again
lost        the rest of what attempts that are over executed
unfinished  executed for jobs that are neither done nor given up when the records end
reexecuted  that part of ``lost`` which a further attempt at the same job was started to do again
overlap     executed on hosts that were busy already (``compute_sharing``); else nothing
==========  ========================================================================================

so that useful + lost + unfinished = executed = busy + overlap. What was kept of a killed attempt follows from
the work of the next one (``batpy.results.accounting.keeping``).
"""

ACCOUNTING, LOANS, WORK = "accounting.csv", "loans.csv", "work.csv"
SHARING_TABLES = (ACCOUNTING, LOANS, WORK)
"""Tables of a shared run; ``batpy.results.accounting.tables`` documents their columns."""
