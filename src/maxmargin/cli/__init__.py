"""The command line: one file a command, no mathematics, no tracebacks.

Exit codes: 0 all is well (training converged), 1 an error, 3 training stopped early (the model is saved all the same),
143 it was stopped by SIGTERM, 129 by SIGHUP (the same).
"""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from types import FrameType

INTERRUPTED = 130  # what the option parser makes of Ctrl-C
BY_SIGNAL = 128  # plus the number of the signal, as shells count


def main() -> None:
    """Run the command line and leave with its exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, on_interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a label that the terminal cannot show is no error
    code = run(sys.argv[1:])
    if signal.getsignal(signal.SIGINT) is on_interrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: Ctrl-C would only leave a traceback
    sys.exit(code)


def on_interrupt(number: int, frame: FrameType | None) -> None:
    """Ctrl-C: leave at once while a module is imported, which may not survive an exception; else KeyboardInterrupt."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os.write(2, b"maxmargin: interrupted\n")
            os._exit(1)
        frame = frame.f_back
    raise KeyboardInterrupt


def run(arguments: list[str]) -> int:
    """Run one command; what goes wrong is said in one line. MAXMARGIN_DEBUG=1 lets the traceback through."""
    try:
        code = command(arguments)
        if code != INTERRUPTED:
            return code
        complain("interrupted")
    except KeyboardInterrupt:
        complain("interrupted")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        if os.environ.get("MAXMARGIN_DEBUG"):
            raise
        complain(explain(error))
    return 1


def command(arguments: list[str]) -> int:
    """Run one command to its end; a signal that has ended a fit decides the exit code after all is saved."""
    import warnings

    from maxmargin.cli.app import app
    from maxmargin.errors import CheckpointWarning
    from maxmargin.loop.interrupts import postponed

    with postponed() as signals, warnings.catch_warnings():
        warnings.simplefilter("always", CheckpointWarning)  # as an error it would cost the model
        warnings.showwarning = in_one_line
        code = int(app(arguments, prog_name="maxmargin", standalone_mode=False) or 0)
        ended = [number for number in signals if number != signal.SIGINT]
        signals.clear()
        return BY_SIGNAL + ended[0] if ended else code


def in_one_line(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Show a warning without the place in the source that gave it."""
    complain(f"warning: {message}")


def explain(error: Exception) -> str:
    """What to tell the user: our own words, the option parser's, or that it is our mistake."""
    from maxmargin.errors import MaxmarginError

    if isinstance(error, MaxmarginError):
        return str(error)
    if hasattr(error, "format_message"):
        said = error.format_message()  # nothing, where the help was shown instead
        return said and f"{said} (maxmargin --help lists what there is)"
    if isinstance(error, OSError):
        return f"cannot read or write: {error.strerror or error}"
    if isinstance(error, MemoryError):
        return "out of memory: the data do not fit"
    return f"internal error, {type(error).__name__}: {error} (MAXMARGIN_DEBUG=1 shows where; please report it)"


def complain(message: str) -> None:
    """One line on standard error."""
    if message:
        print(f"maxmargin: {' '.join(message.split())}", file=sys.stderr)
