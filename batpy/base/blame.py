"""Failures of code that a user wrote: told in one line with the user's own line, not as a bug of ours."""

from __future__ import annotations

from types import FrameType

from batpy.base.errors import BatpyError, InputError

FAILURES = (Exception, SystemExit)
"""What a user's code may end with; an interrupt is the user's own wish."""


def is_ours(module: str) -> bool:
    """True for a module of this package: what fails there is a bug."""
    return module == "batpy" or module.startswith("batpy.")


def blame(why: BaseException, what: str, module: str, source: str) -> BaseException:
    """What to raise instead of *why*.

    Args:
        what: the call that failed, such as ``decide()``.
        module: where the code of the user is.
        source: the plug-in as the user named it.

    Returns:
        an InputError with the plug-in, the call, file, line and error; *why* itself if it says where
        already, or if it is a bug of ours.
    """
    if isinstance(why, InputError) and why.source is None:
        return InputError(why.problem, source=source, line=why.line, path=why.path)
    if isinstance(why, BatpyError) or is_ours(module):
        return why
    return InputError(f"{what} failed{_place(why, module)}: {_told(why)}", source=source)


def _told(why: BaseException) -> str:
    return "it left with sys.exit()" if isinstance(why, SystemExit) else repr(why)


def _frames(why: BaseException) -> list[tuple[FrameType, int]]:
    """Frames and their lines on the way to the failure."""
    frames, trace = [], why.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    # The text of a dataclass's own __init__ is in no file.
    return [frame for frame in frames if not frame[0].f_code.co_filename.startswith("<")]


def _place(why: BaseException, module: str) -> str:
    """`` at FILE:LINE`` of the last frame that is of *module*, else of the last that is not ours, if any."""
    frames = _frames(why)
    theirs = [frame for frame in frames if frame[0].f_globals.get("__name__") == module]
    others = [frame for frame in frames if not is_ours(str(frame[0].f_globals.get("__name__")))]
    for frame, line in reversed(theirs or others):
        return f" at {frame.f_code.co_filename.rpartition('/')[2]}:{line}"
    return ""


def failed_method(why: BaseException, module: str, default: str) -> str:
    """Name of the function of *module* whose call led to the failure; *default* if none did."""
    for frame, _ in _frames(why):
        if frame.f_globals.get("__name__") == module:
            return frame.f_code.co_name
    return default
