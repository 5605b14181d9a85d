"""The Big Data scheduler ``bebida``: what it says in conversations that are scripted."""

from __future__ import annotations

from typing import Any

import pytest
from core_talk import names, tell
from mini_simulator import begins
from playback import JobList, Journal
from sharing_platforms import ClusterNetwork

from batpy.base.errors import InputError
from batpy.platforms.platform import Host, Platform
from batpy.protocol import hostset
from batpy.protocol import messages as m
from batpy.protocol.hostset import HostSet
from batpy.schedulers import make_scheduler
from batpy.schedulers.bigdata.elastic import gain_of_growing, slowest_speed, time_left
from batpy.schedulers.core import SchedulerCore
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator, run

PROFILES: dict[str, Any] = {
    "map": {"type": "parallel_homogeneous_total", "cpu": 400, "com": 0, "io_reads": 80, "io_writes": 20},
    "red": {"type": "parallel_homogeneous_total", "cpu": 100, "com": 0},
    "seq": {"type": "composed", "seq": ["map", "red"], "repeat": 2},
    "nap": {"type": "delay", "delay": 10},
    "mix": {"type": "composed", "seq": ["map", "nap"]},
}
CONFIG = {"dynamic-jobs-enabled": True, "dynamic-jobs-acknowledged": True, "profile-reuse-enabled": True}
NO_MORE = "no_more_static_job_to_submit"


class Talk:
    """A conversation at one tick a second; hosts compute 1 flop a second."""

    def __init__(self, spec: str = "bebida", nb_hosts: int = 4, **more: Any) -> None:
        self.core: SchedulerCore = make_scheduler(spec)
        message = begins(nb_hosts, **CONFIG)
        event = message.events[0]
        assert isinstance(event, m.SimulationBegins)
        event.profiles = {"w0": PROFILES}
        event.compute_resources = [{**host, "speed": [1.0]} for host in event.compute_resources]
        for name, value in more.items():
            setattr(event, name, value)
        self.greeting = self.core.handle(message).events
        self.alloc: dict[str, HostSet] = {}

    def tell(self, now: int, *events: m.Event) -> list[m.Event]:
        said = tell(self.core, now, *events)
        self.alloc |= {event.job_id: event.alloc for event in said if isinstance(event, m.ExecuteJob)}
        return said

    def submit(self, now: int, id_: str, res: int, profile: str = "map", **more: Any) -> list[m.Event]:
        job = {"id": id_, "subtime": now, "res": res, "profile": profile, **more}
        return self.tell(now, m.JobSubmitted(now, id_, job))

    def over(self, now: int, id_: str, state: Any = m.COMPLETED_SUCCESSFULLY) -> m.Event:
        return m.JobCompleted(now, id_, state, 0, self.alloc.pop(id_))

    def killed(self, now: int, **progress: Any) -> list[m.Event]:
        """The end and the report of jobs ``w0!NAME`` that were killed."""
        told = {f"w0!{name}": node for name, node in progress.items()}
        ends = [self.over(now, id_, m.COMPLETED_KILLED) for id_ in told]
        return [*ends, m.JobKilled(now, list(told), told)]

    def acknowledge(self, now: int, said: list[m.Event]) -> list[m.Event]:
        """Submit what was registered."""
        jobs = [event for event in said if isinstance(event, m.RegisterJob)]
        return self.tell(now, *[m.JobSubmitted(now, event.job_id, event.job) for event in jobs])


def starts(said: list[m.Event]) -> list[tuple[str, str]]:
    return [(e.job_id, hostset.to_text(e.alloc)) for e in said if isinstance(e, m.ExecuteJob)]


def kills(said: list[m.Event]) -> list[list[str]]:
    return [event.job_ids for event in said if isinstance(event, m.KillJob)]


def registered(said: list[m.Event]) -> list[tuple[str, Any]]:
    """Job to profile of what was registered."""
    profiles: dict[str, Any] = dict(PROFILES)
    profiles.update((e.profile_name, e.profile) for e in said if isinstance(e, m.RegisterProfile))
    return [(e.job_id, profiles[e.job["profile"]]) for e in said if isinstance(e, m.RegisterJob)]


