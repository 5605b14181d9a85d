"""The shipped policies on small workloads whose right answers can be worked out by hand."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from core_talk import started
from mini_simulator import MiniSimulator, Outcome, Work

from batpy.base.errors import InputError
from batpy.protocol.messages import ExecuteJob, JobCompleted, JobSubmitted, Message
from batpy.schedulers import SCHEDULERS, make_scheduler
from batpy.schedulers.closures import ClosureRequest, place_closures
from batpy.schedulers.core import SchedulerCore

# flux-framework/flux-sched#572: 17 jobs of 20 s on 4 nodes.
FLUX_SIZES = [4, 3, 3, 2, 2, 2, 2, *[1] * 10]
FLUX_WALLTIMES = [80] * 7 + list(range(70, 20, -5))


def play(spec: str, nb_hosts: int, jobs: list[Work], base: Path | None = None) -> Outcome:
    outcome = MiniSimulator(make_scheduler(spec, base=base), nb_hosts, jobs).run()
    assert not outcome.waiting
    return outcome


def starts(spec: str, nb_hosts: int, jobs: list[Work], base: Path | None = None) -> dict[str, int]:
    return {name.removeprefix("w0!"): date for name, date in play(spec, nb_hosts, jobs, base).starts.items()}


def jobs(*rows: tuple[str, int, int, int, int | None]) -> list[Work]:
    return [Work(f"w0!{name}", submit, res, run, walltime) for name, submit, res, run, walltime in rows]


# a runs, b waits for the whole platform; c is short and d is long.
FOUR = jobs(("a", 0, 2, 10, 10), ("b", 1, 4, 5, 5), ("c", 2, 2, 8, 8), ("d", 3, 2, 20, 20))


class TestOnFourJobs:
    def test_fcfs_lets_nobody_overtake(self) -> None:
        assert starts("fcfs", 4, FOUR) == {"a": 0, "b": 10, "c": 15, "d": 15}

    def test_easy_backfills_what_ends_before_the_head_starts(self) -> None:
        assert starts("easy", 4, FOUR) == {"a": 0, "c": 2, "b": 10, "d": 15}

    def test_conservative_does_the_same_here(self) -> None:
        assert starts("conservative", 4, FOUR) == {"a": 0, "c": 2, "b": 10, "d": 15}

    def test_filler_starts_whatever_fits(self) -> None:
        # d starts when a ends, since c still runs then; b has to wait until both are over.
        work = jobs(("a", 0, 2, 10, 10), ("b", 1, 4, 5, 5), ("c", 2, 2, 9, 9), ("d", 3, 2, 20, 20))
        assert starts("filler", 4, work) == {"a": 0, "c": 2, "d": 10, "b": 30}


def test_easy_uses_extra_hosts_past_the_shadow_date() -> None:
    work = jobs(("a", 0, 3, 10, 10), ("b", 1, 4, 5, 5), ("long", 2, 1, 99, 99), ("c", 20, 4, 1, 1))
    assert starts("easy", 5, work)["long"] == 2
    assert starts("easy", 5, work)["b"] == 10


def test_an_early_end_moves_the_head_forward() -> None:
    work = jobs(("a", 0, 4, 3, 10), ("b", 1, 4, 5, 5))
    assert starts("easy", 4, work) == {"a": 0, "b": 3}
    assert starts("conservative", 4, work) == {"a": 0, "b": 3}


def test_a_job_may_end_exactly_at_the_shadow_date() -> None:
    work = jobs(("a", 0, 2, 10, 10), ("b", 1, 4, 5, 5), ("c", 2, 2, 8, 8))
    assert starts("easy", 4, work)["c"] == 2
    work = jobs(("a", 0, 2, 10, 10), ("b", 1, 4, 5, 5), ("c", 2, 2, 9, 9))
    assert starts("easy", 4, work)["c"] == 15


@pytest.mark.parametrize("spec", ["easy", "conservative", "conservative[hosts=contiguous]"])
def test_a_job_that_outlived_its_walltime_ends_in_the_second_message_of_an_instant(spec: str) -> None:
    """A start held back by a broker does that: what waits for its hosts starts in that message, not never."""

    def submitted(now: int, name: str, res: int, walltime: int) -> JobSubmitted:
        raw = {"id": name, "subtime": now, "res": res, "walltime": walltime, "profile": "p"}
        return JobSubmitted(now * 1_000_000, f"w!{name}", raw)

    core = make_scheduler(spec)
    started(core)
    core.handle(Message(0, [submitted(0, "late", 2, 5), submitted(0, "short", 1, 20)]))
    core.handle(Message(1_000_000, [submitted(1, "wide", 3, 2)]))
    now = 10_000_000
    ends = [
        JobCompleted(now, f"w!{name}", "COMPLETED_SUCCESSFULLY", 0, hosts)
        for name, hosts in (("short", ((2, 2),)), ("late", ((0, 1),)))
    ]
    assert core.handle(Message(now, [ends[0]])).events == []
    [start] = core.handle(Message(now, [ends[1]])).events
    assert isinstance(start, ExecuteJob)
    assert start.job_id == "w!wide"


def test_conservative_keeps_the_second_waiting_job_from_being_delayed() -> None:
    """EASY lets d overtake c's date, conservative does not."""
    work = jobs(("a", 0, 2, 10, 10), ("b", 1, 3, 10, 10), ("c", 2, 4, 10, 10), ("d", 3, 1, 30, 30))
    assert starts("easy", 4, work) == {"a": 0, "d": 3, "b": 10, "c": 33}
    assert starts("conservative", 4, work) == {"a": 0, "b": 10, "c": 20, "d": 30}


