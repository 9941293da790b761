"""Running out of memory as an error of one line: how much was requested, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from maxmargin.errors import DataError
from maxmargin.system.budget import shown_size
from maxmargin.system.threads import free_memory


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turn a MemoryError, whose text may name the requested size, into a DataError."""
    try:
        yield
    except MemoryError as error:
        asked = " ".join(str(error).split()) or "the size is not known"
        raise DataError(
            f"out of memory ({asked}; {shown_size(free_memory())} are free): give fewer rows or features, "
            "or train from a file with memory='2GB', say"
        ) from error
