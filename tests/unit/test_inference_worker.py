"""The emulated GPU worker: hand-computed values with resnet50_v2 and the default configuration."""

from __future__ import annotations

import pytest
from inference_cases import INPUT, RESNET50, Bench, OneModel, infer, ms

from batpy.base.serving import NO_LATEST, WorkerStatus
from batpy.models.inference.actions import AnyAction, Clear, Evict, Infer, Load, LoadModel, State
from batpy.models.inference.executor import Rank, Task
from batpy.models.inference.flavour import REAL
from batpy.models.inference.fleet import Fleet
from batpy.models.inference.jitter import Jitter
from batpy.workloads.serving.model import ServedModel
from batpy.workloads.serving.worker_config import WorkerConfig


def test_models_from_disk_are_on_every_gpu_with_their_figures() -> None:
    bench = Bench(2, copies=0)
    bench.at(0, LoadModel(1, 0, 40, "resnet50_v2", no_of_copies=3), State(2, 0))
    model, memory = bench.results[1].model, bench.results[2].memory
    assert model is not None
    assert memory is not None
    assert (model.num_weights_pages, model.weights_size_in_cache) == (7, 117_440_512)
    assert model.supported_batch_sizes == (1, 2, 4, 8, 16)
    assert model.batch_size_exec_times_nanos == (3_322_000, 5_271_340, 7_495_000, 12_439_000, 21_728_879)
    assert (model.input_size, model.output_size, model.copies_created) == (602_112, 4_000, 3)
    assert model.weights_load_time_nanos == 8_372_000
    assert [info.id for info in memory.models] == [40, 41, 42]
    assert [gpu.models for gpu in memory.gpus] == [(), ()]
    assert memory.gpus[0].weights_cache_total_pages == 1376
    assert (memory.models[0].num_weights_pages, memory.models[0].weights_size) == (7, 102_160_300)
    assert memory.host_weights_cache_size == NO_LATEST


def test_loads_of_a_gpu_follow_one_another() -> None:
    bench = Bench()
    bench.at(0, Load(1, 0, 0, 0), Load(2, 0, 1, 0))
    bench.at(20)
    assert bench.span(1) == (0, 8.372)
    assert bench.span(2) == (8.372, 16.744)


def test_a_load_that_waits_past_its_latest_fails_when_its_turn_comes() -> None:
    bench = Bench()
    bench.at(0, Load(1, 0, 0, 0), Load(2, 0, 1, 0, latest=ms(8)))
    assert bench.at(8.371) == []
    assert bench.at(20) == [0, 51]
    assert bench.results[2].sent == ms(8.372)


def test_a_batch_is_padded_in_time_and_not_in_output() -> None:
    bench = Bench()
    bench.at(0, Load(1, 0, 0, 0))
    bench.at(10, infer(2, 7), infer(3, 7, size=0))
    bench.at(50)
    first, second = bench.results[2].inference, bench.results[3].inference
    assert first is not None
    assert second is not None
    assert first.exec.duration == second.exec.duration == 12_439_000
    assert (first.output_size, second.output_size) == (28_000, 0)
    assert (first.gpu_clock_before, first.gpu_clock) == (1380, 1380)
    assert first.copy_input.begin == first.copy_input.end == ms(10)
    assert first.copy_output.begin == first.copy_output.end == ms(22.439)


@pytest.mark.parametrize(
    ("action", "status"),
    [
        (infer(2, 17), 73),
        (infer(2, 0), 73),
        (infer(2, 1, size=INPUT - 1), 75),
        (infer(2, 2, size=100, input_sizes=(60, 40)), 0),
        (infer(2, 2, size=100, input_sizes=(60, 41)), 77),
        (infer(2, 1, size=100, input_sizes=(60, 40)), 77),
        (infer(2, 1, model=99), 72),
        (Load(2, 0, 99, 0), 52),
        (Evict(2, 0, 99, 0), 62),
        (Evict(2, 0, 1, 0), 63),
        (infer(2, 1, model=1), 82),
        (Load(2, 0, 0, 1), 52),
        (Evict(2, 0, 0, 1), 62),
        (Infer(2, 0, 0, 1, 1, INPUT), 72),
        (LoadModel(2, 0, 2, "resnet50_v2"), 40),
        (LoadModel(2, 0, 7, "nowhere"), 41),
        (LoadModel(2, 0, 7, "bare"), 10),
        (LoadModel(2, 0, 7, "resnet50_v2", latest=ms(9)), 11),
        (Load(2, 0, 1, 0, latest=ms(9)), 51),
        (Evict(2, 0, 0, 0, latest=ms(9)), 61),
        (infer(2, latest=ms(9)), 81),
    ],
)
def test_what_an_action_ends_with(action: AnyAction, status: int) -> None:
    bench = Bench()
    bench.at(0, Load(1, 0, 0, 0))
    bench.at(10, action)
    bench.at(50)
    assert bench.results[2].status == status
    assert (bench.results[2].message is None) == (status == 0)