class TestFlux572:
    @pytest.mark.parametrize("known", [True, False], ids=["walltimes", "no walltimes"])
    def test_easy_packs_seven_waves(self, known: bool) -> None:
        work = [
            Work(f"w0!{number:02}", 0, res, 20, walltime if known else None)
            for number, (res, walltime) in enumerate(zip(FLUX_SIZES, FLUX_WALLTIMES, strict=True))
        ]
        assert play("easy", 4, work).makespan == 140

    @pytest.mark.parametrize("name", ["flux572_easy17", "flux572_easy17_nowalltime"])
    def test_the_files_do_too(self, shared: Path, name: str) -> None:
        tree = json.loads((shared / "data/bugs" / f"{name}.json").read_text())
        work = [
            Work(
                f"w0!{row['id']}",
                row["subtime"],
                row["res"],
                20,
                row["walltime"] if row["walltime"] > 0 else None,
            )
            for row in sorted(tree["jobs"], key=lambda row: int(row["id"]))
        ]
        # Ids are texts: as the simulator submits them.
        assert play("easy", tree["nb_res"], work).makespan == 140

    def test_two_jobs_without_walltime_are_not_backfilled_past_the_head(self) -> None:
        work = jobs(("a", 0, 3, 20, None), ("b", 1, 4, 20, None), ("c", 2, 1, 90, None), ("d", 3, 1, 9, 9))
        # c would end "by" a shadow date that is never: inf <= inf. d ends before any date without end.
        assert starts("easy", 4, work) == {"a": 0, "d": 3, "b": 20, "c": 40}


@pytest.mark.parametrize(
    "spec", ["easy", "conservative", "easy[hosts=contiguous]", "conservative[hosts=contiguous]"]
)
def test_without_walltimes_extra_hosts_are_given_away_once(spec: str) -> None:
    """What was backfilled without walltime may run for ever, so its hosts are not counted for the head."""
    work = jobs(("a", 0, 2, 9, None), ("b", 0, 6, 3, None), *((f"c{n}", n, 1, 90, None) for n in range(1, 6)))
    dates = starts(spec, 7, work)
    assert dates["b"] == 9  # as soon as a is over
    assert [n for n in range(1, 6) if dates[f"c{n}"] < 9] == [1]  # one host is extra


