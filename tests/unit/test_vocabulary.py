"""The vocabulary is closed, and its numbers never change."""

from __future__ import annotations

import inspect

from batpy.protocol import extensions, messages
from batpy.protocol.vocabulary import BY_KIND, BY_NAME, BY_TAG, OLD_NAMES, WORDS, Way

# Append at the end; never change a line that was released.
NUMBERS = """\
SIMULATION_BEGINS SIMULATION_ENDS JOB_SUBMITTED JOB_COMPLETED JOB_KILLED RESOURCE_STATE_CHANGED REQUESTED_CALL
FROM_JOB_MSG NOTIFY QUERY ANSWER EXECUTE_JOB REJECT_JOB KILL_JOB CALL_ME_LATER REGISTER_JOB REGISTER_PROFILE
SET_RESOURCE_STATE SET_JOB_METADATA CHANGE_JOB_STATE TO_JOB_MSG HELLO DECISION_REFUSED ADD_RESOURCES
REMOVE_RESOURCES RESOURCES_ADDED RESOURCES_REMOVED PIPELINE_SUBMITTED CONTAINER_COMPLETED CONTAINER_FAILED
CONTAINER_SUSPENDED CREATE_CONTAINER SUSPEND_CONTAINER INFERENCE_REQUESTED ACTION_RESULT LOAD_MODEL_FROM_DISK
LOAD_WEIGHTS EVICT_WEIGHTS INFER CLEAR_CACHE GET_WORKER_STATE INFERENCE_RESPONSE
""".split()  # noqa: SIM905
NEVER_SENT = {messages.Event, extensions.ContainerEnded, extensions.WorkerAction}


def test_numbers_are_append_only() -> None:
    assert [(word.tag, word.name) for word in WORDS][: len(NUMBERS)] == list(enumerate(NUMBERS, 1))


def test_every_event_class_is_a_word_and_no_word_has_two() -> None:
    classes = {
        one
        for module in (messages, extensions)
        for _, one in inspect.getmembers(module, inspect.isclass)
        if issubclass(one, messages.Event)
    }
    assert set(BY_KIND) == classes - NEVER_SENT
    assert len(BY_KIND) == len(BY_NAME) == len(BY_TAG) == len(WORDS)


def test_old_names_are_not_names() -> None:
    assert not set(OLD_NAMES) & set(BY_NAME)
    assert set(OLD_NAMES.values()) <= set(BY_NAME)


def test_a_plain_batsim_peer_hears_only_batsims_events() -> None:
    plain = {word.name for word in WORDS if Way.TO_SCHEDULER in word.way and not word.extension}
    assert plain == {
        "SIMULATION_BEGINS", "SIMULATION_ENDS", "JOB_SUBMITTED", "JOB_COMPLETED", "JOB_KILLED",
        "RESOURCE_STATE_CHANGED", "REQUESTED_CALL", "FROM_JOB_MSG", "NOTIFY", "QUERY", "ANSWER",
    }  # fmt: skip
