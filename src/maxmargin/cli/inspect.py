"""maxmargin inspect MODEL_OR_DATA: what is in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.options import Json, ZeroBased


def inspect(
    file: Annotated[Path, typer.Argument(metavar="MODEL_OR_DATA", help="A model, or data in LIBSVM format.")],
    zero_based: ZeroBased = False,
    json: Json = False,
) -> None:
    """Say what is in a model or in a data file."""
    import json as jsonlib

    from maxmargin.cli.summary import describe_model
    from maxmargin.libsvm_model import is_libsvm_model
    from maxmargin.model import load
    from maxmargin.tensorfile import looks_like_tensors

    is_model = looks_like_tensors(file) or is_libsvm_model(file)
    facts = describe_model(load(file)) if is_model else describe_data(file, zero_based)
    if json:
        print(jsonlib.dumps(facts))
    else:
        print("\n".join(f"{name.replace('_', ' '):<16} {shown(value)}" for name, value in facts.items()))


def describe_data(file: Path, zero_based: bool) -> dict[str, Any]:
    """Sizes, labels and values of a data file."""
    import numpy as np

    from maxmargin.labels import show
    from maxmargin.rows.text import read_text

    rows, y = read_text(file, zero_based=zero_based)
    labels, counts = np.unique(y, return_counts=True)
    n, values = len(y), rows.values
    return {
        "kind": "data",
        "rows": n,
        "features": rows.d,
        "values": int(values.size),
        "per_row": round(values.size / n, 2),
        "empty_rows": int((np.diff(rows.indptr) == 0).sum()),
        "smallest": float(values.min()) if values.size else 0.0,
        "largest": float(values.max()) if values.size else 0.0,
        "labels": {show(label): int(count) for label, count in zip(labels, counts, strict=True)},
    }


def shown(value: Any) -> str:
    """A fact in words."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {shown(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else f"{value}"
