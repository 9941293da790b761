"""Recognises collections of Dask, without importing Dask."""

from __future__ import annotations

from typing import Any


def is_collection(X: Any) -> bool:
    """Whether X is a Dask array, data frame or series."""
    return hasattr(type(X), "__dask_graph__") and hasattr(X, "to_delayed")


def is_blocks(X: Any) -> bool:
    """Whether X is a list of pairs (X, y) or triples (X, y, weights) of delayed blocks."""
    return (
        isinstance(X, (list, tuple))
        and len(X) > 0
        and all(isinstance(one, tuple) and len(one) in (2, 3) and is_delayed(one[0]) for one in X)
    )


def is_delayed(block: Any) -> bool:
    """Whether a block is computed later: delayed, or a future."""
    return type(block).__module__.partition(".")[0] in ("dask", "distributed")


def is_on_cluster(X: Any) -> bool:
    """Whether X can be trained on only by a cluster."""
    return is_collection(X) or is_blocks(X)
