"""The command that is running, as it was typed."""

from __future__ import annotations

import shlex

import typer


def command_line(context: typer.Context) -> str:
    """Return the whole command, as a shell takes it; "" if the command was called in another way."""
    return shlex.join(["maxmargin", *context.obj]) if isinstance(context.obj, tuple) else ""