def leaf(name: str, share: float) -> dict[str, Any]:
    return {"profile_name": name, "progress": share}


def at(name: str, index: int, inside: dict[str, Any]) -> dict[str, Any]:
    return {"profile_name": name, "current_task_index": index, "current_task": inside}


class TestPlacing:
    def test_jobs_take_what_is_free_up_to_their_request(self) -> None:
        talk = Talk()
        assert starts(talk.submit(1, "w0!a", 3)) == [("w0!a", "0-2")]
        assert starts(talk.submit(2, "w0!b", 3)) == [("w0!b", "3")]
        assert starts(talk.submit(3, "w0!c", 1)) == []

    def test_names_of_jobs_are_any_text_and_the_order_is_that_of_arrival(self) -> None:
        talk = Talk()
        talk.submit(1, "w0!z", 4)
        talk.submit(2, "w0!y y", 1)
        talk.submit(3, "w0!10", 4)
        assert starts(talk.tell(4, talk.over(4, "w0!z"))) == [("w0!y y", "0"), ("w0!10", "1-3")]

    @pytest.mark.parametrize("profile", ["nap", "mix", "unknown"])
    def test_a_job_that_does_not_scale_waits_for_all_its_hosts_and_nobody_overtakes_it(
        self, profile: str
    ) -> None:
        talk = Talk()
        talk.submit(1, "w0!a", 2)
        assert starts(talk.submit(2, "w0!b", 3, profile)) == []
        assert starts(talk.submit(3, "w0!c", 1)) == []
        assert starts(talk.tell(4, talk.over(4, "w0!a"))) == [("w0!b", "0-2"), ("w0!c", "3")]

    def test_only_jobs_that_scale_may_ask_for_more_than_there_is(self) -> None:
        talk = Talk()
        said = talk.submit(1, "w0!a", 5, "nap")
        why = "rejected: asks for 5 hosts, the platform has 4, and it cannot run on fewer"
        assert said == [m.SetJobMetadata(1, "w0!a", why), m.RejectJob(1, "w0!a")]
        assert starts(talk.submit(2, "w0!b", 9)) == [("w0!b", "0-3")]

    def test_profiles_that_come_with_their_job_count(self) -> None:
        talk = Talk(profiles={})
        job = {"id": "w0!a", "subtime": 0, "res": 9, "profile": "map"}
        said = talk.tell(1, m.JobSubmitted(1, "w0!a", job, PROFILES["map"]))
        assert starts(said) == [("w0!a", "0-3")]


