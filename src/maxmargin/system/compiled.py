"""Functions compiled by Numba, with a cache of machine code that cannot become stale.

Numba's cache checks only the file of the compiled function. After an edit in a module that it imports, or an upgrade,
it would still run the old machine code. So the cache folder is named after a digest of the source files of all packages
that compiled functions are in or import from: changed sources use another folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.extending import overload

COMPILED = ("data", "kernels", "problems", "solvers", "system", "testing")  # packages with compiled functions
UNUSED_SECONDS = 30 * 24 * 3600  # Machine code of other versions is removed after a month without use.
DIGEST = re.compile("[0-9a-f]{20}")


REORDERED = {"reassoc", "contract"}  # sums may be reordered, so that they are vectorised
NEVER_NAN = {"nnan", "nsz", *REORDERED}  # numbers are never NaN, so that a search for the maximum is vectorised too


def compiled(function: Callable[..., Any], freedom: set[str] | None = None) -> Callable[..., Any]:
    """Compile `function` on its first call, without the GIL, with IEEE division, and cache the machine code.

    `freedom` says how arithmetic may be changed: not at all by default.
    """
    folder = cache_folder()
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder
    options = {"error_model": "numpy", "fastmath": freedom or False, "cache": bool(folder) and has_file(function)}
    try:
        kernel = numba.njit(nogil=True, **options)(function)
        name_uniquely(kernel._cache)
        kernel._cache = Forgiving(kernel._cache)
        return kernel  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = before


def compiled_sums(function: Callable[..., Any]) -> Callable[..., Any]:
    """Like `compiled`, but sums may be reordered."""
    return compiled(function, REORDERED)


def compiled_search(function: Callable[..., Any]) -> Callable[..., Any]:
    """Like `compiled`, for numbers that are never NaN; sums may be reordered."""
    return compiled(function, NEVER_NAN)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` inline into its compiled callers: a call would cost as much as a short row."""
    return numba.njit(nogil=True, error_model="numpy", forceinline=True)(function)  # type: ignore[no-any-return]


def summing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Like `kernel`, but sums may be reordered, so that they are vectorised."""
    options = {"fastmath": REORDERED, "error_model": "numpy", "forceinline": True}
    return numba.njit(nogil=True, **options)(function)  # type: ignore[no-any-return]


def exact(function: Callable[..., Any]) -> Callable[..., Any]:
    """Like `kernel`, but with fused multiply-add. Nothing else may change, because the code relies on rounding."""
    options = {"fastmath": {"contract"}, "error_model": "numpy", "forceinline": True}
    return numba.njit(nogil=True, **options)(function)  # type: ignore[no-any-return]


def searching(function: Callable[..., Any]) -> Callable[..., Any]:
    """Like `kernel`, for numbers that are never NaN, so that a search for the maximum is vectorised."""
    options = {"fastmath": NEVER_NAN, "error_model": "numpy", "forceinline": True}
    return numba.njit(nogil=True, **options)(function)  # type: ignore[no-any-return]


def inlined(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Declare the compiled implementation of `verb`: a lambda for the argument types, inlined at each call.

    Passing a tuple of arrays to a function changes their reference counts, which costs as much as a short row. The
    lambda unpacks the tuple and calls a compiled function of arrays and numbers, which avoids this.
    """
    return overload(verb, inline="always", jit_options={"error_model": "numpy"})  # type: ignore[no-any-return]


def has_file(function: Callable[..., Any]) -> bool:
    """Whether the source of `function` is in a file, or a notebook that Numba knows; else its cache would refuse it."""
    name = function.__code__.co_filename
    return Path(name).exists() or "ipykernel" in name


def name_uniquely(cache: Any) -> None:
    """Give each file of machine code a name that no other process uses.

    Numba numbers them. Two processes that compile the same function for different types at the same time would both
    take the next number, and the index would name the machine code of other types.
    """
    files = getattr(cache, "_cache_file", None)
    if files is not None:
        files._data_name = lambda number: files._data_name_pattern.format(number=secrets.randbits(63))


class Forgiving:
    """Numba's cache without its exceptions: unreadable code is compiled again, unwritable code is not cached.

    Code for a NamedTuple from outside the package is not cached: the digest does not cover its source file.
    """

    def __init__(self, kept: Any) -> None:
        self.kept = kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kept, name)

    def load_overload(self, *what: Any) -> Any:
        """Return the cached machine code, or None."""
        try:
            return self.kept.load_overload(*what) if is_covered(what[0]) else None
        except Exception:
            return None

    def save_overload(self, *what: Any) -> None:
        """Cache the machine code, if possible."""
        with suppress(Exception):
            if is_covered(what[0]):
                self.kept.save_overload(*what)


def is_covered(signature: Any) -> bool:
    """Whether the digest covers all sources of the code that was compiled for these types."""
    modules = [kind.__module__.split(".") for one in signature for kind in named_tuples(one)]
    return all(names[0] == "maxmargin" and names[1] in COMPILED for names in modules)


def named_tuples(kind: Any) -> Iterator[type]:
    """Yield the NamedTuples in a Numba type, including nested ones."""
    if isinstance(kind, numba.types.BaseNamedTuple):
        yield kind.instance_class
    for inner in kind.types if isinstance(kind, numba.types.BaseTuple) else ():
        yield from named_tuples(inner)


@cache
def cache_folder() -> str:
    """Return the cache folder for the current sources, or "" if none can be written (then nothing is cached)."""
    folder = cache_root() / source_digest()
    try:
        if not folder.exists():
            forget_old_versions(folder.parent)
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        with tempfile.TemporaryFile(dir=folder):
            return str(folder)
    except OSError:
        return ""


def forget_old_versions(root: Path) -> None:
    """Remove the machine code of versions that have not been used for a month."""
    for folder in root.glob("*"):
        is_ours = DIGEST.fullmatch(folder.name) and folder.is_dir()
        if is_ours and time.time() - folder.stat().st_mtime > UNUSED_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def cache_root() -> Path:
    """Return the folder for caches on this system; `MAXMARGIN_CACHE_DIR` overrides it."""
    if chosen := os.environ.get("MAXMARGIN_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", tempfile.gettempdir()))
    elif sys.platform == "darwin":
        base = Path("~/Library/Caches").expanduser()
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()
    return base / "maxmargin"


def source_digest() -> str:
    """Return a digest of the names and contents of the Python files of the packages with compiled functions."""
    package = Path(__file__).parent.parent
    digest = hashlib.blake2b(digest_size=10)
    for path in sorted(path for folder in COMPILED for path in (package / folder).rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def holds(value: Any, kind: type) -> bool:
    """Whether the Numba type `value` is the NamedTuple `kind`. Verbs choose their implementation by this."""
    return isinstance(value, numba.types.BaseNamedTuple) and value.instance_class is kind
