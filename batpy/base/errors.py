"""The families of errors a user can meet, and the exit code each one means.

Refusals are values (see ``batpy.simulator.gate``), breaches and bad input are these exceptions, bugs are
assertions. Every text is one line that says where, which rule, and what to do.
"""

from __future__ import annotations

LONGEST_LINE = 500
"""Characters of a complaint; what quotes a whole file is cut in its middle."""

EXIT_DONE = 0
EXIT_BAD_INPUT = 2
EXIT_PEER = 3


class BatpyError(Exception):
    """Root of everything this package raises on purpose."""

    exit_code = EXIT_BAD_INPUT


class InputError(BatpyError):
    """A file, an option or a value given by the user cannot be used.

    Args:
        problem: what is wrong and which rule it breaks, without the place.
        source: the file (or option) as the user named it.
        line: line number in that file, from 1.
        path: path of the field inside the file, such as ``jobs[3].walltime``.
    """

    def __init__(
        self, problem: str, *, source: str | None = None, line: int | None = None, path: str | None = None
    ) -> None:
        super().__init__(problem, source, line, path)
        self.problem = problem
        self.source = source
        self.line = line
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_input_error, (type(self), self.problem, self.source, self.line, self.path)

    def __str__(self) -> str:
        place = self.source or ""
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        return ": ".join(part for part in (place, self.path, self.problem) if part)


def _rebuild_input_error(
    kind: type[InputError], problem: str, source: str | None, line: int | None, path: str | None
) -> InputError:
    return kind(problem, source=source, line=line, path=path)


class ProtocolError(BatpyError):
    """The conversation between two processes broke its rules."""


class LocalProtocolError(ProtocolError):
    """Our side was about to say something illegal: a bug of ours."""


class RemoteProtocolError(ProtocolError):
    """The peer said something illegal."""


class PeerError(BatpyError):
    """A peer never came, died, or stayed silent past its deadline."""

    exit_code = EXIT_PEER


def one_line(what: object) -> str:
    """*what* as one line that a terminal can show: no control characters, no more than 500 letters.

    An exception without a text is told by its name.
    """
    text = " ".join(str(what).split())
    if len(text) > LONGEST_LINE:
        text = f"{text[: LONGEST_LINE - 100]} ... {text[-95:]}"
    if not text.isprintable():
        text = "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
    return text or type(what).__name__