class TestPreemption:
    def test_what_is_left_comes_back_in_its_place_and_the_running_part_restarts(self) -> None:
        talk = Talk("bebida[rebalance=never]")
        talk.submit(1, "w0!a", 4, "seq", walltime=900, user="me")
        talk.submit(2, "w0!b", 1)
        said = talk.tell(3, m.RemoveResources(3, ((2, 3),)))
        assert said == [m.KillJob(3, ["w0!a"])]
        said = talk.tell(4, *talk.killed(4, a=at("seq", 1, leaf("red", 0.5))))
        assert said[:2] == [
            m.ResourcesRemoved(4, ((2, 3),)),
            m.RegisterProfile(
                4, "w0", "seq#1", {"type": "composed", "repeat": 1, "seq": ["red", "map", "red"]}
            ),
        ]
        job = {"id": "w0!a#1", "subtime": 4.0, "res": 4, "profile": "seq#1", "walltime": 900, "user": "me"}
        assert said[2:] == [
            m.RegisterJob(4, "w0!a#1", {**job, "parent_job": "w0!a"}),
            m.SetJobMetadata(4, "w0!a#1", "{'parent_job': 'w0!a', 'nb_resubmit': 1}"),
        ]
        assert starts(talk.acknowledge(4, said)) == [("w0!a#1", "0-1")]

    def test_nothing_younger_starts_while_a_job_is_on_its_way_back(self) -> None:
        talk = Talk("bebida[rebalance=never]")
        talk.submit(1, "w0!a", 2)
        talk.submit(2, "w0!b", 2)
        talk.submit(3, "w0!c", 2)
        said = talk.tell(4, talk.over(4, "w0!b"), m.RemoveResources(4, ((0, 0),)))
        assert said == [m.KillJob(4, ["w0!a"]), m.CallMeLater(4, 5)]
        said = talk.tell(4, *talk.killed(4, a=leaf("map", 0.9)))
        assert starts(said) == []
        assert registered(said) == [("w0!a#1", PROFILES["map"])]
        assert starts(talk.acknowledge(4, said)) == [("w0!a#1", "1-2"), ("w0!c", "3")]

    def test_free_hosts_do_not_wait_for_a_job_with_a_period_of_grace(self) -> None:
        talk = Talk("bebida[rebalance=never]")
        talk.submit(1, "w0!a", 2)
        talk.submit(2, "w0!b", 2)
        talk.submit(3, "w0!c", 1)
        talk.submit(3, "w0!d", 4)
        talk.tell(4, talk.over(4, "w0!b"), m.RemoveResources(4, ((0, 0),)))
        assert starts(talk.tell(5, m.RequestedCall(5))) == [("w0!c", "2"), ("w0!d", "3")]
        said = talk.tell(9, *talk.killed(9, a=leaf("map", 0.9)))
        assert starts(talk.acknowledge(9, said)) == [("w0!a#1", "1")]

    def test_a_job_is_killed_once_however_often_its_hosts_are_asked_for(self) -> None:
        talk = Talk()
        talk.submit(1, "w0!a", 4)
        assert kills(talk.tell(2, m.RemoveResources(2, ((0, 0),)))) == [["w0!a"]]
        assert kills(talk.tell(2, m.RemoveResources(2, ((1, 1),)))) == []
        said = talk.tell(3, *talk.killed(3, a=leaf("map", 0.5)))
        assert [e.resources for e in said if isinstance(e, m.ResourcesRemoved)] == [((0, 0),), ((1, 1),)]

    @pytest.mark.parametrize("named", [True, False], ids=["named in JOB_KILLED", "not named at all"])
    def test_a_victim_that_ends_before_its_kill_is_over_and_the_rest_goes_on(self, named: bool) -> None:
        talk = Talk()
        talk.submit(1, "w0!a", 2)
        talk.submit(2, "w0!b", 2)
        talk.submit(2, "w0!c", 4)
        talk.tell(3, m.RemoveResources(3, ((0, 1),)))
        events = [talk.over(4, "w0!a")] + ([m.JobKilled(4, ["w0!a"], {})] if named else [])
        said = talk.tell(4, *events)
        assert said == [m.ResourcesRemoved(4, ((0, 1),))]
        assert starts(talk.tell(5, m.AddResources(5, ((0, 1),)))) == [("w0!c", "0-1")]

    def test_a_report_may_mix_killed_and_finished_jobs(self) -> None:
        talk = Talk()
        talk.submit(1, "w0!a", 2)
        talk.submit(2, "w0!b", 2)
        assert kills(talk.tell(3, m.RemoveResources(3, ((0, 3),)))) == [["w0!a", "w0!b"]]
        events = [talk.over(4, "w0!a"), talk.over(4, "w0!b", m.COMPLETED_KILLED)]
        told = m.JobKilled(4, ["w0!a", "w0!b"], {"w0!b": leaf("map", 0.5)})
        assert [id_ for id_, _ in registered(talk.tell(4, *events, told))] == ["w0!b#1"]

    def test_the_report_may_come_after_the_end(self) -> None:
        talk = Talk()
        talk.submit(1, "w0!a", 4)
        talk.tell(2, m.RemoveResources(2, ((0, 0),)))
        end, report = talk.killed(3, a=leaf("map", 0.5))
        assert talk.tell(3, end) == [m.ResourcesRemoved(3, ((0, 0),))]
        assert [id_ for id_, _ in registered(talk.tell(4, report))] == ["w0!a#1"]

    def test_a_job_that_the_broker_killed_itself_comes_back_too(self) -> None:
        talk = Talk()
        talk.submit(1, "w0!a", 4)
        assert [id_ for id_, _ in registered(talk.tell(3, *talk.killed(3, a=leaf("map", 0.5))))] == ["w0!a#1"]

    def test_a_job_that_somebody_else_killed_without_a_report_is_over(self) -> None:
        talk = Talk()
        talk.submit(1, "w0!a", 4)
        assert talk.tell(3, talk.over(3, "w0!a", m.COMPLETED_KILLED)) == []
        assert names(talk.tell(4, m.Notify(4, NO_MORE))) == ["Notify"]

    def test_a_delay_that_was_preempted_restarts(self) -> None:
        talk = Talk()
        talk.submit(1, "w0!a", 4, "mix")
        talk.tell(2, m.RemoveResources(2, ((0, 0),)))
        said = talk.tell(3, *talk.killed(3, a=at("mix", 1, leaf("nap", 0.5))))
        assert registered(said) == [("w0!a#1", {"type": "composed", "repeat": 1, "seq": ["nap"]})]
        assert starts(talk.acknowledge(3, said)) == []
        assert starts(talk.tell(4, m.AddResources(4, ((0, 0),)))) == [("w0!a#1", "0-3")]


