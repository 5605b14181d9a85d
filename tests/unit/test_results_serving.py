"""Laws and tables of ML serving: each kind of broken journal is found, whole ones make the tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from serving_runs import requests, serve

from batpy.protocol.records import (
    ActionAsked,
    ActionEnded,
    AnyRecord,
    RequestArrived,
    RequestEnded,
    RunBegins,
    RunEnds,
)
from batpy.results.audit import audit
from batpy.results.laws_serving import ServingLaws
from batpy.results.recorder import RunRecorder
from batpy.results.serving import write_serving_tables

BEGINS = RunBegins(0, "1", 1_000_000, 1, 0, False, {})
ARRIVED = RequestArrived(10, "r!0", 5, 2, 100_000)
ASKED = ActionAsked(20, 1, 0, "INFER", 0, 5, 2)
RESULT = ActionEnded(60, 1, 0, 0, 20_000, 60_000, 60_000)
ANSWERED = RequestEnded(60, "r!0", 0)
ENDS = RunEnds(70, "done")
WHOLE: list[AnyRecord] = [BEGINS, ARRIVED, ASKED, RESULT, ANSWERED, ENDS]


def rules(records: list[AnyRecord]) -> list[str]:
    laws = ServingLaws()
    return [finding.rule for record in records for finding in laws.check(record)]


def test_a_whole_journal_breaks_no_law() -> None:
    laws = ServingLaws()
    assert [f for record in WHOLE for f in laws.check(record)] == []
    assert list(laws.remarks()) == [
        "1 requests: 1 answered in time, 0 late, 0 refused, 0 still queued at the end"
    ]


@pytest.mark.parametrize(
    ("records", "rule"),
    [
        ([BEGINS, ARRIVED, ASKED, RESULT, ENDS], "request-without-end"),
        ([BEGINS, ARRIVED, ASKED, RequestEnded(30, "r!0", 4), ENDS], "action-without-result"),
        ([*WHOLE[:5], ANSWERED, ENDS], "request-ends-twice"),
        ([*WHOLE[:5], ARRIVED], "request-twice"),
        ([BEGINS, ANSWERED, ENDS], "response-to-nothing"),
        ([BEGINS, RESULT, ENDS], "result-of-nothing"),
        ([BEGINS, ASKED, ASKED], "action-twice"),
        ([BEGINS, ARRIVED, ANSWERED, ENDS], "answer-from-nowhere"),
        ([BEGINS, ASKED, ActionEnded(60, 1, 1, 0, 20_000, 60_000, 60_000)], "result-of-nothing"),
        ([BEGINS, ASKED, ActionEnded(60, 1, 0, 0, 20_000, 61_000, 61_000)], "result-at-wrong-time"),
        ([BEGINS, ASKED, ActionEnded(60, 1, 0, 0, 19_000, 60_000, 60_000)], "result-at-wrong-time"),
        (
            [
                *WHOLE[:5],
                ActionAsked(20, 2, 0, "INFER", 0, 6, 1),
                ActionEnded(90, 2, 0, 0, 59_999, 90_000, 90_000),
            ],
            "gpu-does-two-things",
        ),
    ],
)
def test_each_broken_law_is_found(records: list[AnyRecord], rule: str) -> None:
    assert rules(records)[0] == rule


def kept_run(folder: Path) -> None:
    recorder = RunRecorder(folder)
    for record in serve("fifo_batching", requests((0.0, 0), (1.0, 0), (1.0, 1), (300.0, 2))).records:
        recorder.write(record)
    recorder.close()


def test_the_tables_have_one_row_a_request_and_an_action(tmp_path: Path) -> None:
    kept_run(tmp_path)
    count = write_serving_tables(tmp_path)
    assert count is not None
    assert count.arrived == count.in_time == 4
    rows = (tmp_path / "requests.csv").read_text().splitlines()
    assert rows[0] == "t,request_id,result,model_id,batch_size,arrival,latency,deadline,deadline_met"
    # Loaded until 8.372 ms, then a batch of one (the second came a millisecond after the load began).
    assert rows[1] == "0.013644,r!0,0,0,1,0,0.013644,0.1,1"
    assert len(rows) == 5
    actions = (tmp_path / "actions.csv").read_text().splitlines()
    assert "0.013644,4,INFER,0,0,0,0,2,0.008372,0.00527134,0.01364334,0.008372,0.01364334" in actions


def test_the_audit_checks_laws_and_tables(tmp_path: Path) -> None:
    kept_run(tmp_path)
    write_serving_tables(tmp_path)
    report = audit(tmp_path)
    assert report.passed, list(report.lines())
    assert any(line.startswith("4 requests: 4 answered in time") for line in report.remarks)
    table = tmp_path / "requests.csv"
    table.write_text(table.read_text().replace("0.1,1", "0.2,1", 1))
    [finding] = audit(tmp_path).findings
    assert (finding.rule, finding.subject) == ("table-differs", "requests.csv:2")


def test_a_run_without_requests_has_no_such_table(tmp_path: Path) -> None:
    recorder = RunRecorder(tmp_path)
    recorder.write(BEGINS)
    recorder.write(ENDS)
    recorder.close()
    assert write_serving_tables(tmp_path) is None
    assert not (tmp_path / "requests.csv").exists()
