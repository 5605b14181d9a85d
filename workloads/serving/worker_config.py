"""The configuration of a GPU worker, read from the same file as the real worker's (``default.cfg``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from batpy.base.errors import InputError
from batpy.workloads.serving.libconfig import Tree, read_libconfig

_MEMORY = "WorkerConfig.memory_settings."
_SIZES = {
    _MEMORY + "weights_cache_size": "weights_cache_size",
    _MEMORY + "weights_cache_page_size": "page_size",
    _MEMORY + "io_pool_size": "io_pool_size",
    _MEMORY + "workspace_pool_size": "workspace_pool_size",
    _MEMORY + "host_io_pool_size": "host_io_pool_size",
}
_TELEMETRY = "WorkerConfig.telemetry_settings."
# Read, checked and not used: an emulated worker writes no telemetry of its own.
_UNUSED: dict[str, type] = {
    _TELEMETRY + "enable_task_telemetry": bool,
    _TELEMETRY + "enable_action_telemetry": bool,
    "WorkerConfig.log_dir.telemetry_log_dir": str,
}
_ZERO_SIZE = "WorkerConfig.allow_zero_size_inputs"
MAX_SIZE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Memory of a worker and of each of its GPUs, in bytes; the defaults are those of Clockwork's file.

    Attributes:
        weights_cache_size: of each GPU; a part of a page at its end is not used.
        page_size: of the weights cache.
        io_pool_size, workspace_pool_size: of each GPU; reported, not limiting.
        host_io_pool_size: of the worker; reported, not limiting.
        allow_zero_size_inputs: an inference may come without its input, and gives no output then.
    """

    weights_cache_size: int = 23_085_449_216
    page_size: int = 16_777_216
    io_pool_size: int = 536_870_912
    workspace_pool_size: int = 536_870_912
    host_io_pool_size: int = 536_870_912
    allow_zero_size_inputs: bool = True

    @property
    def total_pages(self) -> int:
        """Whole pages of the weights cache of a GPU."""
        return self.weights_cache_size // self.page_size


def read_worker_config(path: str | Path, source: str | None = None) -> WorkerConfig:
    """Read a worker's configuration file; what it does not say keeps its default.

    The switch ``allow_zero_size_inputs`` is off in a file that does not name it, as on the real worker.

    Raises:
        InputError: not readable, a setting that there is not, or a value that does not fit, with the line.
    """
    source = str(path) if source is None else source
    tree, lines = read_libconfig(path, source)
    flat = dict(_flat(tree))
    values: dict[str, int] = {}
    allow = False

    def wrong(key: str, problem: str) -> InputError:
        return InputError(problem, source=source, line=lines.get(key), path=key)

    for key, value in flat.items():
        if key in _SIZES:
            if type(value) is not int or not 0 < value <= MAX_SIZE:
                raise wrong(key, f"must be a number of bytes from 1 to {MAX_SIZE}, got {value!r}")
            values[_SIZES[key]] = value
        elif key == _ZERO_SIZE:
            if type(value) is not bool:
                raise wrong(key, f"must be true or false, got {value!r}")
            allow = value
        elif key in _UNUSED:
            if type(value) is not _UNUSED[key]:
                wanted = "a text" if _UNUSED[key] is str else "true or false"
                raise wrong(key, f"must be {wanted}, got {value!r}")
        else:
            known = ", ".join(name.removeprefix("WorkerConfig.") for name in (*_SIZES, *_UNUSED, _ZERO_SIZE))
            raise wrong(key, f"no such setting; inside WorkerConfig there are {known}")
    if "WorkerConfig" not in tree:
        raise InputError("has no group WorkerConfig", source=source)
    config = WorkerConfig(**values, allow_zero_size_inputs=allow)
    if not config.total_pages:
        key = _MEMORY + "weights_cache_size"
        raise wrong(key, "the weights cache is smaller than a page (weights_cache_page_size)")
    return config


def _flat(tree: Tree, path: str = "") -> Mapping[str, int | bool | str]:
    """Settings by path; an empty group counts as none."""
    found: dict[str, int | bool | str] = {}
    for name, value in tree.items():
        place = f"{path}.{name}" if path else name
        if isinstance(value, dict):
            found.update(_flat(value, place))
        else:
            found[place] = value
    return found