class TestRebalance:
    def narrow(self, spec: str = "bebida", **more: Any) -> Talk:
        """``b`` asks for 4 hosts and runs on 2 since 10; ``c`` waits for 1."""
        talk = Talk(spec, **more)
        talk.submit(1, "w0!a", 2)
        talk.submit(10, "w0!b", 4)
        talk.submit(10, "w0!c", 1)
        return talk

    def test_a_narrow_job_goes_on_wider_and_keeps_its_progress(self) -> None:
        talk = self.narrow()
        said = talk.tell(60, talk.over(60, "w0!a"))
        assert said == [m.KillJob(60, ["w0!b"])]
        said = talk.tell(60, *talk.killed(60, b=leaf("map", 0.25)))
        left = {**PROFILES["map"], "cpu": 300, "com": 0, "io_reads": 60, "io_writes": 15}
        assert registered(said) == [("w0!b#1", left)]
        assert starts(talk.acknowledge(60, said)) == [("w0!b#1", "0-3")]
        # Single parts as well: the scheduler goes on (schedBebida never scheduled again).
        assert starts(talk.tell(90, talk.over(90, "w0!b#1"))) == [("w0!c", "0")]

    @pytest.mark.parametrize(
        ("now", "spec", "stopped"),
        [
            # 400 flops on 2 hosts take 200 s; on 4 hosts what is left takes half as long.
            (199, "bebida", True),
            (201, "bebida", False),
            (199, "bebida[restart_cost=5.5]", False),
            (201, "bebida[rebalance=always]", True),
            (60, "bebida[rebalance=never]", False),
            (60, "bebida[restart_cost=75]", False),
            (60, "bebida[restart_cost=74]", True),
        ],
    )
    def test_only_when_the_gain_is_worth_a_restart(self, now: int, spec: str, stopped: bool) -> None:
        talk = self.narrow(spec)
        said = talk.tell(now, talk.over(now, "w0!a"))
        assert kills(said) == ([["w0!b"]] if stopped else [])
        assert starts(said) == ([] if stopped else [("w0!c", "0")])

    def test_hosts_that_come_back_make_narrow_jobs_wider(self) -> None:
        talk = Talk()
        talk.tell(1, m.RemoveResources(1, ((1, 3),)))
        assert starts(talk.submit(2, "w0!a", 4)) == [("w0!a", "0")]
        said = talk.tell(10, m.AddResources(10, ((2, 3),)))
        assert said == [m.ResourcesAdded(10, ((2, 3),)), m.KillJob(10, ["w0!a"])]

    def test_hosts_that_are_taken_meanwhile_are_acknowledged_and_progress_is_kept(self) -> None:
        talk = self.narrow()
        talk.tell(60, talk.over(60, "w0!a"))
        assert talk.tell(60, m.RemoveResources(60, ((2, 2),))) == []
        said = talk.tell(60, *talk.killed(60, b=leaf("map", 0.5)))
        assert said[0] == m.ResourcesRemoved(60, ((2, 2),))
        assert [profile["cpu"] for _, profile in registered(said)] == [200]
        assert starts(talk.acknowledge(60, said)) == [("w0!b#1", "0-1 3")]

    def test_older_jobs_first_and_no_further_than_the_free_hosts_reach(self) -> None:
        talk = Talk("bebida", nb_hosts=6)
        for now, (name, res) in enumerate([("a", 4), ("b", 1), ("c", 3), ("d", 3), ("e", 9)]):
            talk.submit(now, f"w0!{name}", res)
        assert {name: hostset.size(hosts) for name, hosts in talk.alloc.items()} == {
            **{"w0!a": 4, "w0!b": 1, "w0!c": 1}
        }
        talk.tell(5, m.RemoveResources(5, ((0, 0),)))
        said = talk.tell(5, *talk.killed(5, a=leaf("map", 0)))
        said = talk.acknowledge(5, said)
        assert starts(said) == [("w0!a#1", "1-3")]
        # One host more for a; c (two short) gets the next, d waits for its turn.
        assert kills(talk.tell(6, m.AddResources(6, ((0, 0),)))) == [["w0!a#1"]]