def test_a_zero_size_input_is_refused_where_it_is_not_allowed() -> None:
    bench = Bench(allow_zero_size_inputs=False)
    bench.at(0, Load(1, 0, 0, 0))
    assert bench.at(10, infer(2, size=0)) == [0, 75]


def test_a_model_compiled_for_other_pages_is_refused() -> None:
    bench = Bench(copies=0, page_size=4096)
    assert bench.at(0, LoadModel(1, 0, 0, "resnet50_v2")) == [41]


def test_an_eviction_during_a_load_frees_at_once_and_the_load_fails_at_its_end() -> None:
    bench = Bench()
    bench.at(0, Load(1, 0, 0, 0))
    assert bench.free == 1376 - 7
    assert bench.at(4, Evict(2, 0, 0, 0)) == [0]
    assert bench.free == 1376
    assert bench.at(20) == [54]
    assert bench.results[1].sent == ms(8.372)
    assert bench.free == 1376


def test_a_second_load_after_such_an_eviction_waits_for_the_first_one() -> None:
    bench = Bench()
    bench.at(0, Load(1, 0, 0, 0))
    bench.at(4, Evict(2, 0, 0, 0), Load(3, 0, 0, 0))
    assert bench.at(20) == [54, 0]
    assert bench.span(3) == (8.372, 16.744)
    assert bench.free == 1376 - 7


def test_at_one_instant_ends_come_before_evictions_loads_and_inferences() -> None:
    bench = Bench()
    bench.at(0, Load(1, 0, 0, 0))
    bench.at(8.372, infer(2), Load(3, 0, 0, 0), Evict(4, 0, 0, 0))
    # The load is complete, then evicted, then begun again; the inference finds no weights.
    assert bench.order[1:] == [1, 4, 2]
    assert bench.results[4].status == 0
    assert bench.results[2].status == 82
    assert bench.at(20) == [0]


def test_an_eviction_during_an_inference_makes_it_fail_at_its_end() -> None:
    bench = Bench()
    bench.at(0, Load(1, 0, 0, 0))
    bench.at(10, infer(2, 16))
    assert bench.at(20, Evict(3, 0, 0, 0)) == [0]
    assert bench.at(40) == [84]
    assert bench.results[2].sent == 31_728_879


def test_the_cache_holds_196_models() -> None:
    bench = Bench(copies=200)
    bench.at(0, *(Load(1 + i, 0, i, 0) for i in range(197)))
    assert bench.at(2000) == [0] * 196 + [53]
    assert bench.free == 1376 - 196 * 7 == 4


def test_a_load_without_room_changes_nothing() -> None:
    bench = Bench(weights_cache_size=7 * RESNET50.page_size)
    bench.at(0, Load(1, 0, 0, 0))
    assert bench.at(9, infer(2, 16), Load(3, 0, 1, 0)) == [0, 53]
    assert bench.at(50) == [0]


def test_inferences_run_by_earliest() -> None:
    bench = Bench()
    bench.at(0, Load(1, 0, 0, 0))
    bench.at(9, *(infer(2 + i, earliest=ms(e)) for i, e in enumerate((30, 10, 20))))
    bench.at(60)
    assert [bench.span(i)[0] for i in (2, 3, 4)] == [30, 10, 20]
    assert bench.order[-3:] == [3, 4, 2]


@pytest.mark.parametrize(
    ("limits", "sizes"),
    [
        ({"max_exec_duration": ms(10)}, (1, 2, 4)),
        ({"max_batch_size": 8}, (1, 2, 4, 8)),
        ({"max_exec_duration": 1}, (1,)),
    ],
)
def test_limits_on_batch_sizes(limits: dict[str, int], sizes: tuple[int, ...]) -> None:
    bench = Bench(copies=0)
    bench.at(0, LoadModel(1, 0, 0, "resnet50_v2", **limits))
    model = bench.results[1].model
    assert model is not None
    assert model.supported_batch_sizes == sizes


