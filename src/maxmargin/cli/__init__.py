"""The command line: one file for each command, no mathematics, no tracebacks.

Exit codes: 0 success (training converged), 1 an error, 3 training stopped early, 143 training stopped by SIGTERM, 129
by SIGHUP. The model is saved in all cases but an error.
"""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from types import FrameType

from maxmargin.cli.output import abandon_output, flush_output
from maxmargin.cli.output import complain as complain

INTERRUPTED = 130  # exit code of the option parser after Ctrl-C
BY_SIGNAL = 128  # plus the number of the signal: exit code after a signal, as in shells


def main() -> None:
    """Run the command line and exit with its exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, on_interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # labels that the terminal cannot show are escaped
    code = run(sys.argv[1:])
    if signal.getsignal(signal.SIGINT) is on_interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: Ctrl-C would only leave a traceback
    sys.exit(code)


def on_interrupt(number: int, frame: FrameType | None) -> None:
    """Handle Ctrl-C: raise KeyboardInterrupt; exit at once during an import, which may not survive an exception."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, b"maxmargin: interrupted\n")
            os._exit(1)
        frame = frame.f_back
    raise KeyboardInterrupt


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code. Errors are one line; MAXMARGIN_DEBUG=1 shows the traceback."""
    try:
        code = command(arguments)
        flush_output()
        if code != INTERRUPTED:
            return code
        complain("interrupted")
    except KeyboardInterrupt:
        complain("interrupted")
    except BrokenPipeError:
        pass  # the reader has seen enough
    except Exception as error:
        if os.environ.get("MAXMARGIN_DEBUG"):
            raise
        complain(explain(error))
    abandon_output()
    return 1


def command(arguments: list[str]) -> int:
    """Run one command and return its exit code. After a signal that ended a fit, the code comes from the signal."""
    import warnings

    from maxmargin.cli.app import app, options_with_values
    from maxmargin.cli.command_line import running
    from maxmargin.cli.libsvm_habits import rewritten
    from maxmargin.errors import CheckpointWarning
    from maxmargin.loop.interrupts import postponed

    with running(arguments), postponed() as signals, warnings.catch_warnings():
        warnings.simplefilter("always", CheckpointWarning)  # as an error it would lose the model
        warnings.showwarning = in_one_line
        arguments, note = rewritten(arguments, options_with_values)
        complain(note and f"note: {note}")
        try:
            code = int(app(arguments, prog_name="maxmargin", standalone_mode=False) or 0)
        except SystemExit as left:  # of the option parser, after the script of a completion
            code = int(left.code or 0)
        ended = [number for number in signals if number != signal.SIGINT]
        signals.clear()
        return BY_SIGNAL + ended[0] if ended else code


def in_one_line(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Show a warning without its place in the source code."""
    complain(f"warning: {message}")


def explain(error: Exception) -> str:
    """Return the message for the user: our own, the option parser's, or that of an internal error."""
    from maxmargin.errors import MaxmarginError

    if isinstance(error, MaxmarginError):
        return str(error)
    if hasattr(error, "format_message"):
        said = error.format_message()  # empty if the help was shown instead
        return said and f"{said} (maxmargin --help lists what there is)"
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}cannot read or write: {error.strerror or error}"
    if isinstance(error, MemoryError):
        return "out of memory: the data do not fit"
    return f"internal error, {type(error).__name__}: {error} (MAXMARGIN_DEBUG=1 shows where; please report it)"
