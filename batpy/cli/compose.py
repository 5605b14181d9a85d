"""Puts the rooms together: from a configuration to a simulation that ran and a folder of results.

Everything is loaded and checked before the output folder is touched. The same simulator runs against a
scheduler in this process, against one that is started as a process of its own, or against an endpoint.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from batpy.base.errors import EXIT_BAD_INPUT, EXIT_DONE, EXIT_PEER, BatpyError
from batpy.base.files import unwritable
from batpy.cli.config import BROKER
from batpy.cli.interrupts import Interrupts
from batpy.cli.needs import with_needs
from batpy.cli.outcome import EXIT_INTERRUPTED, RunOutcome
from batpy.cli.output import EXPERIMENT, claim
from batpy.cli.places import told_at
from batpy.cli.serving import load_serving
from batpy.protocol.messages import Message
from batpy.results.container import SHARING_JOURNAL, is_written
from batpy.results.recorder import RunRecorder
from batpy.results.serving import write_serving_tables
from batpy.results.timing import Timing
from batpy.simulator.admission import check_workload, size_notices
from batpy.simulator.config import SimulatorConfig
from batpy.simulator.core import Simulator
from batpy.transport.link import Core, InProcessLink, Link

if TYPE_CHECKING:
    from batpy.cli.config import ExperimentConfig, SchedulerConfig, WorkloadConfig
    from batpy.cli.progress import Progress
    from batpy.platforms.platform import Platform
    from batpy.schedulers.core import SchedulerCore
    from batpy.workloads.external_events import ExternalEvent
    from batpy.workloads.job import Workload

Mode = Literal["embedded", "processes"]
LAST_BREATH = 0.5
"""Seconds a process may live on after its connection closed."""

BROKER_GRACE = 5.0
"""Seconds a broker started by hand has to close its journal after the last message."""

PROGRESS_EVERY = 256
"""Replies of the scheduler between two looks at the progress bar."""


class Loaded:
    """The inputs of an experiment, read and checked.

    Attributes:
        notices: one line about each thing that was skipped, ignored or assumed.
    """

    def __init__(self, config: ExperimentConfig) -> None:
        self.config = config
        self.notices: list[str] = []
        self.workloads = [self._workload(w) for w in config.workloads if w.kind is None]
        self.serving = load_serving(config)
        self.platform = self._platform()
        if config.simulation.energy:
            from batpy.simulator.power import power_profiles

            power_profiles(self.platform)
        for workload in self.workloads:
            check_workload(workload, self.platform)
        self.notices += size_notices(self.workloads, self.platform, wanted=self._mmax())
        self.events = [self._events(i) for i in range(len(config.simulation.events))]

    def _ticks(self, seconds: float) -> int:
        return round(seconds * self.config.simulation.resolution)

    def _platform(self) -> Platform:
        from batpy.platforms.load import load_platform

        wanted = self.config.platform
        return load_platform(
            wanted.source,
            source=wanted.file.written if wanted.file else None,
            cores=wanted.cores,
            memory=wanted.memory,
            gpus=wanted.gpus,
            speed=wanted.speed,
            mmax=self._mmax(),
            master_host=wanted.master,
            roles=wanted.roles or None,
            notice=self.notices.append,
        )

    def _mmax(self) -> int:
        """How many compute hosts are wanted at most; 0 for all."""
        simulation = self.config.simulation
        if not simulation.mmax_workload:
            return simulation.mmax
        sizes = [w.nb_res for w in self.workloads if w.nb_res]
        return min(filter(None, (simulation.mmax, max(sizes, default=0))), default=0)

    def _workload(self, wanted: WorkloadConfig) -> Workload:
        ticks = self.config.simulation.resolution
        if wanted.generator is not None:
            from batpy.kernel.streams import stream
            from batpy.workloads.generators import generate

            rng = stream(self.config.seed, "workload", wanted.id)
            place = f"workload[{self.config.workloads.index(wanted)}].generator"
            with told_at(self.config.source, place):
                return generate(wanted.generator, rng, wanted.id, ticks_per_second=ticks)
        from batpy.workloads.load import load_workload

        assert wanted.file is not None
        workload = load_workload(
            wanted.file.path,
            wanted.id,
            source=wanted.file.written,
            ticks_per_second=ticks,
            swf=wanted.swf,
        )
        self.notices += workload.report()
        return workload

    def _events(self, index: int) -> list[ExternalEvent]:
        from batpy.workloads.external_events import read_events

        file = self.config.simulation.events[index]
        return read_events(
            file.path,
            source=file.written,
            ticks_per_second=self.config.simulation.resolution,
            generic=self.config.simulation.forward_unknown_events,
        )

    def simulator(self, recorder: RunRecorder, scheduler: SchedulerConfig) -> Simulator:
        """A simulator of these inputs that writes to *recorder*."""
        simulation = self.config.simulation

        def choose(own: bool | None, common: bool) -> bool:
            return common if own is None else own

        options = SimulatorConfig(
            ticks_per_second=simulation.resolution,
            time_step=self._ticks(simulation.time_step),
            latency=self._ticks(simulation.latency),
            # A broker that may drop schedulers keeps the rules itself: see ``tenancy.keeps_rules``.
            strict=simulation.strict and not (scheduler.name == BROKER and scheduler.droppable),
            forward_profiles=choose(scheduler.forward_profiles, simulation.forward_profiles),
            dynamic_jobs=choose(scheduler.dynamic_jobs, simulation.dynamic_jobs),
            acknowledge_dynamic_jobs=choose(
                scheduler.acknowledge_dynamic_jobs, simulation.acknowledge_dynamic_jobs
            ),
            profile_reuse=choose(scheduler.profile_reuse, simulation.profile_reuse),
            compute_sharing=simulation.compute_sharing,
            storage_sharing=simulation.storage_sharing,
            forward_unknown_events=simulation.forward_unknown_events,
            split_kill_ack=choose(
                scheduler.split_kill_ack, simulation.split_kill_ack or scheduler.compat == "pybatsim"
            ),
            sched_config=simulation.sched_config,
            wants=scheduler.wants,
            seed=self.config.seed,
            energy=bool(simulation.energy),
        )
        return Simulator(self.platform, self.workloads, recorder, options, self.events, self.serving)


def run_experiment(
    config: ExperimentConfig,
    *,
    mode: Mode,
    output: Path,
    progress: Progress,
    pin: bool,
    overwrite: bool = True,
) -> RunOutcome:
    """Run an experiment; a scheduler given as an endpoint is asked there in either mode.

    Args:
        mode: whether a scheduler given as an algorithm runs in this process or in one of its own.
        output: folder of the results, already found usable.
        pin: put the processes of a run on one core; they take turns, so that is faster.
        overwrite: an earlier run in *output* may be replaced.

    Raises:
        BatpyError: bad input, before anything was written. What happens later is in the outcome.
    """
    loaded = Loaded(config)
    # Made here even when processes of their own will make them again: a bad option is found before anything
    # runs.
    cores = {
        name: _core(scheduler, config.source)
        for name, scheduler in config.schedulers.items()
        if scheduler.algorithm
    }
    config = loaded.config = with_needs(config, [name for name, core in cores.items() if core.registers])
    if config.broker is not None:
        return _with_broker(loaded, cores, mode, output, progress, pin=pin, overwrite=overwrite)
    [(name, scheduler)] = config.schedulers.items()
    with claim(output, overwrite=overwrite), Interrupts() as interrupts:
        run = _Run(loaded, scheduler, output, progress, interrupts)
        sharing = output / SHARING_JOURNAL
        if not is_written(sharing):
            with suppress(OSError):  # what cannot be written to is told by what writes there
                sharing.unlink(missing_ok=True)  # of an earlier run
        if name not in cores:
            assert scheduler.endpoint is not None
            outcome = run.over(_zeromq(config, scheduler.endpoint, scheduler.title))
            # A broker that was started by hand may have written its journal here.
            return _accounted(outcome) if _closed(sharing) else outcome
        if mode == "embedded":
            return run.over(InProcessLink(cores[name]))
        return _with_child(run, pin=pin)


def _core(scheduler: SchedulerConfig, source: str) -> SchedulerCore:
    from batpy.schedulers.registry import make_scheduler

    assert scheduler.algorithm is not None
    with told_at(source, f"scheduler.{scheduler.name}.algorithm"):
        return make_scheduler(scheduler.algorithm, base=scheduler.base)


BROKER_PATIENCE = 3
"""Deadlines the broker may take: it knows which scheduler is silent, and may have to ask several times."""


def _with_broker(
    loaded: Loaded,
    cores: Mapping[str, Core],
    mode: Mode,
    output: Path,
    progress: Progress,
    *,
    pin: bool,
    overwrite: bool,
) -> RunOutcome:
    """Run with a broker between the simulator and the schedulers."""
    from batpy.broker.registry import make_policy
    from batpy.cli.brokered import check_policy, embedded_broker, started
    from batpy.cli.tenancy import seen_as_one, tenant_configs

    config = loaded.config
    assert config.broker is not None
    with told_at(config.source, "broker.policy"):
        policy = make_policy(config.broker.policy, base=config.broker.base)
        check_policy(policy, config, len(loaded.platform.compute))
    tenants = tenant_configs(config)
    with claim(output, overwrite=overwrite), Interrupts() as interrupts:
        run = _Run(loaded, seen_as_one(config, tenants), output, progress, interrupts)
        if mode == "embedded":
            with embedded_broker(config, cores, output) as broker:
                outcome = run.over(InProcessLink(broker))
                broker.core.finish(outcome.outcome, outcome.reason)
                outcome.notices.extend(broker.core.notices)
        else:

            def waiting(wait: Callable[[], None]) -> None:
                with interrupts.let_through():
                    wait()

            with started(config, output, pin=pin, waiting=waiting) as company:
                link = _zeromq(config, company.endpoint, "the broker", BROKER_PATIENCE)
                outcome = run.over(link, company.why_dead)
                if outcome.outcome == "done":
                    company.finish()
                elif company.refused:
                    outcome = replace(outcome, exit_code=EXIT_BAD_INPUT)
        return _accounted(outcome)


def _closed(sharing: Path) -> bool:
    """Is a broker's journal there? Waits until the broker, which has had its last message, has closed it."""
    give_up = time.monotonic() + BROKER_GRACE
    while is_written(sharing) and time.monotonic() < give_up:
        time.sleep(0.01)
    return sharing.exists()


