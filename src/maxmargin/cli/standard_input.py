"""`-` as a file: standard input is copied to a temporary file, because training reads its data more than once."""

from __future__ import annotations

import atexit
from contextlib import ExitStack
from pathlib import Path


def saved_input(path: Path) -> Path:
    """Return the path; for `-` that of a temporary copy of standard input, which is removed at the end."""
    if str(path) != "-":
        return path
    import shutil
    import sys

    from maxmargin.errors import FileError
    from maxmargin.system.temporary_files import temporary_folder

    if sys.stdin is None or sys.stdin.isatty():
        raise FileError("-: standard input is a terminal: pipe data into it, or name a file")
    stack = ExitStack()
    atexit.register(stack.close)
    copy = stack.enter_context(temporary_folder()) / "standard-input"
    with copy.open("wb") as stream:
        shutil.copyfileobj(sys.stdin.buffer, stream, 1 << 20)
    return copy