class TestNames:
    def test_names_that_were_heard_of_are_left_out(self) -> None:
        talk = Talk(profiles={"w0": {**PROFILES, "seq#1": PROFILES["nap"]}})
        talk.submit(1, "w0!a", 3, "seq")
        talk.submit(1, "w0!a#1", 1, "nap")
        talk.tell(2, m.RemoveResources(2, ((0, 0),)))
        said = talk.tell(3, *talk.killed(3, a=at("seq", 1, leaf("red", 0))))
        assert [e.profile_name for e in said if isinstance(e, m.RegisterProfile)] == ["seq#2"]
        assert [id_ for id_, _ in registered(said)] == ["w0!a#2"]

    def test_each_attempt_has_names_of_its_own_and_the_same_origin(self) -> None:
        talk = Talk("bebida[rebalance=never]")
        talk.submit(1, "w0!a", 4, "seq")
        name, said = "a", []
        for now in range(2, 5):
            talk.tell(now, m.RemoveResources(now, ((0, 0),)), m.AddResources(now, ((0, 0),)))
            node = at("seq", 0 if now > 2 else 1, leaf("red", 0.5))
            said = talk.tell(now, *talk.killed(now, **{name: node}))
            talk.acknowledge(now, said)
            name = f"a#{now - 1}"
        job = next(event.job for event in said if isinstance(event, m.RegisterJob))
        assert (job["id"], job["parent_job"], job["profile"]) == ("w0!a#3", "w0!a", "seq#1")

    def test_metadata_stays_readable_whatever_the_job_is_called(self) -> None:
        talk = Talk()
        talk.submit(1, 'w0!it\'s "x"', 4)
        talk.tell(2, m.RemoveResources(2, ((0, 0),)))
        said = talk.tell(3, *talk.killed(3, **{'it\'s "x"': leaf("map", 0)}))
        assert isinstance(said[-1], m.SetJobMetadata)
        assert said[-1].metadata == "{'parent_job': 'w0!it_s _x_', 'nb_resubmit': 1}"

    def test_without_profile_reuse_every_attempt_gets_copies(self) -> None:
        talk = Talk("bebida[rebalance=never]", config={**CONFIG, "profile-reuse-enabled": False})
        talk.submit(1, "w0!a", 4, "seq")
        talk.tell(2, m.RemoveResources(2, ((0, 0),)))
        said = talk.tell(3, *talk.killed(3, a=at("seq", 0, leaf("map", 0))))
        assert [(e.profile_name, e.profile) for e in said if isinstance(e, m.RegisterProfile)] == [
            ("map#1", PROFILES["map"]),
            ("red#1", PROFILES["red"]),
            ("seq#1", {"type": "composed", "seq": ["map#1", "red#1"], "repeat": 2}),
        ]

    def test_profiles_that_replay_files_are_not_copied(self) -> None:
        replay = {"type": "composed", "seq": ["trace"]}
        profiles = {"w0": {"trace": {"type": "usage_trace", "trace": "t.txt"}, "re": replay}}
        talk = Talk(profiles=profiles, config={**CONFIG, "profile-reuse-enabled": False})
        talk.submit(1, "w0!a", 4, "re")
        talk.tell(2, m.RemoveResources(2, ((0, 0),)))
        told = {"profile_name": "trace", "current_task_index": -1}
        said = talk.tell(3, *talk.killed(3, a=at("re", 0, told)))
        assert [e.profile for e in said if isinstance(e, m.RegisterProfile)] == [{**replay, "repeat": 1}]

    @pytest.mark.parametrize("what", ["REGISTER_JOB", "REGISTER_PROFILE"])
    def test_work_that_cannot_be_registered_is_an_error(self, what: str) -> None:
        talk = Talk()
        talk.submit(1, "w0!a", 4)
        with pytest.raises(InputError, match=f"bebida: {what} was refused, so .*: job w0!a#1 already exists"):
            talk.tell(2, m.DecisionRefused(2, what, "job w0!a#1 already exists"))