def _accounted(outcome: RunOutcome) -> RunOutcome:
    """Add where the core-seconds went, from both journals."""
    from batpy.results.accounting.run import finish_summary

    if outcome.summary is None:
        return outcome
    return replace(outcome, summary=finish_summary(outcome.folder, outcome.summary))


def _with_child(run: _Run, *, pin: bool) -> RunOutcome:
    """Run with the scheduler as a process of its own, which is gone afterwards."""
    from batpy.cli.children import pin_together, start_scheduler

    config = run.loaded.config
    child = start_scheduler(run.scheduler, run.output)
    try:
        with run.interrupts.let_through():
            child.wait_until_bound(config.simulation.deadline or None)
        if pin:
            pin_together([child])
        outcome = run.over(
            _zeromq(config, child.endpoint, run.scheduler.title), lambda: child.why_dead(LAST_BREATH)
        )
        child.finished = outcome.outcome == "done"
        lost = outcome.exit_code == EXIT_PEER
        return replace(outcome, exit_code=EXIT_BAD_INPUT) if lost and child.refused else outcome
    finally:
        child.stop()


def _zeromq(config: ExperimentConfig, endpoint: str, name: str, patience: int = 1) -> Link:
    """A link to who answers there, with *patience* times the experiment's deadline."""
    from batpy.protocol.codec import make_codec
    from batpy.transport.zeromq import ZmqLink

    simulation = config.simulation
    codec = make_codec(simulation.codec, simulation.resolution, float6=simulation.float6)
    return ZmqLink(endpoint, codec, simulation.deadline * patience or None, name)