def test_easy_forgets_jobs_that_were_backfilled_far_behind_the_head() -> None:
    core = make_scheduler("easy[order=ljf]")
    sizes = []

    def handle(message: Message) -> Message:
        sizes.append(len(core._policy._queue))  # type: ignore[attr-defined]
        return SchedulerCore.handle(core, message)

    core.handle = handle  # type: ignore[method-assign]
    # A wide and long head waits; short narrow ones come two by two, the second of which waits for the first.
    work = jobs(("a", 0, 1, 100_000, 100_000), ("head", 0, 2, 5000, 5000))
    work += [Work(f"w0!{n}", n - n % 10, 1, 5, 5) for n in range(10, 10_000) if n % 10 < 2]
    outcome = MiniSimulator(core, 2, work).run()
    assert outcome.starts["w0!9991"] == 9995
    assert max(sizes) <= 80


class TestOrders:
    WORK = jobs(
        ("a", 0, 4, 10, 10), ("b", 1, 3, 4, 4), ("c", 1, 4, 2, 2), ("d", 1, 1, 3, 3), ("e", 2, 2, 9, 9)
    )  # fmt: skip

    @pytest.mark.parametrize(
        ("order", "first"),
        [
            ("fcfs", "b"), ("lcfs", "e"), ("sjf", "c"), ("ljf", "e"), ("narrowest", "d"), ("widest", "c"),
            ("smallest_area", "d"), ("saf", "d"), ("largest_area", "e"), ("laf", "e"),
            ("expansion_factor", "c"), ("xf", "c"), ("walltime", "e"), ("-walltime", "c"),
            ("100*res - walltime", "c"), ("wait", "b"),
        ],
    )  # fmt: skip
    def test_the_first_of_the_queue_starts_first(self, order: str, first: str) -> None:
        dates = starts(f"filler[order={order}]", 4, self.WORK)
        assert dates[first] == 10
        dates = starts(f"easy[order={order}]", 4, self.WORK)
        assert dates[first] == 10

    def test_backfilling_has_an_order_of_its_own(self) -> None:
        work = jobs(
            ("a", 0, 3, 9, 9), ("b", 1, 4, 5, 5), ("c", 2, 1, 4, 4), ("d", 2, 1, 2, 2), ("e", 2, 1, 7, 7)
        )  # fmt: skip
        assert starts("easy[backfill=sjf]", 4, work) == {"a": 0, "d": 2, "c": 4, "b": 9, "e": 14}
        assert starts("easy[backfill=ljf]", 4, work)["e"] == 2
        assert starts("easy", 4, work)["c"] == 2

    @pytest.mark.parametrize("order", ["fifo", "2*", "wait+", "1e999*wait", "..*wait", "3*4*wait", "+"])
    def test_a_text_that_is_no_order_is_refused(self, order: str) -> None:
        with pytest.raises(InputError, match=r"easy\[order="):
            make_scheduler(f"easy[order={order}]")


class TestHosts:
    WORK = jobs(("a", 0, 1, 9, 9), ("b", 0, 1, 2, 2), ("c", 0, 3, 9, 9), ("d", 0, 1, 2, 2), ("e", 3, 2, 1, 1))

    @pytest.mark.parametrize("name", ["fcfs", "easy", "conservative", "filler"])
    def test_hosts_are_chosen_as_asked(self, name: str) -> None:
        first = play(f"{name}[hosts=first_fit]", 7, self.WORK)
        assert first.hosts["w0!e"] == ((1, 1), (5, 5))
        best = play(f"{name}[hosts=best_fit]", 7, self.WORK)
        assert best.hosts["w0!e"] == ((5, 6),)
        together = play(f"{name}[hosts=contiguous]", 6, self.WORK)
        assert together.starts["w0!e"] == 9
        assert len(together.hosts["w0!e"]) == 1

    def test_an_unknown_choice_is_refused_with_the_choices(self) -> None:
        with pytest.raises(
            InputError, match=r"fcfs\[hosts=random\]: choose from first_fit, contiguous, best_fit"
        ):
            make_scheduler("fcfs[hosts=random]")