class TestEndOfRegistration:
    def test_it_is_said_once_no_job_is_left_and_none_will_come(self) -> None:
        talk = Talk()
        talk.submit(1, "w0!a", 4)
        assert talk.tell(2, m.Notify(2, NO_MORE)) == []
        talk.tell(3, m.RemoveResources(3, ((0, 3),)))
        said = talk.tell(4, *talk.killed(4, a=leaf("map", 0)))
        assert "Notify" not in names(said)
        assert talk.acknowledge(4, said) == []
        talk.tell(5, m.AddResources(5, ((0, 3),)))
        assert talk.tell(6, talk.over(6, "w0!a#1")) == [m.Notify(6, "registration_finished")]
        assert names(talk.tell(7, m.RemoveResources(7, ((0, 0),)))) == ["ResourcesRemoved"]

    def test_it_is_said_at_once_where_there_is_no_workload(self) -> None:
        assert names(Talk(workloads={}).greeting) == ["Hello", "Notify"]
        assert names(Talk().greeting) == ["Hello"]

    def test_a_job_that_comes_after_it_opens_registration_again(self) -> None:
        talk = Talk(workloads={})
        said = talk.submit(1, "w0!a", 4)
        assert m.Notify(1, "continue_registration") in said
        assert talk.tell(2, talk.over(2, "w0!a")) == [m.Notify(2, "registration_finished")]

    def test_a_start_that_is_refused_for_good_does_not_hold_it_up(self) -> None:
        talk = Talk()
        talk.submit(1, "w0!a", 2)
        now, said = 1, talk.tell(1, m.Notify(1, NO_MORE))
        for _ in range(6):
            said = talk.tell(now, m.DecisionRefused(now, "EXECUTE_JOB", "no", "w0!a"))
            calls = [event.at for event in said if isinstance(event, m.CallMeLater)]
            if calls:
                now = calls[0]
                assert starts(talk.tell(now, m.RequestedCall(now))) == [("w0!a", "0-1")]
        assert names(said) == ["SetJobMetadata", "RejectJob", "Notify"]

    def test_where_nothing_may_be_registered_it_does_not_begin(self) -> None:
        with pytest.raises(InputError, match=r"bebida: .* needs dynamic_jobs = true, or --enable-dynamic"):
            Talk(config={})


STORAGE = [{"id": 4, "name": "pfs", "state": "idle", "properties": {"role": "storage"}}]


