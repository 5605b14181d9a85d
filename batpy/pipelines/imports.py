"""Files and modules with a user's own policies and estimators, imported so that they register themselves."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from batpy.base.blame import FAILURES, blame
from batpy.base.errors import InputError


def import_users(names: Iterable[str]) -> list[ModuleType]:
    """Import each of *names*: a file (``mine.py``) or a module (``package.mine``, also from this folder).

    Raises:
        InputError: there is none, or it fails; with its own line.
    """
    return [_import_file(Path(name)) if name.endswith(".py") else _import_module(name) for name in names]


def _import_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError("no such file", source=str(path))
    name = f"batpy_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError("cannot be loaded as Python", source=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)  # it may import its neighbours
    try:
        spec.loader.exec_module(module)
    except FAILURES as why:
        del sys.modules[name]
        raise _told(why, name, str(path)) from why
    finally:
        sys.path.remove(folder)
    return module


def _import_module(name: str) -> ModuleType:
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as why:
        if why.name is not None and name.split(".", maxsplit=1)[0] == why.name.split(".")[0]:
            raise InputError("no such module; a file is named with its .py", source=name) from None
        raise _told(why, name, name) from why
    except FAILURES as why:
        raise _told(why, name, name) from why
    finally:
        sys.path.remove(here)


def _told(why: BaseException, module: str, source: str) -> BaseException:
    if isinstance(why, SyntaxError):
        return InputError(f"SyntaxError: {why.msg}", source=source, line=why.lineno)
    return blame(why, "importing it", module, source)
