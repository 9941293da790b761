"""What is written to the terminal: names are shown escaped, an error is one line, a closed output is no traceback."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def printable(text: object) -> str:
    """Return a text whose control characters, newlines included, are shown as escapes."""
    return "".join(one if one.isprintable() else escaped(one) for one in str(text))


def printable_lines(text: str) -> str:
    """Return lines whose other control characters are shown as escapes."""
    return "\n".join(map(printable, text.split("\n")))


def escaped(letter: str) -> str:
    """Return a character as an escape."""
    return letter.encode("unicode_escape").decode("ascii")


def complain(message: str) -> None:
    """Print one line on standard error, if it is open."""
    if message and sys.stderr is not None:
        with suppress(OSError):
            print(f"maxmargin: {printable(message.strip())}", file=sys.stderr, flush=True)


def flush_output() -> None:
    """Write what is left for standard output, so that an error is raised now and not at the end of the interpreter."""
    if sys.stdout is not None:
        sys.stdout.flush()


def abandon_output() -> None:
    """Let go of what standard output cannot take: the interpreter would complain about it at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
