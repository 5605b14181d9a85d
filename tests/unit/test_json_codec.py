"""JSON codec: Batsim's names and structure, what is tolerated on reading, and how a refusal reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from batpy.base.errors import LocalProtocolError, RemoteProtocolError
from batpy.protocol import extensions as x
from batpy.protocol import messages as m
from batpy.protocol.json_codec import JsonCodec

BEGINS_DATA: dict[str, Any] = {
    "nb_resources": 1,
    "nb_compute_resources": 1,
    "nb_storage_resources": 0,
    "allow_compute_sharing": False,
    "allow_storage_sharing": True,
    "config": {"dynamic-jobs-enabled": False},
    "compute_resources": [{"id": 0, "name": "a"}],
    "storage_resources": [],
    "workloads": {"w0": "w.json"},
    "profiles": {"w0": {"p": {"type": "delay", "delay": 5}}},
}


def said(event: m.Event, now: int = 2_500_000) -> Any:
    """The one event of a message, as the JSON tree that is written."""
    return json.loads(JsonCodec().encode_message(m.Message(now, [event])))["events"][0]


def read(name: str, data: Any, *, timestamp: Any = 1.5, now: Any = 2) -> m.Event:
    tree = {"now": now, "events": [{"timestamp": timestamp, "type": name, "data": data}]}
    return JsonCodec().decode_message(json.dumps(tree).encode()).events[0]


WRITTEN = [
    (m.SimulationEnds(1), {}),
    (m.RequestedCall(1), {}),
    (m.JobSubmitted(1, "w!1", {"id": "w!1"}), {"job_id": "w!1", "job": {"id": "w!1"}}),
    (
        m.JobCompleted(1, "w!1", "COMPLETED_KILLED", -1, ((0, 3), (5, 5))),
        {"job_id": "w!1", "job_state": "COMPLETED_KILLED", "return_code": -1, "alloc": "0-3 5"},
    ),
    (m.ResourceStateChanged(1, ((2, 2),), "1"), {"resources": "2", "state": "1"}),
    (m.SetResourceState(1, ((2, 4),), 13), {"resources": "2-4", "state": "13"}),
    (m.CallMeLater(1, 3_000_000), {"timestamp": 3.0}),
    (m.Query(1, {"consumed_energy": {}}), {"requests": {"consumed_energy": {}}}),
    (m.Answer(1, 12.5), {"consumed_energy": 12.5}),
    (m.Answer(1, None, {"job_id": "w!1"}), {"estimate_waiting_time": {"job_id": "w!1"}}),
    (m.Notify(1, "registration_finished"), {"type": "registration_finished"}),
    (
        m.Notify(1, "event_machine_unavailable", ((0, 1),)),
        {"type": "event_machine_unavailable", "resources": "0-1"},
    ),
    (
        m.Notify(1, "coffee", None, {"type": "coffee", "timestamp": 10, "cups": [1, 2]}),
        {"type": "coffee", "timestamp": 10, "cups": [1, 2]},
    ),
    (m.ExecuteJob(1, "w!1", ((0, 0),)), {"job_id": "w!1", "alloc": "0"}),
    (
        m.ExecuteJob(1, "w!1", ((0, 1),), {"0": 0, "1": 0}, {"disk": 7}, m.IoJob(((7, 7),), "io")),
        {
            "job_id": "w!1",
            "alloc": "0-1",
            "mapping": {"0": 0, "1": 0},
            "storage_mapping": {"disk": 7},
            "additional_io_job": {"alloc": "7", "profile_name": "io"},
        },
    ),
    (m.ChangeJobState(1, "w!1", "RUNNING"), {"job_id": "w!1", "job_state": "RUNNING"}),
    (m.RemoveResources(1, ((3, 3),)), {"resources": "3"}),
    (m.ResourcesRemoved(1, ((3, 3),)), {"resources": "3"}),
    (m.ToJobMsg(1, "w!1", "hi"), {"job_id": "w!1", "msg": "hi"}),
    (m.DecisionRefused(1, "EXECUTE_JOB", "no"), {"decision": "EXECUTE_JOB", "reason": "no"}),
    (
        x.CreateContainer(1, ("o1",), 1.5, 8, 0, "QUERY", False, False),
        {
            "operator_ids": ["o1"],
            "cpu": 1.5,
            "ram_gb": 8,
            "pool_id": 0,
            "priority": "QUERY",
            "is_resume": False,
            "force_run": False,
        },
    ),
    (
        x.ContainerCompleted(1, 7, ("o1",), 8, 60, "INTERACTIVE", 1, "c2", None),
        {
            "tick": 7,
            "ops": ["o1"],
            "cpu": 8,
            "ram": 60,
            "priority": "INTERACTIVE",
            "pool_id": 1,
            "container_id": "c2",
            "error": None,
            "pipelines": [],
        },
    ),
    (
        x.EvictWeights(1, 5, 0, 3, 0),
        {"id": 5, "host": 0, "model_id": 3, "gpu_id": 0, "earliest": 0, "latest": 2**64 - 1},
    ),
]


@pytest.mark.parametrize(("event", "data"), WRITTEN, ids=lambda one: type(one).__name__)
def test_data_has_batsims_members_and_omits_what_is_none(event: m.Event, data: Any) -> None:
    assert said(event)["data"] == data


def test_envelope_has_batsims_keys_in_batsims_order_and_float_seconds() -> None:
    codec = JsonCodec()
    raw = codec.encode_message(m.Message(2_500_000, [m.RequestedCall(1_000_000)]))
    assert raw == b'{"now":2.5,"events":[{"timestamp":1.0,"type":"REQUESTED_CALL","data":{}}]}'


def test_float6_prints_six_decimals_for_every_number_that_is_not_an_integer() -> None:
    codec = JsonCodec(float6=True)
    job = {"id": "w!1", "subtime": 0.1, "cpu": [1e9, 3, 1e-7]}
    raw = codec.encode_message(m.Message(45, [m.JobSubmitted(45, "w!1", job)]))
    assert b'"now":0.000045,' in raw
    assert b'"subtime":0.100000,"cpu":[1000000000.000000,3,0.000000]' in raw


def test_dates_round_to_the_nearest_tick() -> None:
    assert read("REQUESTED_CALL", {}, timestamp=1.0000004).timestamp == 1_000_000
    assert read("REQUESTED_CALL", {}, timestamp=1.0000006).timestamp == 1_000_001
    assert read("CALL_ME_LATER", {"timestamp": 9.0000006}) == m.CallMeLater(1_500_000, 9_000_001)
    # Noise below half a tick is not "later than now".
    late = read("REQUESTED_CALL", {}, timestamp=10.005030000000003, now=10.005030000000001)
    assert late.timestamp == 10_005_030


def test_the_resolution_offered_in_the_first_message_holds_from_that_message_on() -> None:
    near, far = JsonCodec(7), JsonCodec()
    begins = m.SimulationBegins(0, 1, 1, 0, False, True, {}, [], [], {}, {}, m.Offer("1", 7, ("sharing",)))
    far.decode_message(near.encode_message(m.Message(0, [begins])))
    assert far.ticks_per_second == 7
    later = m.Message(3, [m.RequestedCall(1)])
    assert far.decode_message(near.encode_message(later)) == later


def test_the_batpy_key_is_absent_without_an_offer() -> None:
    begins = m.SimulationBegins(0, 1, 1, 0, False, True, {}, [], [], {}, {})
    assert "batpy" not in said(begins)["data"]


def test_unknown_members_are_ignored_at_every_level() -> None:
    raw = b"""{"now": 1, "x": [], "events": [
        {"timestamp": 1, "y": 2, "type": "REJECT_JOB", "data": {"job_id": "w!1", "z": {}}}]}"""
    assert JsonCodec().decode_message(raw) == m.Message(1_000_000, [m.RejectJob(1_000_000, "w!1")])


def test_mapping_values_may_be_numbers_or_texts() -> None:
    event = read("EXECUTE_JOB", {"job_id": "w!1", "alloc": "3 1", "mapping": {"0": "1", "1": 0}})
    assert event == m.ExecuteJob(1_500_000, "w!1", ((1, 1), (3, 3)), {"0": 1, "1": 0})


def test_several_optional_members_of_execute_job_are_accepted() -> None:
    io = {"alloc": "9", "profile_name": "p", "profile": {"type": "x"}}
    data = {"job_id": "w!1", "alloc": "1", "mapping": {"0": 0}, "storage_mapping": {"a": 9}}
    event = read("EXECUTE_JOB", {**data, "additional_io_job": io})
    assert isinstance(event, m.ExecuteJob)
    assert event.additional_io_job == m.IoJob(((9, 9),), "p", {"type": "x"})
    assert (event.mapping, event.storage_mapping) == ({"0": 0}, {"a": 9})


# --------------------------------------------------------------------------- older protocols


OLD = [
    ("SUBMIT_JOB", {"job_id": "d!1", "job": {}}, m.RegisterJob(1_500_000, "d!1", {})),
    (
        "SUBMIT_PROFILE",
        {"workload_name": "d", "profile_name": "p", "profile": {}},
        m.RegisterProfile(1_500_000, "d", "p", {}),
    ),
    ("NOTIFY", {"type": "submission_finished"}, m.Notify(1_500_000, "registration_finished")),
    ("NOTIFY", {"type": "continue_submission"}, m.Notify(1_500_000, "continue_registration")),
    ("QUERY_REQUEST", {"requests": {"consumed_energy": {}}}, m.Query(1_500_000, {"consumed_energy": {}})),
    ("QUERY_REPLY", {"consumed_energy": 3}, m.Answer(1_500_000, 3.0)),
    (
        "JOB_KILLED",
        {
            "job_ids": ["w!1"],
            "job_progress": {
                "w!1": {
                    "profile": "s",
                    "current_task_index": 1,
                    "current_task": {"profile": "d", "progress": 1},
                }
            },
        },
        m.JobKilled(
            1_500_000,
            ["w!1"],
            {
                "w!1": {
                    "profile_name": "s",
                    "current_task_index": 1,
                    "current_task": {"profile_name": "d", "progress": 1},
                }
            },
        ),
    ),
    ("JOB_KILLED", {"job_ids": ["w!1"]}, m.JobKilled(1_500_000, ["w!1"], {})),
]


@pytest.mark.parametrize(("name", "data", "event"), OLD, ids=lambda one: one if isinstance(one, str) else "")
def test_older_names_and_forms_are_read(name: str, data: Any, event: m.Event) -> None:
    assert read(name, data) == event


def test_nop_is_left_out() -> None:
    raw = b'{"now": 1, "events": [{"timestamp": 1, "type": "NOP", "data": {}}]}'
    assert JsonCodec().decode_message(raw) == m.Message(1_000_000, [])


def test_simulation_begins_of_batsim_2_is_read() -> None:
    storage = {"id": 1, "name": "d", "properties": {"role": "storage"}}
    event = read(
        "SIMULATION_BEGINS",
        {
            "nb_resources": 2,
            "allow_time_sharing": True,
            "config": {
                "redis": {"enabled": False, "port": 6379},
                "job_submission": {
                    "forward_profiles": True,
                    "from_scheduler": {"enabled": True, "acknowledge": False},
                },
            },
            "resources_data": [{"id": 0, "name": "a"}, storage],
        },
    )
    assert isinstance(event, m.SimulationBegins)
    assert (event.nb_compute_resources, event.nb_storage_resources) == (1, 1)
    assert event.storage_resources == [storage]
    assert event.allow_compute_sharing
    assert event.config == {
        "redis-enabled": False,
        "redis-port": 6379,
        "profiles-forwarded-on-submission": True,
        "dynamic-jobs-enabled": True,
        "dynamic-jobs-acknowledged": False,
    }


# --------------------------------------------------------------------------- refusals


ENVELOPES = [
    (b"", "the message is not JSON: Input data was truncated"),
    (b"nonsense", "the message is not JSON: JSON is malformed: invalid character (byte 4)"),
    (b'{"now":NaN,"events":[]}', "the message is not JSON: JSON is malformed: invalid character (byte 7)"),
    (
        b'{"now":Infinity,"events":[]}',
        "the message is not JSON: JSON is malformed: invalid character (byte 7)",
    ),
    (b"[1]", "the message: expected `object`, got `array`"),
    (b'{"events":[]}', "now: is missing"),
    (b'{"now":1}', "events: is missing"),
    (b'{"now":"1","events":[]}', "now: expected `float`, got `str`"),
    (b'{"now":1e999,"events":[]}', "now: number out of range"),
    (b'{"now":-1,"events":[]}', "now: expected `float` >= 0.0"),
    (b'{"now":1e300,"events":[]}', "now: 1e+300 s is out of range"),
    (b'{"now":1,"events":{}}', "events: expected `array`, got `object`"),
    (b'{"now":1,"events":[4]}', "events[0]: expected `object`, got `int`"),
    (b'{"now":1,"events":[{"timestamp":1,"data":{}}]}', "events[0]: type: is missing"),
    (b'{"now":1,"events":[{"timestamp":1,"type":4,"data":{}}]}', "events[0]: type: expected `str`"),
    (
        b'{"now":1,"events":[{"timestamp":1,"type":"SING","data":{}}]}',
        "events[0] SING: type: no event of this protocol has that name",
    ),
    (
        b'{"now":1,"events":[{"timestamp":1,"type":"S\\nG","data":{}}]}',
        "events[0] S G: type: no event of this protocol has that name",
    ),
    (
        b'{"now":1,"events":[{"timestamp":1,"type":"REQUESTED_CALL"}]}',
        "events[0] REQUESTED_CALL: data: is missing",
    ),
    (
        b'{"now":1,"events":[{"type":"REQUESTED_CALL","data":{}}]}',
        "events[0] REQUESTED_CALL: timestamp: is missing",
    ),
    (
        b'{"now":1,"events":[{"timestamp":1,"type":"NOP","data":{}},{"timestamp":2,"type":"NOP","data":{}}]}',
        "events[1] NOP: timestamp: 2.0 is later than the message's now 1.0",
    ),
    (
        b'{"now":1,"events":[]} {}',
        "the message is not JSON: JSON is malformed: trailing characters (byte 23)",
    ),
]


@pytest.mark.parametrize(("raw", "text"), ENVELOPES)
def test_a_bad_envelope_is_refused_with_its_place(raw: bytes, text: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        JsonCodec().decode_message(raw)
    assert str(caught.value) == text


EXECUTE = {"job_id": "w!1", "alloc": "0"}
BAD_DATA = [
    ("EXECUTE_JOB", {"job_id": "w!1"}, "data.alloc: is missing"),
    ("EXECUTE_JOB", {**EXECUTE, "alloc": 3}, "data.alloc: expected `str`, got `int`"),
    ("EXECUTE_JOB", {**EXECUTE, "alloc": "3-1"}, "data.alloc: '3-1' ends before it begins"),
    ("EXECUTE_JOB", {**EXECUTE, "alloc": "a"}, "data.alloc: 'a' is not a host id or an interval a-b"),
    ("EXECUTE_JOB", {**EXECUTE, "alloc": "-1"}, "data.alloc: '-1' is not a host id or an interval a-b"),
    ("EXECUTE_JOB", {**EXECUTE, "alloc": ""}, "data.alloc: the set of hosts is empty"),
    (
        "EXECUTE_JOB",
        {**EXECUTE, "alloc": "0-9999999999"},
        "data.alloc: host id 9999999999 is larger than 2147483647",
    ),
    ("EXECUTE_JOB", {**EXECUTE, "mapping": {"0": "x"}}, "data.mapping.0: 'x' is not an integer"),
    (
        "EXECUTE_JOB",
        {**EXECUTE, "mapping": {"0": -1}},
        "data.mapping.0: -1 is not a position in the allocation",
    ),
    ("EXECUTE_JOB", {**EXECUTE, "mapping": {"a": 0}}, "data.mapping: 'a' is not the number of an executor"),
    (
        "EXECUTE_JOB",
        {**EXECUTE, "mapping": {"0": 0.5}},
        "data.mapping[...]: expected `int | str`, got `float`",
    ),
    (
        "EXECUTE_JOB",
        {**EXECUTE, "storage_mapping": {"a": "1"}},
        "data.storage_mapping[...]: expected `int`, got `str`",
    ),
    (
        "EXECUTE_JOB",
        {**EXECUTE, "additional_io_job": {"alloc": "1"}},
        "data.additional_io_job.profile_name: is missing",
    ),
    (
        "EXECUTE_JOB",
        {**EXECUTE, "additional_io_job": {"alloc": "", "profile_name": "p"}},
        "data.additional_io_job.alloc: the set of hosts is empty",
    ),
    ("REJECT_JOB", [], "data: expected `object`, got `array`"),
    ("KILL_JOB", {"job_ids": []}, "data.job_ids: the list of jobs is empty"),
    ("KILL_JOB", {"job_ids": ["a", 1]}, "data.job_ids[1]: expected `str`, got `int`"),
    ("CALL_ME_LATER", {}, "data.timestamp: is missing"),
    ("CALL_ME_LATER", {"timestamp": 1e30}, "data.timestamp: 1e+30 s is out of range"),
    ("CALL_ME_LATER", {"timestamp": "5"}, "data.timestamp: expected `float`, got `str`"),
    ("SET_RESOURCE_STATE", {"resources": "1", "state": 1}, "data.state: expected `str`, got `int`"),
    (
        "SET_RESOURCE_STATE",
        {"resources": "1", "state": "on"},
        "data.state: 'on' is not the number of a pstate",
    ),
    (
        "RESOURCE_STATE_CHANGED",
        {"resources": "1", "state": "x"},
        "data.state: 'x' is not the number of a pstate",
    ),
    (
        "CHANGE_JOB_STATE",
        {"job_id": "w!1", "job_state": "TIRED"},
        "data.job_state: invalid enum value 'TIRED'",
    ),
    ("NOTIFY", {}, "data.type: is missing"),
    ("NOTIFY", {"type": 3}, "data.type: expected a string"),
    ("NOTIFY", {"type": "event_machine_available"}, "data.resources: is missing"),
    ("NOTIFY", {"type": "event_machine_available", "resources": "z"}, "data.resources: 'z' is not a host id"),
    ("QUERY", {"requests": {}}, "data.requests: no request is named"),
    ("ANSWER", {}, "data: must hold exactly one of consumed_energy and estimate_waiting_time"),
    ("JOB_SUBMITTED", {"job_id": "w!1"}, "data.job: is missing"),
    (
        "JOB_COMPLETED",
        {"job_id": "w!1", "job_state": "RUNNING", "return_code": "0", "alloc": "0"},
        "data.return_code",
    ),
    (
        "SIMULATION_BEGINS",
        {k: v for k, v in BEGINS_DATA.items() if k != "profiles"},
        "data.profiles: is missing",
    ),
    (
        "SIMULATION_BEGINS",
        {**BEGINS_DATA, "batpy": {"version": "1", "ticks_per_second": 0}},
        "data.batpy.ticks_per_second: must be between 1 and 1000000000",
    ),
    ("CREATE_CONTAINER", {"operator_ids": ["a"]}, "data.cpu: is missing"),
]


@pytest.mark.parametrize(("name", "data", "text"), BAD_DATA)
def test_bad_data_is_refused_with_index_type_field_and_rule(name: str, data: Any, text: str) -> None:
    good = {"timestamp": 1.5, "type": "NOTIFY", "data": {"type": "x"}}
    tree = {"now": 2, "events": [good, good, {"timestamp": 1.5, "type": name, "data": data}]}
    with pytest.raises(RemoteProtocolError) as caught:
        JsonCodec().decode_message(json.dumps(tree).encode())
    assert str(caught.value).startswith(f"events[2] {name}: {text}")


def test_deep_nesting_is_refused() -> None:
    raw = b'{"now":1,"events":[{"timestamp":1,"type":"NOP","data":' + b"[" * 10**5 + b"]" * 10**5 + b"}]}"
    with pytest.raises(RemoteProtocolError, match="nested too deeply"):
        JsonCodec().decode_message(raw)


class Unheard(m.Event):
    """Not in the vocabulary."""


@pytest.mark.parametrize("event", [Unheard(1), m.RejectJob(1, "\ud800")])
def test_what_cannot_be_said_is_our_own_fault(event: m.Event) -> None:
    with pytest.raises(LocalProtocolError, match=r"events\[1\] cannot be written as JSON"):
        JsonCodec().encode_message(m.Message(1, [m.RequestedCall(1), event]))


@pytest.mark.parametrize("float6", [False, True])
@pytest.mark.parametrize("now", [100_000_000_000_003_000_000, 10**23 + 3_000_000, 12_345_678])
def test_a_peer_that_repeats_our_date_answers_at_that_very_tick(now: int, float6: bool) -> None:
    codec = JsonCodec(1_000_000, float6)
    said = json.loads(codec.encode_message(m.Message(now, [m.RequestedCall(now)])))
    assert codec.decode_message(json.dumps({"now": said["now"], "events": []}).encode()).now == now


def test_dates_since_1970_in_nanoseconds_do_not_pass_their_own_message() -> None:
    """A double resolves 0.2 us there: the date of an event and ``now`` are the same number all the same."""
    codec = JsonCodec(10**9)
    for now in range(1_796_076_024_192_326_800, 1_796_076_024_192_327_800, 7):
        read = codec.decode_message(codec.encode_message(m.Message(now, [m.RequestedCall(now)])))
        assert read.events[0].timestamp <= read.now