@pytest.mark.parametrize(("immediate", "statuses"), [(False, [1] * 5 + [0]), (True, [1] * 6)])
def test_a_shutdown_ends_what_is_queued(immediate: bool, statuses: list[int]) -> None:
    bench = Bench()
    bench.at(0, Load(1, 0, 0, 0))
    bench.at(9, *(infer(2 + i) for i in range(6)))
    bench.keep(bench.fleet.shut_down(ms(10), immediate=immediate))
    bench.at(50)
    assert [bench.results[i].status for i in bench.order[2:]] == statuses
    assert bench.at(60, Load(50, 0, 1, 0)) == [3]
    assert bench.fleet.outstanding == 0


def test_gpus_are_independent() -> None:
    bench = Bench(2)
    bench.at(0, Load(1, 0, 0, 0), Load(2, 0, 0, 1))
    bench.at(9)
    assert bench.span(1) == bench.span(2) == (0, 8.372)


def test_the_bounds_of_a_window_belong_to_it() -> None:
    bench = Bench()
    bench.at(0, Load(1, 0, 0, 0))
    bench.at(9, infer(2, earliest=ms(9), latest=ms(9)))
    bench.at(20)
    assert bench.span(2) == (9, 12.322)


def test_a_reload_hides_the_weights_and_keeps_their_pages() -> None:
    bench = Bench()
    bench.at(0, Load(1, 0, 0, 0))
    bench.at(9, infer(2))
    bench.at(10, Load(3, 0, 0, 0))
    assert bench.free == 1376 - 7
    assert bench.at(13, infer(4)) == [84, 82]
    assert bench.at(20, infer(5)) == [0]
    assert bench.at(30) == [0]


def test_clearing_makes_loads_and_inferences_fail_at_their_ends() -> None:
    bench = Bench()
    bench.at(0, Load(1, 0, 0, 0))
    bench.at(9, infer(2), Load(3, 0, 1, 0))
    assert bench.at(10, Clear(4, 0)) == [0]
    assert bench.free == 1376
    assert sorted(bench.at(30)) == [54, 84]


def test_the_state_lists_what_is_completely_loaded() -> None:
    bench = Bench(2)
    bench.at(0, Load(1, 0, 2, 0), Load(2, 0, 1, 0), Load(3, 0, 0, 0))
    bench.at(17, State(4, 0))
    memory = bench.results[4].memory
    assert memory is not None
    assert [gpu.models for gpu in memory.gpus] == [(1, 2), ()]


@pytest.mark.parametrize(
    ("action", "rank", "status"),
    [
        (Load(2, 0, 0, 0, earliest=ms(9)), Rank.LOAD, 50),
        (Evict(2, 0, 0, 0, earliest=ms(9)), Rank.EVICT, 60),
        (infer(2, earliest=ms(9)), Rank.INPUT, 70),
        (infer(2, earliest=ms(9)), Rank.EXEC, 80),
        (LoadModel(2, 0, 7, "resnet50_v2", earliest=ms(9)), Rank.WIDE, 2),
    ],
)
def test_who_goes_past_a_queue_can_be_too_early(action: AnyAction, rank: Rank, status: int) -> None:
    bench = Bench()
    worker = bench.fleet.workers[0]
    home = worker if rank is Rank.WIDE else worker.gpus[0]
    bench.at(1)
    home.start(Task(action, 1, 1, home, rank, 0))
    assert bench.at(1) == [status]


def test_every_status_of_the_worker_has_its_test() -> None:
    """Codes that an emulated worker can answer; a new one must be added to a test above."""
    assert {int(status) for status in WorkerStatus} == {
        *(0, 1, 2, 3, 10, 11, 40, 41, 50, 51, 52, 53, 54, 60, 61, 62, 63),
        *(70, 71, 72, 73, 75, 77, 80, 81, 82, 84),
    }


# --------------------------------------------------------------------------- the other two flavours


def test_dummy_an_eviction_waits_for_the_load() -> None:
    bench = Bench(flavour="dummy")
    bench.at(0, Load(1, 0, 0, 0))
    bench.at(4, Evict(2, 0, 0, 0))
    assert bench.at(20) == [0, 0]
    assert bench.order[1:] == [1, 2]
    assert bench.results[2].sent == ms(8.372)


def test_dummy_a_reload_keeps_the_weights_usable_but_fails_what_runs() -> None:
    bench = Bench(flavour="dummy")
    bench.at(0, Load(1, 0, 0, 0))
    bench.at(9, infer(2))
    bench.at(10, Load(3, 0, 0, 0))
    bench.at(13, infer(4))
    bench.at(30)
    assert [bench.results[i].status for i in (2, 3, 4)] == [84, 0, 0]