class TestClosures:
    CLOSED = """
        [[outage]]
        label = "cooling"
        hosts = "0-1"
        start = 10
        end = 20

        [[reservation]]
        count = 1
        start = 10
        end = 12.0
    """

    @pytest.mark.parametrize("name", ["fcfs", "easy", "conservative", "filler"])
    def test_no_job_crosses_one(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "closed.toml").write_text(self.CLOSED)
        spec = f"{name}[calendar=closed.toml]"
        # Hosts 0-1 are closed on [10, 20), host 3 (the highest) on [10, 12).
        work = jobs(
            ("a", 0, 1, 5, 10),
            ("b", 1, 1, 5, 10),
            ("c", 2, 1, 9, 9),
            ("d", 9, 4, 5, 5),
            ("e", 30, 1, 1, None),
        )
        outcome = play(spec, 4, work, tmp_path)
        assert outcome.hosts["w0!a"] == ((0, 0),)
        assert outcome.hosts["w0!b"] == ((2, 2),)  # until 11
        assert outcome.starts["w0!c"] == 6
        assert outcome.starts["w0!d"] == 20

    def test_a_job_without_walltime_crosses_every_later_one(self, tmp_path: Path) -> None:
        (tmp_path / "closed.json").write_text(
            json.dumps({"reservation": [{"hosts": "0-1", "start": 100, "end": 200, "label": "x"}]})
        )
        work = jobs(("a", 0, 2, 5, None), ("b", 1, 1, 5, 5))
        assert starts("fcfs[calendar=closed.json]", 3, work, tmp_path) == {"a": 200, "b": 200}
        assert starts("easy[calendar=closed.json]", 3, work, tmp_path) == {"a": 200, "b": 1}

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[[outage]\n", "closed.toml:1: not well-formed TOML"),
            ("[[closed]]\n", "closed: no such table; choose from reservation, outage"),
            ("outage = 3\n", "outage: want a list"),
            ("outage = [3]\n", r"outage\[0\]: want an object"),
            ('[[outage]]\nhosts="1"\nstart=1\nend=2\ncolour=1\n', r"outage\[0\].colour: no such field"),
            ('[[outage]]\nhosts="1"\nstart=-1\nend=2\n', r"outage\[0\].start: want a date"),
            ('[[outage]]\nhosts="1"\nstart=1\nend=true\n', r"outage\[0\].end: want a date"),
            ('[[outage]]\nhosts="1"\nstart=1\nend=nan\n', r"outage\[0\].end: want a date"),
            ('[[outage]]\nhosts="1"\nstart=2\nend=2\n', r"outage\[0\].end: must be later"),
            ("[[outage]]\nstart=1\nend=2\n", r"outage\[0\]: want one of hosts and count"),
            ('[[outage]]\nhosts="1"\ncount=1\nstart=1\nend=2\n', r"outage\[0\]: want one of hosts and count"),
            ("[[outage]]\ncount=0\nstart=1\nend=2\n", r"outage\[0\].count: want a number of hosts"),
            ('[[outage]]\nhosts="b"\nstart=1\nend=2\n', r"outage\[0\].hosts: 'b' is not a host"),
            ('[[outage]]\nhosts=""\nstart=1\nend=2\n', r"outage\[0\].hosts: names no host"),
            ("[[outage]]\nhosts=3\nstart=1\nend=2\n", r"outage\[0\].hosts: want a text"),
            ('[[outage]]\nhosts="1"\nlabel=3\nstart=1\nend=2\n', r"outage\[0\].label: want a text"),
        ],
    )
    def test_a_bad_file_is_refused_with_the_path_of_the_field(
        self, tmp_path: Path, text: str, message: str
    ) -> None:
        (tmp_path / "closed.toml").write_text(text)
        with pytest.raises(InputError, match=message) as refused:
            make_scheduler("easy[calendar=closed.toml]", base=tmp_path)
        assert "closed.toml" in str(refused.value)
        assert "\n" not in str(refused.value)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('[[outage]]\nhosts="3-9"\nstart=1\nend=2\n', r"outage\[0\].hosts: no such host: 4-9"),
            (
                "[[reservation]]\ncount=5\nstart=1\nend=2\n",
                r"reservation\[0\].count: wants 5 hosts, 4 are not",
            ),
        ],
    )
    def test_hosts_are_checked_once_the_platform_is_known(
        self, tmp_path: Path, text: str, message: str
    ) -> None:
        (tmp_path / "closed.toml").write_text(text)
        with pytest.raises(InputError, match=message):
            play("easy[calendar=closed.toml]", 4, [], tmp_path)

    def test_a_closure_shorter_than_a_tick_takes_one(self) -> None:
        request = ClosureRequest("outage", "outage[0]", 1.0, 1.1, ((0, 0),), 1, "")
        [closure] = place_closures([request], ((0, 3),), 1, "x").after(0)
        assert (closure.start, closure.end) == (1, 2)

    def test_closures_are_found_by_their_dates(self) -> None:
        requests = [
            ClosureRequest("outage", "outage[0]", 10, 20, ((0, 1),), 2, ""),
            ClosureRequest("outage", "outage[1]", 20, 30, ((0, 1),), 2, ""),
            ClosureRequest("reservation", "reservation[0]", 15, 25, None, 1, ""),
        ]
        closures = place_closures(requests, ((0, 3),), 1, "x")
        assert [(c.start, c.hosts) for c in closures.within(19, 20)] == [(10, ((0, 1),)), (15, ((3, 3),))]
        assert [c.start for c in closures.after(20)] == [15, 20]
        assert closures.after(30) == []
        assert [closures.next_end(now) for now in (0, 19, 20, 25, 30)] == [20, 20, 25, 30, None]

    def test_a_closure_far_past_everything_is_no_trouble(self, tmp_path: Path) -> None:
        (tmp_path / "closed.toml").write_text('[[outage]]\nhosts="1"\nstart=5\nend=1e12\n')
        assert starts("easy[calendar=closed.toml]", 2, jobs(("a", 0, 1, 9, 9)), tmp_path) == {"a": 0}

    @pytest.mark.parametrize("text", ["[" * 100_000, '{"outage": ' + "9" * 5000 + "}", "{"])
    def test_json_that_python_cannot_read_is_refused(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "closed.json").write_text(text)
        with pytest.raises(InputError, match=r"closed.json(:1)?: not JSON: "):
            make_scheduler("easy[calendar=closed.json]", base=tmp_path)

    def test_without_a_calendar_its_libraries_are_not_loaded(self) -> None:
        code = (
            "import sys; from batpy.schedulers.registry import make_scheduler; make_scheduler('easy');"
            "print(*{'intervaltree', 'sortedcontainers', 'procset'} & sys.modules.keys())"
        )
        shown = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
        assert shown.stdout == "\n"

    def test_a_missing_file_is_named(self) -> None:
        with pytest.raises(InputError, match=r"nowhere.toml: cannot be read: No such file"):
            make_scheduler("easy[calendar=nowhere.toml]")


