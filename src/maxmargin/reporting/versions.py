"""Versions of the programs that a result depends on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("numpy", "scipy", "numba", "pyarrow")


def versions() -> dict[str, str]:
    """Return the versions of this package, of Python and of the packages that compute."""
    from maxmargin import __version__

    return {"maxmargin": __version__, "Python": platform.python_version(), **{name: found(name) for name in PACKAGES}}


def found(name: str) -> str:
    """Return the version of a package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
