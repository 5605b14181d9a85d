"""The index of waiting jobs against a plain sorted list."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from batpy.schedulers.api import Job
from batpy.schedulers.hpc.waiting import JobList, WaitingIndex

moves = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 9), st.integers(1, 8), st.integers(1, 8)),
        st.tuples(st.just("take"), st.integers(0, 400)),
        st.tuples(st.just("scan"), st.integers(0, 9), st.integers(-2, 9), st.integers(0, 9)),
    ),
    max_size=300,
)


@settings(deadline=None, max_examples=60)
@given(moves, st.booleans())
def test_the_index_finds_what_a_walk_over_a_sorted_list_finds(script: list[Any], arrival: bool) -> None:
    index, queue, plain = WaitingIndex(), JobList(), {}
    serial = 0
    for move in script:
        if move[0] == "add":
            for _ in range(9):  # enough for rebuilds
                serial += 1
                key = 0 if arrival else (move[1] * serial) % 10
                job = Job(str(serial), move[2], move[3], serial, 0, {})
                index.add(key, job)
                queue.push(key, job)
                plain[key, serial] = job
        elif move[0] == "take" and plain:
            entry = sorted(plain)[move[1] % len(plain)]
            index.discard(plain.pop(entry))
        elif move[0] == "scan":
            _, free, limit, extra = move
            scan, found = index.scan(), []
            while (job := scan.next(free, limit, extra)) is not None:
                found.append(job.serial)
            fits = [
                e[1]
                for e, job in sorted(plain.items())
                if job.res <= free and (job.length <= limit or job.res <= extra)
            ]
            assert found == fits
        index.check()
        assert len(index) == len(plain)
        head = queue.head()
        assert (head.serial if head is not None else None) == min(plain, default=(0, None))[1]