class _Run:
    """One run of loaded inputs, whoever answers.

    Args:
        scheduler: the one that answers.
        interrupts: held back except while the scheduler is waited for.
    """

    def __init__(
        self,
        loaded: Loaded,
        scheduler: SchedulerConfig,
        output: Path,
        progress: Progress,
        interrupts: Interrupts,
    ) -> None:
        self.loaded = loaded
        self.scheduler = scheduler
        self.output = output
        self.progress = progress
        self.interrupts = interrupts
        self._asked = 0.0

    def over(self, link: Link, why_dead: Callable[[], str | None] = lambda: None) -> RunOutcome:
        """Run over *link*, and close it.

        Args:
            why_dead: how the process of the scheduler ended, or None if it lives or is not ours.
        """
        try:
            return self._simulate(link, why_dead)
        finally:
            link.close()

    def _simulate(self, link: Link, why_dead: Callable[[], str | None]) -> RunOutcome:
        # A ZeroMQ context does not survive the copy of a process, and its run is not bound by the tables.
        recorder = RunRecorder(self.output, aside=isinstance(link, InProcessLink))
        simulator = self.loaded.simulator(recorder, self.scheduler)
        _save(self.loaded.config, self.output)
        # Whatever leaves the loop in a way that nobody thought of is no finished run.
        outcome, reason, code = "failed", "", EXIT_BAD_INPUT
        begun = time.perf_counter()
        # Messages and records hold no cycles: collecting garbage often only costs time.
        thresholds = gc.get_threshold()
        gc.set_threshold(200_000, 50, 1000)
        try:
            with self.interrupts.working():
                self._drive(simulator, link)
            outcome, code = "done", EXIT_DONE
        except BatpyError as why:
            outcome, code, reason = (
                "peer_lost" if why.exit_code == EXIT_PEER else "refused",
                why.exit_code,
                str(why),
            )
            if (named := self._blamed(reason)) is not None:
                code, reason = EXIT_PEER, named
        except KeyboardInterrupt:
            outcome, code = "interrupted", EXIT_INTERRUPTED
        except SystemExit:  # only a user's policy does that
            outcome, reason = "refused", f"{self.scheduler.title}: it left with sys.exit()"
        except BaseException as why:
            reason = f"{type(why).__name__}: {why}"
            raise
        finally:
            gc.set_threshold(*thresholds)
            if outcome == "peer_lost" and (end := why_dead()):
                reason = f"{reason}; {end}"
            simulator.finish(outcome, reason)
            recorder.close(Timing(self._asked, time.perf_counter() - begun))
            if self.loaded.serving is not None and (count := write_serving_tables(self.output)):
                self.loaded.notices.append(str(count))
            self.progress.close()
        return RunOutcome(outcome, reason, code, self.output, recorder.summary, self.loaded.notices)

    def _blamed(self, reason: str) -> str | None:
        """Behind a broker, a refused decision is told with the scheduler that is meant, and counts as its
        failure."""
        if self.loaded.config.broker is None:
            return None
        from batpy.cli.tenancy import blamed

        return blamed(self.loaded.config, reason)

    def _drive(self, simulator: Simulator, link: Link) -> None:
        """Pass messages until the simulation is over, measuring how long the scheduler took."""
        clock, ask, handle = time.perf_counter, link.ask, simulator.handle
        scale, progress, interrupts = simulator.config.ticks_per_second, self.progress, self.interrupts
        ended = simulator.jobs.ended
        request: Message | None = simulator.begin()
        while request is not None:
            before = clock()
            interrupts.waiting = True
            try:
                if interrupts.pending:
                    interrupts.check()
                reply = ask(request)
            finally:
                interrupts.waiting = False
            self._asked += clock() - before
            request = handle(reply)
            if not simulator.replies % PROGRESS_EVERY:
                progress.advance(simulator.now / scale, len(ended), simulator.jobs_total)


def _save(config: ExperimentConfig, output: Path) -> None:
    """Keep what was run beside its results."""
    # In the order of the file: that of the schedulers is their rank.
    text = json.dumps(config.to_tree(), indent=2) + "\n"
    try:
        (output / EXPERIMENT).write_text(text, encoding="utf-8")
    except OSError as why:
        raise unwritable(output / EXPERIMENT, why) from None


def serve_scheduler(
    spec: str, *, bind: str, deadline: float | None, ready: Callable[[str], None] = lambda _: None
) -> None:
    """Serve one conversation as a scheduler, then return.

    Args:
        spec: the algorithm, such as ``easy[order=sjf]``.
        bind: where to listen.
        deadline: wall-clock seconds of silence after which the simulator counts as lost; None for never.
        ready: told the endpoint once it is bound.

    Raises:
        BatpyError: bad options, an endpoint that cannot be bound, a lost or illegal peer.
    """
    from batpy.schedulers.registry import make_scheduler
    from batpy.transport.zeromq import serve

    gc.set_threshold(200_000, 50, 1000)
    serve(make_scheduler(spec), bind, deadline_s=deadline, on_bound=ready)
