"""Files of ML serving: models, measurements, tables of models, and a worker's configuration."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from batpy.base.errors import InputError
from batpy.workloads.serving.clockwork_files import parse_spec, read_measurements, read_model
from batpy.workloads.serving.model import NoModelError, ServedModel
from batpy.workloads.serving.worker_config import WorkerConfig, read_worker_config
from batpy.workloads.serving.zoo import ModelStore, Table

TIMES = "weights = 100L; // ns\nb1 = 10L;\nb2 = 15L; b4 = 20\n"


def tensor(size: int) -> bytes:
    return (
        struct.pack("<QIQQI", 0, 0, 0, size, 2) + struct.pack("<QQ", 1, size) + struct.pack("<III", 2, 32, 1)
    )


def spec(batch: int = 1, pages: int = 3, version: int = 1) -> bytes:
    """A ``.clockwork`` file with one operation."""
    operation = struct.pack("<II", 1, 1) + tensor(8) + struct.pack("<III", 0, 1, 1) + bytes(20)
    return (
        struct.pack("<IQQQQ", version, 1000, 3072, 0, 0)
        + struct.pack("<II", 1, 4)
        + b"relu"
        + struct.pack("<II", 1, 1)
        + operation
        + struct.pack("<II", 1, 2)
        + tensor(40 * batch)
        + tensor(2 * batch)
        + struct.pack("<II", 1, 1)
        + tensor(7 * batch)
        + struct.pack("<QII", 1024, 1, pages)
        + bytes(16 * pages)
    )


def model(folder: Path, *batches: int, times: str | None = TIMES) -> Path:
    for batch in batches:
        (folder / f"model.{batch}.clockwork").write_bytes(spec(batch))
    if times is not None:
        (folder / "model.measurements").write_text(times)
    return folder / "model"


def test_a_model_is_read_from_its_files(tmp_path: Path) -> None:
    found = read_model(model(tmp_path, 1, 2, 4))
    assert found == ServedModel(42, 7, 1000, 3, 1024, 100, ((1, 10), (2, 15), (4, 20)))


def test_a_gap_hides_larger_batch_sizes(tmp_path: Path) -> None:
    assert read_model(model(tmp_path, 1, 4)).batch_sizes == (1,)


def test_the_files_at_hand_give_the_table(shared: Path) -> None:
    folder = shared / "data/serving/clockwork"
    table = Table(folder / "model_profiles.json")
    for name in ("resnet18_v2", "resnet50_v2"):
        assert read_model(folder / "models" / name / "model") == table.find(name)
    figures = {
        "resnet18_v2": (46_737_836, 3, 3_848_000, 1_632_000, 11_855_000),
        "resnet50_v2": (102_160_300, 7, 8_372_000, 3_322_000, 21_728_879),
        "resnet152_v2": (240_637_868, 15, 19_684_000, 9_131_170, 61_552_400),
    }
    for name, (size, pages, load, first, last) in figures.items():
        found = table.find(name)
        assert (found.weights_size, found.num_weights_pages, found.weights_load_time) == (size, pages, load)
        assert (found.exec_times[0], found.exec_times[-1]) == ((1, first), (16, last))
        assert (found.input_size, found.output_size) == (602_112, 4_000)
    with pytest.raises(NoModelError, match=r"models\.resnet18_tesla-m40_batchsize1: .*weights_memory"):
        table.find("resnet18_tesla-m40_batchsize1")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "ends inside a structure, at byte 0"),
        (spec()[:-1], "ends inside a structure"),
        (spec() + b"!", "has 1 bytes more"),
        (spec(version=3), "byte 0: version 3"),
        (spec()[:36] + b"\xff" * 40, "ends inside a structure"),
    ],
)
def test_a_damaged_specification_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=rf"model\.1\.clockwork: .*{problem}"):
        parse_spec(data, "model.1.clockwork")


def test_measurements_may_be_missing_only_if_that_is_allowed(tmp_path: Path) -> None:
    prefix = model(tmp_path, 1, 2, times=None)
    with pytest.raises(NoModelError, match=r"model\.measurements: no such file") as why:
        read_model(prefix)
    assert why.value.profile_only
    assert read_model(prefix, require_profile=False).exec_times == ((1, 0), (2, 0))


@pytest.mark.parametrize(
    ("times", "problem"),
    [
        ("weights = 1L; b1 = 2L;", "'b2' is missing"),
        ("b1 = 2L; b2 = 2L;", "'weights' is missing"),
        ("weights = 1L;\nb1 = -2L;", r":2: b1: must be a number of nanoseconds, got -2"),
        ("weights = 1L;\nb1 = true;", r":2: b1: must be a number of nanoseconds"),
        ("weights = 1L;\n\nbatch = 2L;", r":3: batch: no such setting; want weights or b"),
        ("weights = 1.5;", r":1: cannot be read as libconfig from '1\.5;'"),
        ("weights = 1L; weights = 2L;", r":1: the setting 'weights' is given twice"),
        ("weights = 1L; }", r":1: want the name of a setting, got '}'"),
        ("weights = {", r":1: want }, got 'the end of the file'"),
        ("weights", r":1: want = or :, got 'the end of the file'"),
    ],
)
def test_bad_measurements_are_told_with_their_line(tmp_path: Path, times: str, problem: str) -> None:
    with pytest.raises(NoModelError, match=problem) as why:
        read_model(model(tmp_path, 1, 2, times=times))
    assert not why.value.profile_only


def test_comments_and_notations_of_libconfig(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("# a\n/* b\n c */ weights : 0x10L, b1=2 b2=3LL;")
    assert read_measurements(tmp_path / "m") == {"weights": 16, "b1": 2, "b2": 3}


def test_the_default_configuration(shared: Path) -> None:
    config = read_worker_config(shared / "data/serving/clockwork/default.cfg")
    assert config == WorkerConfig()
    assert config.total_pages == 1376


def config_file(folder: Path, memory: str = "", rest: str = "") -> Path:
    path = folder / "w.cfg"
    path.write_text(f"WorkerConfig:\n{{\n memory_settings: {{ {memory} }};\n {rest}\n}};\n")
    return path


def test_what_a_configuration_does_not_say(tmp_path: Path) -> None:
    config = read_worker_config(config_file(tmp_path, "weights_cache_size = 16777220L;"))
    assert config.total_pages == 1
    assert not config.allow_zero_size_inputs


@pytest.mark.parametrize(
    ("memory", "rest", "problem"),
    [
        ("weights_cache = 1L;", "", r":3: WorkerConfig\.memory_settings\.weights_cache: no such setting"),
        ("weights_cache_size = 0;", "", r":3: .*weights_cache_size: must be a number of bytes"),
        ("weights_cache_size = true;", "", "must be a number of bytes from 1"),
        ("weights_cache_size = 5;", "", "smaller than a page"),
        (
            "",
            "allow_zero_size_inputs = 1;",
            r":4: WorkerConfig\.allow_zero_size_inputs: must be true or false",
        ),
        ("", "log_dir: { telemetry_log_dir = 3; }", "must be a text"),
        ("", "num_gpus = 2;", r":4: WorkerConfig\.num_gpus: no such setting"),
    ],
)
def test_bad_configurations(tmp_path: Path, memory: str, rest: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_worker_config(config_file(tmp_path, memory, rest))


def test_a_configuration_without_its_group(tmp_path: Path) -> None:
    (tmp_path / "w.cfg").write_text("")
    with pytest.raises(InputError, match="has no group WorkerConfig"):
        read_worker_config(tmp_path / "w.cfg")


def test_a_store_looks_in_its_tables_then_in_its_folder(tmp_path: Path) -> None:
    row = {
        "weights_load_time_nanos": 5, "batch_exec_times_nanos": {"2": 3, "1": 2}, "weights_memory": 9,
        "num_weights_pages": 1, "page_size": 16, "input_size": 4, "output_size": 2, "note": "not read",
    }  # fmt: skip
    table = tmp_path / "zoo.json"
    table.write_text(json.dumps({"_note": "x", "models": {"tiny": row, "odd": {**row, "page_size": 0}}}))
    model(tmp_path, 1)
    store = ModelStore(tmp_path, Table(table))
    assert store.find("tiny") == ServedModel(4, 2, 9, 1, 16, 5, ((1, 2), (2, 3)))
    assert store.find("model").num_weights_pages == 3
    with pytest.raises(NoModelError, match=r"zoo\.json: models\.odd: .*page_size"):
        store.find("odd")
    with pytest.raises(NoModelError, match=r"none\.1\.clockwork: cannot be read: No such file"):
        store.find("none")
    with pytest.raises(NoModelError, match=r"no such model: 'none' \(known by name: tiny, odd\)"):
        ModelStore(None, Table(table)).find("none")


@pytest.mark.parametrize("text", ["[]", "{}", "{", '{"models": 3}'])
def test_what_is_no_table_of_models(tmp_path: Path, text: str) -> None:
    (tmp_path / "zoo.json").write_text(text)
    with pytest.raises(InputError, match=r"zoo\.json: is no table of models"):
        Table(tmp_path / "zoo.json")


@pytest.mark.parametrize("times", [{"2": 1}, {"0": 1, "1": 1}, {"x": 1, "1": 1}, {"1": 1, "01": 2}])
def test_batch_sizes_of_a_table(tmp_path: Path, times: dict[str, int]) -> None:
    row = {
        "weights_load_time_nanos": 5, "batch_exec_times_nanos": times, "weights_memory": 9,
        "num_weights_pages": 1, "page_size": 16, "input_size": 4, "output_size": 2,
    }  # fmt: skip
    (tmp_path / "zoo.json").write_text(json.dumps({"models": {"tiny": row}}))
    with pytest.raises(NoModelError, match=r"models\.tiny\.batch_exec_times_nanos: "):
        Table(tmp_path / "zoo.json").find("tiny")