def test_dummy_does_not_add_up_compressed_sizes_and_mixes_up_pages_and_sizes() -> None:
    bench = Bench(flavour="dummy")
    bench.at(0, Load(1, 0, 0, 0))
    bench.at(9, infer(2, 1, size=100, input_sizes=(1, 2, 3)), State(3, 0))
    bench.at(20)
    memory = bench.results[3].memory
    assert bench.results[2].status == 0
    assert memory is not None
    assert (memory.models[0].num_weights_pages, memory.models[0].weights_size) == (16_777_216, 117_440_512)


def test_real_an_eviction_during_a_load_reports_63_and_loses_the_pages() -> None:
    bench = Bench(flavour="real")
    bench.at(0, Load(1, 0, 0, 0))
    assert bench.at(4, Evict(2, 0, 0, 0)) == [63]
    assert bench.at(20) == [54]
    assert bench.free == 1376 - 7


def test_real_two_overlapping_loads_of_a_model_the_second_succeeds() -> None:
    bench = Bench(flavour="real")
    bench.at(0, Load(1, 0, 0, 0))
    bench.at(4, Load(2, 0, 0, 0))
    assert bench.at(20) == [54, 0]
    assert bench.span(2) == (8.372, 16.744)


def test_real_an_input_is_taken_up_to_5_ms_ahead_and_has_its_own_codes() -> None:
    bench = Bench(flavour="real")
    bench.at(0, Load(1, 0, 0, 0))
    bench.at(9, infer(2, earliest=ms(20)), infer(3, latest=ms(8)), infer(4, 17))
    bench.at(40)
    assert [bench.results[i].status for i in (2, 3, 4)] == [0, 71, 73]
    taken = bench.results[2].inference
    assert taken is not None
    assert (taken.copy_input.begin, taken.exec.begin) == (ms(15), ms(20))


# --------------------------------------------------------------------------- jitter, steps


def _durations(seed: int, jitter: Jitter | None) -> list[int]:
    fleet = Fleet({0: 1}, OneModel(), WorkerConfig(), jitter=jitter, seed=seed)
    fleet.step(0, [LoadModel(1, 0, 0, "resnet50_v2"), Load(2, 0, 0, 0)])
    fleet.step(ms(20), [infer(10 + i) for i in range(200)])
    return [r.inference.exec.duration for r in fleet.step(ms(5000)) if r.inference is not None]


def test_jitter_is_seeded_and_about_as_large_as_asked() -> None:
    mild = Jitter(exec_sd=0.01)
    one = _durations(1, mild)
    assert one == _durations(1, mild) != _durations(2, mild)
    assert len(one) == 200
    mean = sum(one) / 200
    sd = (sum((x - mean) ** 2 for x in one) / 200) ** 0.5
    assert mean == pytest.approx(3_322_000, rel=0.005)
    assert 0.007 < sd / mean < 0.013
    assert set(_durations(1, None)) == {3_322_000}


def test_outliers_are_longer() -> None:
    assert min(_durations(1, Jitter(outlier_probability=1.0, outlier_factor=2.0))) == 6_644_000


def test_dates_do_not_depend_on_when_the_worker_is_asked() -> None:
    """Asked every 0.1 ms or once: the same results with the same dates."""
    often, once = Bench(), Bench()
    for bench in (often, once):
        bench.at(0, Load(1, 0, 0, 0), Load(2, 0, 1, 0))
        bench.at(1, *(infer(3 + i, earliest=ms(9 + 2 * i)) for i in range(4)), Evict(9, 0, 1, 0, ms(18)))
    for tick in range(11, 600):
        often.at(tick / 10)
    once.at(60)
    assert often.results == once.results
    assert often.order == once.order


def test_real_what_takes_no_time_is_over_after_what_was_issued_before_it() -> None:
    """Found by random stories: two ends of an executor at one instant, the later one submitted first."""
    instant = ServedModel(1, 1, 1, 1, 16_777_216, 0, ((1, 0),))

    class Both(OneModel):
        def find(self, path: str) -> ServedModel:
            return instant if path == "instant" else super().find(path)

    fleet = Fleet({0: 1}, Both(), flavour=REAL)
    fleet.step(0, [LoadModel(1, 0, 0, "instant"), LoadModel(2, 0, 1, "resnet50_v2")])
    fleet.step(0, [Load(3, 0, 0, 0, earliest=ms(1)), Load(4, 0, 1, 0)])
    assert [(result.id, result.sent) for result in fleet.step(ms(20))] == [(4, ms(8.372)), (3, ms(8.372))]
