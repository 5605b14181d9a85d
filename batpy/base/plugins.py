"""Plug-ins named on the command line: ``name[key=value,...]``, an explicit table, a user's file.

A plug-in is a class. Its options are the fields of a frozen dataclass: either the class attribute
``Options`` (then the class is called with one ``Options`` object), or the class itself if it is a dataclass.
Texts are converted to the types of the fields; what cannot be used is refused with the option named as the
user wrote it, ``easy[ordr=...]``, and the choices there are.
"""

from __future__ import annotations

import dataclasses
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from batpy.base.blame import FAILURES, blame, failed_method
from batpy.base.errors import InputError
from batpy.base.options import convert

T = TypeVar("T")


# --------------------------------------------------------------------------- name[key=value,...]


def parse_spec(text: str) -> tuple[str, dict[str, str]]:
    """Split ``easy[order=sjf,depth=40]`` into its name and its options, still as text.

    The name may be a path (``my/file.py:MyPolicy``). A value with a comma or a bracket in it is put in double
    quotes: ``replay[schedule="a,b.csv"]``. ``name`` and ``name[]`` are the same.

    Raises:
        InputError: naming the text and the rule it breaks.
    """
    name, bracket, rest = text.strip().partition("[")
    name = name.strip()
    if not name or "]" in name:
        raise InputError("want NAME or NAME[key=value,...]", source=repr(text))
    if not bracket:
        return name, {}
    if not rest.endswith("]"):
        raise InputError("the options do not end with ']'; want NAME[key=value,...]", source=repr(text))
    options: dict[str, str] = {}
    for part in _split_options(rest[:-1], text):
        key, equals, value = part.partition("=")
        key = key.strip()
        if not equals or not key.replace("_", "a").replace("-", "a").isalnum():
            raise InputError(f"option {part.strip()!r} is not key=value", source=repr(text))
        key = key.replace("-", "_")
        if key in options:
            raise InputError(f"option {key!r} is given twice", source=repr(text))
        options[key] = _unquote(value.strip())
    return name, options


def _split_options(inside: str, text: str) -> Iterator[str]:
    """Cut at commas outside double quotes."""
    part, quoted = "", False
    for letter in inside:
        if letter == '"':
            quoted = not quoted
        elif not quoted and letter in "[]":
            raise InputError(f"unexpected {letter!r}; put the value in double quotes", source=repr(text))
        if letter == "," and not quoted:
            yield part
            part = ""
        else:
            part += letter
    if quoted:
        raise InputError("a double quote is not closed", source=repr(text))
    if part.strip() or inside.strip().endswith(","):
        yield part


