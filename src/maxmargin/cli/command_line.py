"""The command that is running, as it was typed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("arguments", default=())


@contextmanager
def running(arguments: Sequence[str]) -> Iterator[None]:
    """Remember the arguments while a command runs."""
    token = _ARGUMENTS.set(tuple(arguments))
    try:
        yield
    finally:
        _ARGUMENTS.reset(token)


def command_line() -> str:
    """Return the whole command, as a shell takes it; "" if a command was called as a function."""
    arguments = _ARGUMENTS.get()
    return shlex.join(["maxmargin", *arguments]) if arguments else ""