class TestPfs:
    def test_data_is_moved_beside_each_part(self) -> None:
        talk = Talk("bebida[variant=pfs]", storage_resources=STORAGE)
        said = talk.submit(1, "w0!a", 2, "seq")
        assert [(e.profile_name, e.profile) for e in said if isinstance(e, m.RegisterProfile)] == [
            ("map_io#1", self.traffic(40, 10)),
            ("red_io#1", self.traffic(0, 0)),
            ("seq_io#1", {"type": "composed", "repeat": 2, "seq": ["map_io#1", "red_io#1"]}),
        ]
        start = said[-1]
        assert isinstance(start, m.ExecuteJob)
        assert start.additional_io_job == m.IoJob(((0, 1),), "seq_io#1")
        # The same on as many hosts needs nothing new.
        again = talk.submit(2, "w0!b", 2, "seq")
        assert names(again) == ["ExecuteJob"]
        assert isinstance(again[0], m.ExecuteJob)
        assert again[0].additional_io_job == m.IoJob(((2, 3),), "seq_io#1")

    def test_without_profile_reuse_each_start_has_profiles_of_its_own(self) -> None:
        config = {**CONFIG, "profile-reuse-enabled": False}
        talk = Talk("bebida[variant=pfs]", storage_resources=STORAGE, config=config)
        said = [*talk.submit(1, "w0!a", 2), *talk.submit(2, "w0!b", 2)]
        assert [e.profile_name for e in said if isinstance(e, m.RegisterProfile)] == ["map_io#1", "map_io#2"]

    def test_the_storage_host_bounds_a_job(self) -> None:
        # 4 Gflop on two hosts of 1 Gflop/s would take 2 s. The storage host is 1.6 ms away and sends 45 MB at
        # 15 MB/s; it receives 15 MB meanwhile.
        profile = {**PROFILES["map"], "cpu": 4e9, "io_reads": 45e6, "io_writes": 15e6}
        storage = (Host(4, "pfs", role="storage", properties={"role": "storage"}),)
        computes = tuple(Host(k, f"host{k}") for k in range(4))
        platform = Platform("cluster", computes, storage, network=ClusterNetwork(4, storage=15e6))
        journal = Journal()
        job = {"id": "a", "subtime": 0, "res": 2, "profile": "p"}
        simulator = Simulator(
            platform, [JobList([job], {"p": profile})], journal, SimulatorConfig(dynamic_jobs=True)
        )
        run(simulator, make_scheduler("bebida[variant=pfs]").handle)
        assert journal.spans() == {"w0!a": (0, pytest.approx(3.0016), "COMPLETED_SUCCESSFULLY")}

    @pytest.mark.parametrize("profile", ["red", "nap", "mix"])
    def test_jobs_without_data_or_that_cannot_be_joined_start_alone(self, profile: str) -> None:
        talk = Talk("bebida[variant=pfs]", storage_resources=STORAGE)
        said = talk.submit(1, "w0!a", 2, profile)
        assert said == [m.ExecuteJob(1, "w0!a", ((0, 1),))]

    def test_the_platform_must_have_one_storage_host(self) -> None:
        with pytest.raises(InputError, match="variant=pfs needs a platform with exactly one storage host"):
            Talk("bebida[variant=pfs]")

    def traffic(self, read: float, write: float) -> Any:
        moved = {"bytes_to_read": read, "bytes_to_write": write, "storage": "pfs"}
        return {"type": "parallel_homogeneous_pfs", **moved}


class TestEstimates:
    def test_the_slowest_host_bounds_a_job(self) -> None:
        assert slowest_speed([{"speed": [4.0, 1.0]}, {"speed": 3.0}]) == 3.0
        assert slowest_speed([{"id": 0}]) is None

    @pytest.mark.parametrize(
        ("flops", "speed", "walltime", "left"),
        [
            (100, 2.0, None, 20),
            (100, 2.0, 15, 10),
            (100, None, 15, 10),
            (0, 2.0, None, float("inf")),
            (1, 2.0, None, 0),
        ],
    )
    def test_time_left(self, flops: float, speed: float | None, walltime: float | None, left: float) -> None:
        assert time_left(flops, 2, speed, 5, walltime) == left

    def test_gain(self) -> None:
        assert gain_of_growing(30, 2, 3) == pytest.approx(10)
        assert gain_of_growing(30, 2, 2) == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ("rebalance=maybe", "choose from gain, always, never"),
        ("variant=dfs", "choose from none, pfs"),
        ("restart_cost=-1", "must not be negative"),
    ],
)
def test_options_that_cannot_be_are_refused(options: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        make_scheduler(f"bebida[{options}]")