def _unquote(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return value[1:-1]
    return value


# --------------------------------------------------------------------------- options and plug-ins


def build_options(kind: type[T], values: Mapping[str, str], *, name: str = "", base: Path | None = None) -> T:
    """Make the options object *kind* (a dataclass) from texts.

    Args:
        name: of the plug-in, for messages.
        base: folder relative paths are taken from.

    Raises:
        InputError: an unknown key, a missing one, or a value that does not fit, named ``easy[order=...]``.
            A ``ValueError`` of the dataclass's own ``__post_init__`` is reported the same way.
    """
    hints = typing.get_type_hints(kind)
    known = [field for field in dataclasses.fields(kind) if field.init]  # type: ignore[arg-type]
    names = [field.name for field in known]
    ready: dict[str, Any] = {}
    for key, text in values.items():
        place = f"{name}[{key}={text}]"
        if key not in names:
            choices = f"choose from {', '.join(names)}" if names else "it has no options"
            raise InputError(f"no such option; {choices}", source=place)
        try:
            ready[key] = convert(text, hints[key], base=base)
        except (ValueError, TypeError) as why:
            raise InputError(str(why), source=place) from None
    for field in known:
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and field.name not in ready:
            raise InputError(f"the option {field.name!r} is needed", source=f"{name}[{field.name}=...]")
    try:
        return kind(**ready)
    except ValueError as why:
        given = ",".join(f"{key}={text}" for key, text in values.items())
        raise InputError(str(why), source=f"{name}[{given}]") from None


def build(target: Any, values: Mapping[str, str], *, name: str = "", base: Path | None = None) -> Any:
    """Make one plug-in from its class (or function) and the options as text.

    Raises:
        InputError: as ``build_options``; also when options are given to a plug-in that has none, or when a
            class that is not ours fails.
    """
    try:
        return _build(target, values, name=name, base=base)
    except FAILURES as why:
        module = getattr(target, "__module__", None) or ""
        method = failed_method(why, module, "__init__")
        if (blamed := blame(why, f"{method}()", module, name)) is why:
            raise
        raise blamed from why


def _build(target: Any, values: Mapping[str, str], *, name: str, base: Path | None) -> Any:
    options = getattr(target, "Options", None)
    if options is not None and dataclasses.is_dataclass(options):
        return target(build_options(typing.cast("type[Any]", options), values, name=name, base=base))
    if isinstance(target, type) and dataclasses.is_dataclass(target):
        return build_options(target, values, name=name, base=base)
    if values:
        key, text = next(iter(values.items()))
        raise InputError("no such option; it has no options", source=f"{name}[{key}={text}]")
    return target()


# --------------------------------------------------------------------------- the table


class Registry(Generic[T]):
    """An explicit table of plug-ins of one sort.

    Args:
        sort: what they are, for messages: ``"scheduler"``.
        group: entry point group other distributions use to add theirs; looked up only for a name that is
            not in the table.
        accepts: tells a plug-in's class from the other names of a user's file.
        wanted: what it accepts, for messages: ``"a class with decide(view)"``.
    """

    def __init__(
        self,
        sort: str,
        *,
        group: str | None = None,
        accepts: Callable[[Any], bool] | None = None,
        wanted: str = "",
    ) -> None:
        self.sort = sort
        self._wanted = wanted
        self._group = group
        self._accepts = accepts
        self._table: dict[str, Any] = {}

    def register(self, name: str, target: Any) -> None:
        """Add a plug-in: its class, or ``"package.module:Class"`` to be imported when it is asked for."""
        if name in self._table:
            raise ValueError(f"there is already a {self.sort} named {name!r}")
        self._table[name] = target

    def names(self) -> list[str]:
        """Every name that can be asked for, those of entry points included."""
        return sorted({*self._table, *(point.name for point in self._entry_points())})

    def lookup(self, name: str) -> Any:
        """The class behind a name, an entry point, or a path ``my/file.py[:ClassName]``.

        Raises:
            InputError: there is none, or it cannot be loaded.
        """
        target = self._table.get(name)
        if target is None:
            file, class_name = split_file(name)
            if file is not None:
                return load_file(file, class_name, sort=self.sort, accepts=self._accepts, wanted=self._wanted)
            target = self._from_entry_point(name)
        if isinstance(target, str):
            import importlib

            module, _, attribute = target.partition(":")
            target = self._table[name] = getattr(importlib.import_module(module), attribute)
        return target

    def make(self, spec: str, *, base: Path | None = None) -> T:
        """Make the plug-in a text such as ``easy[order=sjf]`` asks for.

        Args:
            base: folder that relative paths among the options (and of the plug-in's file) are taken from.

        Raises:
            InputError: the text, the name or an option cannot be used.
        """
        name, values = parse_spec(spec)
        file, class_name = split_file(name)
        if file is not None and base is not None:
            shown = f"{base / file}:{class_name}" if class_name else str(base / file)
            return typing.cast(T, build(self.lookup(shown), values, name=name, base=base))
        return typing.cast(T, build(self.lookup(name), values, name=name, base=base))

    def _entry_points(self) -> list[Any]:
        if self._group is None:
            return []
        from importlib.metadata import entry_points

        return list(entry_points(group=self._group))

    def _from_entry_point(self, name: str) -> Any:
        found = [point for point in self._entry_points() if point.name == name]
        if len(found) > 1:
            homes = ", ".join(sorted(point.value for point in found))
            raise InputError(
                f"two installed packages offer a {self.sort} of this name ({homes})", source=name
            )
        if not found:
            choices = ", ".join(self.names())
            raise InputError(
                f"no such {self.sort}; choose from {choices}, or give my/file.py:Class", source=name
            )
        try:
            return found[0].load()
        except FAILURES as why:
            raise InputError(f"entry point {found[0].value} cannot be loaded: {why!r}", source=name) from why


# --------------------------------------------------------------------------- a user's file


def split_file(name: str) -> tuple[Path | None, str | None]:
    """Split ``my/file.py:Class`` into path and class name; (None, None) if *name* is not a file's."""
    file, colon, class_name = name.rpartition(":")
    if not colon:
        file, class_name = name, ""
    if not file.endswith(".py"):
        return None, None
    return Path(file), class_name or None


def load_file(
    file: Path,
    class_name: str | None,
    *,
    sort: str,
    accepts: Callable[[Any], bool] | None = None,
    wanted: str = "",
) -> Any:
    """Run a user's file and return the class it defines.

    Args:
        class_name: may be None if the file defines exactly one class that *accepts* says yes to.
        wanted: what that is, for messages.

    Raises:
        InputError: the file is not there or fails, or the class is not in it.
    """
    module = _run_file(file)
    want = f"; want {wanted}" if wanted else ""
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and not value.__name__.startswith("_")
    ]
    found = [value for value in own if accepts is None or accepts(value)]
    names = ", ".join(value.__name__ for value in found) or "none"
    if class_name is not None:
        target = getattr(module, class_name, None)
        if target is None:
            raise InputError(f"defines no {class_name} (there are: {names}){want}", source=str(file))
        if accepts is not None and not accepts(target):
            raise InputError(f"{class_name} is not a {sort}{want}", source=str(file))
        return target
    if not found:
        raise InputError(f"want one {sort} in it, found none{want}", source=str(file))
    if len(found) > 1:
        raise InputError(f"want one {sort} in it, found {names}; say {file}:ClassName", source=str(file))
    return found[0]


def _run_file(file: Path) -> types.ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    if not file.is_file():
        raise InputError("no such file", source=str(file))
    # A prefix of ours, so that a user's ``queue.py`` does not hide the standard library's.
    name = f"batpy_user_{file.stem}"
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise InputError("cannot be loaded as Python", source=str(file))
    module = module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses and type hints look their module up here
    try:
        spec.loader.exec_module(module)
    except FAILURES as why:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
        problem = (
            "it leaves with sys.exit()" if isinstance(why, SystemExit) else f"{type(why).__name__}: {why}"
        )
        raise InputError(problem, source=str(file), line=_line(why, file)) from why
    return module


def _line(why: BaseException, file: Path) -> int | None:
    """Line of *file* that raised, if it is one of its own."""
    if isinstance(why, SyntaxError):
        return why.lineno
    line, trace = None, why.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
