"""The table of all words: wire name, class, number in the packed format, who may say it.

Numbers are append-only: a number is never reused, a row never removed. Old names (Batsim 1.x and 2.x) are
understood on reading and never written.
"""

from __future__ import annotations

from enum import Flag, auto
from typing import NamedTuple

from batpy.protocol import extensions as x
from batpy.protocol import messages as m


class Way(Flag):
    """Direction of a word. A broker looks like a scheduler to the simulator and the other way round."""

    TO_SCHEDULER = auto()
    TO_SIMULATOR = auto()
    BOTH = TO_SCHEDULER | TO_SIMULATOR


class Word(NamedTuple):
    """One row: ``extension`` is what a peer must ask for to hear it, "" for the baseline."""

    tag: int
    name: str
    kind: type[m.Event]
    way: Way
    extension: str = ""


_DOWN, _UP, _BOTH = Way.TO_SCHEDULER, Way.TO_SIMULATOR, Way.BOTH

WORDS: tuple[Word, ...] = (
    Word(1, "SIMULATION_BEGINS", m.SimulationBegins, _DOWN),
    Word(2, "SIMULATION_ENDS", m.SimulationEnds, _DOWN),
    Word(3, "JOB_SUBMITTED", m.JobSubmitted, _DOWN),
    Word(4, "JOB_COMPLETED", m.JobCompleted, _DOWN),
    Word(5, "JOB_KILLED", m.JobKilled, _DOWN),
    Word(6, "RESOURCE_STATE_CHANGED", m.ResourceStateChanged, _DOWN),
    Word(7, "REQUESTED_CALL", m.RequestedCall, _DOWN),
    Word(8, "FROM_JOB_MSG", m.FromJobMsg, _DOWN),
    Word(9, "NOTIFY", m.Notify, _BOTH),
    Word(10, "QUERY", m.Query, _BOTH),
    Word(11, "ANSWER", m.Answer, _BOTH),
    Word(12, "EXECUTE_JOB", m.ExecuteJob, _UP),
    Word(13, "REJECT_JOB", m.RejectJob, _UP),
    Word(14, "KILL_JOB", m.KillJob, _UP),
    Word(15, "CALL_ME_LATER", m.CallMeLater, _UP),
    Word(16, "REGISTER_JOB", m.RegisterJob, _UP),
    Word(17, "REGISTER_PROFILE", m.RegisterProfile, _UP),
    Word(18, "SET_RESOURCE_STATE", m.SetResourceState, _UP),
    Word(19, "SET_JOB_METADATA", m.SetJobMetadata, _UP),
    Word(20, "CHANGE_JOB_STATE", m.ChangeJobState, _UP),
    Word(21, "TO_JOB_MSG", m.ToJobMsg, _UP),
    Word(22, "HELLO", m.Hello, _UP, "hello"),
    Word(23, "DECISION_REFUSED", m.DecisionRefused, _DOWN, "refusals"),
    Word(24, "ADD_RESOURCES", m.AddResources, _DOWN, "sharing"),
    Word(25, "REMOVE_RESOURCES", m.RemoveResources, _DOWN, "sharing"),
    Word(26, "RESOURCES_ADDED", m.ResourcesAdded, _UP, "sharing"),
    Word(27, "RESOURCES_REMOVED", m.ResourcesRemoved, _UP, "sharing"),
    Word(28, "PIPELINE_SUBMITTED", x.PipelineSubmitted, _DOWN, "pipelines"),
    Word(29, "CONTAINER_COMPLETED", x.ContainerCompleted, _DOWN, "pipelines"),
    Word(30, "CONTAINER_FAILED", x.ContainerFailed, _DOWN, "pipelines"),
    Word(31, "CONTAINER_SUSPENDED", x.ContainerSuspended, _DOWN, "pipelines"),
    Word(32, "CREATE_CONTAINER", x.CreateContainer, _UP, "pipelines"),
    Word(33, "SUSPEND_CONTAINER", x.SuspendContainer, _UP, "pipelines"),
    Word(34, "INFERENCE_REQUESTED", x.InferenceRequested, _DOWN, "serving"),
    Word(35, "ACTION_RESULT", x.ActionResult, _DOWN, "serving"),
    Word(36, "LOAD_MODEL_FROM_DISK", x.LoadModelFromDisk, _UP, "serving"),
    Word(37, "LOAD_WEIGHTS", x.LoadWeights, _UP, "serving"),
    Word(38, "EVICT_WEIGHTS", x.EvictWeights, _UP, "serving"),
    Word(39, "INFER", x.Infer, _UP, "serving"),
    Word(40, "CLEAR_CACHE", x.ClearCache, _UP, "serving"),
    Word(41, "GET_WORKER_STATE", x.GetWorkerState, _UP, "serving"),
    Word(42, "INFERENCE_RESPONSE", x.InferenceResponse, _UP, "serving"),
)

BY_KIND: dict[type[m.Event], Word] = {word.kind: word for word in WORDS}
BY_NAME: dict[str, Word] = {word.name: word for word in WORDS}
BY_TAG: dict[int, Word] = {word.tag: word for word in WORDS}
NAME_OF: dict[type[m.Event], str] = {word.kind: word.name for word in WORDS}

# What a peer may ask for in HELLO or `wants`; `machine_events` opens no word, only a kind of NOTIFY.
EXTENSIONS = ("sharing", "pipelines", "serving")
WANTS = (*EXTENSIONS, "refusals", "machine_events")

# Batsim 2.x and older, understood on reading. NOP meant "nothing to say" and is left out.
OLD_NAMES: dict[str, str] = {
    "SUBMIT_JOB": "REGISTER_JOB",
    "SUBMIT_PROFILE": "REGISTER_PROFILE",
    "QUERY_REQUEST": "QUERY",
    "QUERY_REPLY": "ANSWER",
}
DROPPED_NAME = "NOP"
OLD_NOTICES: dict[str, str] = {
    "submission_finished": "registration_finished",
    "continue_submission": "continue_registration",
}

# The words of NOTIFY whose meaning is fixed; any other is a user's own (a generic external event).
MACHINE_NOTICES = frozenset({"event_machine_available", "event_machine_unavailable"})
PLAIN_NOTICES = frozenset(
    {
        "no_more_static_job_to_submit",
        "no_more_external_event_to_occur",
        "registration_finished",
        "continue_registration",
    }
)