class TestReplay:
    HEADER = "job_id,workload_name,final_state,starting_time,allocated_resources\n"

    def replay(self, folder: Path, rows: str, work: list[Work], header: str = HEADER) -> Outcome:
        (folder / "jobs.csv").write_text(header + rows)
        return play("replay[schedule=jobs.csv]", 4, work, folder)

    def test_jobs_start_when_and_where_they_did(self, tmp_path: Path) -> None:
        rows = "a,w0,COMPLETED_SUCCESSFULLY,4.0,0 3\nb,w0,COMPLETED_FAILED,2.4,1-2\nc,w0,REJECTED,,\n"
        work = jobs(("a", 0, 2, 5, None), ("b", 1, 2, 1, None), ("c", 1, 1, 1, None))
        outcome = self.replay(tmp_path, rows, work)
        assert outcome.starts == {"w0!b": 2, "w0!a": 4}
        assert outcome.hosts == {"w0!b": ((1, 2),), "w0!a": ((0, 0), (3, 3))}
        assert set(outcome.rejected) == {"w0!c"}

    def test_a_date_that_is_past_means_at_once(self, tmp_path: Path) -> None:
        outcome = self.replay(tmp_path, "a,w0,COMPLETED_SUCCESSFULLY,3,0\n", jobs(("a", 5, 1, 5, None)))
        assert outcome.starts == {"w0!a": 5}

    def test_a_job_waits_for_its_own_hosts(self, tmp_path: Path) -> None:
        rows = "a,w0,X,0,0\nb,w0,X,2,0\nc,w0,X,2,1\n"
        outcome = self.replay(
            tmp_path, rows, jobs(("a", 0, 1, 5, None), ("b", 0, 1, 5, None), ("c", 0, 1, 5, None))
        )
        assert outcome.starts == {"w0!a": 0, "w0!c": 2, "w0!b": 5}

    def test_old_column_names_and_compressed_files_are_read(self, tmp_path: Path) -> None:
        header = "job_id,workload_name,starting_time,allocated_processors\n"
        (tmp_path / "jobs.csv.gz").write_bytes(gzip.compress((header + "w0!a,w0,7.0,2\n").encode()))
        outcome = play("replay[schedule=jobs.csv.gz]", 4, jobs(("a", 0, 1, 5, None)), tmp_path)
        assert outcome.starts == {"w0!a": 7}

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ("b,w0,X,0,0\n", "jobs.csv: no row for w0!a"),
            ("a,w0,X,,\n", "jobs.csv:2: w0!a has no starting_time and is not REJECTED"),
            ("a,w0,X,soon,0\n", "jobs.csv:2: starting_time: 'soon' is not a date"),
            ("a,w0,X,nan,0\n", "jobs.csv:2: starting_time: 'nan' is not a date"),
            ("a,w0,X,0,b\n", "jobs.csv:2: allocated_resources: 'b' is not a host"),
            ("a,w0,X,0,\n", "jobs.csv:2: allocated_resources: a started job has no hosts"),
            ("a,w0,X\n", "jobs.csv:2: the row is too short"),
            ("a,w0,X,0,0\na,w0,X,0,0\n", "jobs.csv:3: w0!a has two rows"),
        ],
    )
    def test_a_schedule_that_does_not_do_is_refused(self, tmp_path: Path, rows: str, message: str) -> None:
        with pytest.raises(InputError, match=message):
            self.replay(tmp_path, rows, jobs(("a", 0, 1, 5, None)))

    def test_hosts_that_the_platform_does_not_have_are_refused_at_the_beginning(self, tmp_path: Path) -> None:
        rows = "a,w0,X,0,0\nb,w0,X,0,2-9\n"
        said = r"jobs.csv:3: allocated_resources: w0!b ran on 4-9, but the hosts here are 0-3; replay needs"
        with pytest.raises(InputError, match=said):
            self.replay(tmp_path, rows, [])

    def test_a_job_of_another_size_than_its_row_is_refused(self, tmp_path: Path) -> None:
        said = r"jobs.csv:2: allocated_resources: w0!a asks for 1 hosts, not the 2 of its row"
        with pytest.raises(InputError, match=said):
            self.replay(tmp_path, "a,w0,X,0,0-1\n", jobs(("a", 0, 1, 5, None)))

    @pytest.mark.parametrize("start", ["-1", "1e300", "inf"])
    def test_a_date_out_of_all_bounds_is_refused(self, tmp_path: Path, start: str) -> None:
        with pytest.raises(InputError, match=f"jobs.csv:2: starting_time: '{start}' is not a date"):
            self.replay(tmp_path, f"a,w0,X,{start},0\n", [])

    def test_a_table_that_the_csv_module_cannot_read_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"jobs.csv:2: not a CSV table: field larger than"):
            self.replay(tmp_path, "a" * 200_000 + ",w0,X,0,0\n", [])

    def test_a_missing_column_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"jobs.csv:1: has no column starting_time"):
            self.replay(tmp_path, "", [], "job_id,workload_name,allocated_resources\n")

    def test_the_schedule_is_needed(self) -> None:
        with pytest.raises(InputError, match=r"replay\[schedule=...\]: the option 'schedule' is needed"):
            make_scheduler("replay")


def test_the_shipped_schedulers_are_listed() -> None:
    assert {"fcfs", "easy", "conservative", "filler", "replay"} <= set(SCHEDULERS.names())
