"""The command line: one file a command, no mathematics, no tracebacks.

Exit codes: 0 all is well (training converged), 1 an error, 3 training stopped early (the model is saved all the same).
"""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

INTERRUPTED = 130  # what the option parser makes of Ctrl-C


def main() -> None:
    """Run the command line and leave with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a label that the terminal cannot show is no error
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; what goes wrong is said in one line. MAXMARGIN_DEBUG=1 lets the traceback through."""
    try:
        from maxmargin.cli.app import app

        code = app(arguments, prog_name="maxmargin", standalone_mode=False) or 0
        if code != INTERRUPTED:
            return int(code)
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
