"""Clockwork's model files: ``PREFIX.B.clockwork`` (binary, one a batch size) and ``PREFIX.measurements``.

The layout is that of Clockwork's artifact (OSDI'20), checked against files of real models: little endian; a
version (u32) stands before the whole and before every vector of structures; vectors and texts are a u32 count
and their items.
The kernels (``.so``) and the parameters are not needed and need not be there.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from batpy.base.errors import InputError
from batpy.workloads.serving.libconfig import read_libconfig
from batpy.workloads.serving.model import NoModelError, ServedModel

MAX_FILE = 2**26
MAX_NANOS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Spec:
    """What a ``.clockwork`` file says of a model at one batch size; bytes."""

    weights_size: int
    page_size: int
    num_weights_pages: int
    input_bytes: int
    output_bytes: int


class _Bytes:
    """Reads a file's structures one after the other."""

    def __init__(self, data: bytes, source: str) -> None:
        self._data = data
        self._source = source
        self._at = 0

    def numbers(self, form: str) -> tuple[int, ...]:
        """Little-endian numbers, in the letters of the module ``struct``."""
        size = struct.calcsize("<" + form)
        found: tuple[int, ...] = struct.unpack("<" + form, self.skip(size))
        return found

    def skip(self, size: int) -> bytes:
        """The next *size* bytes."""
        if size > len(self._data) - self._at:
            raise InputError(
                f"ends inside a structure, at byte {len(self._data)}; is it a whole .clockwork file?",
                source=self._source,
            )
        self._at += size
        return self._data[self._at - size : self._at]

    def version(self) -> None:
        """The version of what follows; there is only one."""
        at = self._at
        (version,) = self.numbers("I")
        if version != 1:
            raise InputError(f"byte {at}: version {version} of a structure, want 1", source=self._source)

    def count(self) -> int:
        """Length of a vector or text."""
        (count,) = self.numbers("I")
        return count

    def end(self) -> None:
        """Nothing may be left."""
        left = len(self._data) - self._at
        if left:
            raise InputError(f"has {left} bytes more than its structures", source=self._source)

    def tensors(self) -> int:
        """A vector of tensors; the sum of their sizes."""
        self.version()
        total = 0
        for _ in range(self.count()):
            _, _, _, size = self.numbers("QIQQ")
            total += size
            self.skip(8 * self.count())  # its shape
            self.skip(12)  # its type: code, bits, lanes
        return total


def parse_spec(data: bytes, source: str) -> Spec:
    """Decode a ``.clockwork`` file.

    Raises:
        InputError: the bytes are not those structures, exactly.
    """
    reader = _Bytes(data, source)
    reader.version()
    weights_size, _, _, _ = reader.numbers("QQQQ")
    for _ in range(reader.count()):
        reader.skip(reader.count())  # a function's name
    reader.version()
    for _ in range(reader.count()):
        _operation(reader)
    inputs, outputs = reader.tensors(), reader.tensors()
    (page_size,) = reader.numbers("Q")
    reader.version()
    pages = reader.count()
    for _ in range(pages):
        reader.skip(16)  # where it begins in the parameters, and how much of it is used
    reader.end()
    return Spec(weights_size, page_size, pages, inputs, outputs)


def _operation(reader: _Bytes) -> None:
    reader.tensors()
    reader.numbers("I")  # its function
    reader.version()
    for _ in range(reader.count()):
        reader.skip(20)  # a piece of workspace: page, offset, size


def read_spec(path: str | Path) -> Spec:
    """Read one ``.clockwork`` file.

    Raises:
        InputError: it cannot be read or decoded.
    """
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as why:
        raise InputError(f"cannot be read: {why.strerror or why}", source=str(path)) from None
    if len(data) > MAX_FILE:
        raise InputError(f"is larger than {MAX_FILE} bytes; it describes no model", source=str(path))
    return parse_spec(data, str(path))


def read_measurements(path: str | Path) -> dict[str, int]:
    """Durations in nanoseconds: ``weights``, and ``b1``, ``b2``, ... by batch size.

    Raises:
        InputError: not readable, or something else than durations in it, with the line.
    """
    tree, lines = read_libconfig(path)
    found: dict[str, int] = {}
    for name, value in tree.items():
        if name != "weights" and not (name[0] == "b" and name[1:].isdecimal()):
            raise InputError(
                "no such setting; want weights or b followed by a batch size",
                source=str(path),
                line=lines[name],
                path=name,
            )
        if type(value) is not int or not 0 <= value <= MAX_NANOS:
            raise InputError(
                f"must be a number of nanoseconds, got {value!r}",
                source=str(path),
                line=lines[name],
                path=name,
            )
        found[name] = value
    return found


def read_model(prefix: str | Path, *, require_profile: bool = True) -> ServedModel:
    """Read a model from its files.

    Batch sizes are 1, 2, 4, ... up to the first whose file is missing.

    Args:
        prefix: path of the files without their endings, such as ``models/resnet50_v2/model``.
        require_profile: without it, a model that has no measurements at all takes no time.

    Raises:
        NoModelError: the files are not there or cannot be used; with ``profile_only`` if just the
            measurements are missing.
    """
    try:
        specs = _specs(str(prefix))
        path = Path(f"{prefix}.measurements")
        if path.exists():
            times = read_measurements(path)
        elif require_profile:
            raise NoModelError(f"{path}: no such file; an emulated worker needs it", profile_only=True)
        else:
            times = {"weights": 0, **{f"b{size}": 0 for size in specs}}
        for name in ("weights", *(f"b{size}" for size in specs)):
            if name not in times:
                raise InputError(f"the setting {name!r} is missing", source=str(path))
    except InputError as why:
        raise NoModelError(str(why)) from None
    first = specs[1]
    return ServedModel(
        input_size=first.input_bytes,
        output_size=first.output_bytes,
        weights_size=first.weights_size,
        num_weights_pages=first.num_weights_pages,
        page_size=first.page_size,
        weights_load_time=times["weights"],
        exec_times=tuple((size, times[f"b{size}"]) for size in specs),
    )


def _specs(prefix: str) -> dict[int, Spec]:
    specs: dict[int, Spec] = {}
    size = 1
    while size == 1 or Path(f"{prefix}.{size}.clockwork").exists():
        specs[size] = read_spec(f"{prefix}.{size}.clockwork")
        size *= 2
    return specs
