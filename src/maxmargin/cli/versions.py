"""maxmargin version: the versions, the machine and the folders that a bug report needs."""

from __future__ import annotations

from typing import Any

from maxmargin.cli.options import Json

PACKAGES = (
    "numpy",
    "scipy",
    "numba",
    "llvmlite",
    "scikit-learn",
    "pyarrow",
    "narwhals",
    "safetensors",
    "typer",
    "rich",
)
OPTIONAL = ("dask", "distributed", "matplotlib", "pandas", "polars")


def version(json: Json = False) -> None:
    """Print the versions of maxmargin and of what it uses, the number of cores, and the cache folder."""
    import json as jsonlib

    facts = described()
    print(jsonlib.dumps(facts) if json else "\n".join(f"{name:<16} {value}" for name, value in facts.items()))


def described() -> dict[str, Any]:
    """Return what a bug report needs."""
    import platform

    from maxmargin import __version__
    from maxmargin.system.compiled import cache_folder
    from maxmargin.system.threads import thread_count

    return {
        "maxmargin": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: found for name in PACKAGES + OPTIONAL if (found := installed(name))},
        "cores": thread_count(None),
        "cache folder": cache_folder() or "none: code is compiled anew in each process",
    }


def installed(name: str) -> str:
    """Return the version of a package without importing it; "" if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""
