"""Compiled Python, with a cache of machine code that cannot go stale.

Numba's own cache looks only at the file of the function that was compiled: an edit in a module it imports, or an
upgrade in place, would go on running the old machine code. Here the cache lives in a folder named after a digest
of every source file of the package, so other sources mean another folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.extending import overload

UNUSED_SECONDS = 30 * 24 * 3600
DIGEST = re.compile("[0-9a-f]{20}")


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` on its first call: no GIL held, IEEE division, machine code kept for the next process."""
    folder = cache_folder()
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = folder
    try:
        kernel = numba.njit(nogil=True, error_model="numpy", cache=bool(folder) and has_file(function))(function)
        kernel._cache = Forgiving(kernel._cache)
        return kernel  # type: ignore[no-any-return]
    finally:
        numba.config.CACHE_DIR = before


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` into whatever compiled function calls it: a call would cost as much as a short row."""
    return numba.njit(nogil=True, error_model="numpy", forceinline=True)(function)  # type: ignore[no-any-return]


def summing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, where sums may be added in any order, so that they are vectorised."""
    options = {"fastmath": {"reassoc", "contract"}, "error_model": "numpy", "forceinline": True}
    return numba.njit(nogil=True, **options)(function)  # type: ignore[no-any-return]


def exact(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, where a product and a sum may be one operation but nothing else may change: rounding is made use of."""
    options = {"fastmath": {"contract"}, "error_model": "numpy", "forceinline": True}
    return numba.njit(nogil=True, **options)(function)  # type: ignore[no-any-return]


def searching(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, where no number is NaN, so that a search for the largest is vectorised."""
    options = {"fastmath": {"nnan", "nsz", "reassoc", "contract"}, "error_model": "numpy", "forceinline": True}
    return numba.njit(nogil=True, **options)(function)  # type: ignore[no-any-return]


def inlined(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Say how compiled code does `verb`: by a lambda for the types of its arguments, put where the verb is called.

    A call with a tuple of arrays counts up and down how often each of them is held, which costs as much as a short row.
    The lambda takes the tuple apart and calls a compiled function of arrays and numbers, which does not.
    """
    return overload(verb, inline="always", jit_options={"error_model": "numpy"})  # type: ignore[no-any-return]


def has_file(function: Callable[..., Any]) -> bool:
    """Whether the source of `function` is in a file, or a notebook that Numba knows; else its cache would refuse it."""
    name = function.__code__.co_filename
    return Path(name).exists() or "ipykernel" in name


class Forgiving:
    """Numba's cache, less its exceptions: what cannot be read is compiled anew, what cannot be written is not kept.

    Code for a NamedTuple from outside the package is not kept: the digest does not cover the file it comes from.
    """

    def __init__(self, kept: Any) -> None:
        self.kept = kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kept, name)

    def load_overload(self, *what: Any) -> Any:
        """The machine code, or None."""
        try:
            return self.kept.load_overload(*what) if is_covered(what[0]) else None
        except Exception:
            return None

    def save_overload(self, *what: Any) -> None:
        """Keep the machine code, if that is possible."""
        with suppress(Exception):
            if is_covered(what[0]):
                self.kept.save_overload(*what)


def is_covered(signature: Any) -> bool:
    """Whether the digest covers whatever the code for these types was compiled from."""
    kinds = [one.instance_class for one in signature if isinstance(one, numba.types.BaseNamedTuple)]
    return all(kind.__module__.partition(".")[0] == "maxmargin" for kind in kinds)


@cache
def cache_folder() -> str:
    """The folder for these sources' machine code, or "" where none can be written (then nothing is kept)."""
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
    """Remove the machine code of sources that have not run for a while."""
    for folder in root.glob("*"):
        is_ours = DIGEST.fullmatch(folder.name) and folder.is_dir()
        if is_ours and time.time() - folder.stat().st_mtime > UNUSED_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def cache_root() -> Path:
    """Where caches go on this system; `MAXMARGIN_CACHE_DIR` overrides."""
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
    """A digest of every Python file of the package, by name and content."""
    package = Path(__file__).parent.parent
    digest = hashlib.blake2b(digest_size=10)
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def holds(value: Any, kind: type) -> bool:
    """Whether Numba's type `value` is that of the NamedTuple `kind`: how a verb picks its compiled form."""
    return isinstance(value, numba.types.BaseNamedTuple) and value.instance_class is kind
