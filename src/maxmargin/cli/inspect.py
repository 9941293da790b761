"""maxmargin inspect MODEL_OR_DATA: describe a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.options import Json, Labels, takes


@takes("label", "on_bad_line", "zero_based")
def inspect(
    file: Annotated[Path, typer.Argument(metavar="MODEL_OR_DATA", help="A model, or data that `train` can read.")],
    labels: Labels = None,
    json: Json = False,
    **given: Any,
) -> None:
    """Describe a model or a data file."""
    import json as jsonlib

    from maxmargin.cli.summary import describe_model
    from maxmargin.models.liblinear import is_liblinear_model
    from maxmargin.models.libsvm import is_libsvm_model
    from maxmargin.models.linear import load
    from maxmargin.system.tensor_file import looks_like_tensors

    is_model = looks_like_tensors(file) or is_libsvm_model(file) or is_liblinear_model(file)
    facts = describe_model(load(file)) if is_model else describe_data(file, labels, given)
    if json:
        print(jsonlib.dumps(facts))
    else:
        print("\n".join(f"{name.replace('_', ' '):<16} {shown(value)}" for name, value in facts.items()))


def describe_data(file: Path, labels_file: Path | None, reading: dict[str, Any]) -> dict[str, Any]:
    """Return the sizes, labels and range of values of a data file."""
    import numpy as np
    from scipy import sparse

    from maxmargin.data.files import read
    from maxmargin.data.labels import show

    X, y = read(file, labels_file, **reading)
    labels, counts = np.unique(y, return_counts=True)
    X = sparse.csr_array(X)
    n, values = len(y), X.data
    return {
        "kind": "data",
        "rows": n,
        "features": X.shape[1],
        "values": int(values.size),
        "per_row": round(values.size / n, 2),
        "empty_rows": int((np.diff(X.indptr) == 0).sum()),
        "smallest": float(values.min()) if values.size else 0.0,
        "largest": float(values.max()) if values.size else 0.0,
        "labels": {show(label): int(count) for label, count in zip(labels, counts, strict=True)},
    }


def shown(value: Any) -> str:
    """Format a value for people."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {shown(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else f"{value}"
