"""maxmargin inspect MODEL_OR_DATA: describe a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.options import Json, Labels, takes
from maxmargin.cli.standard_input import saved_input

MOST_LABELS = 40  # labels that are shown one by one, in about ten lines of a terminal


@takes("label", "encode", "columns", "drop", "kinds", "on_bad_line", "zero_based")
def inspect(
    file: Annotated[
        Path,
        typer.Argument(metavar="MODEL_OR_DATA", callback=saved_input, help="A model, or data that `train` can read."),
    ],
    labels: Labels = None,
    json: Json = False,
    **given: Any,
) -> None:
    """Describe a model or a data file."""
    import json as jsonlib

    from maxmargin.cli.model_first import is_model
    from maxmargin.cli.output import printable
    from maxmargin.cli.summary import describe_model
    from maxmargin.models.linear import load

    facts = describe_model(load(file)) if is_model(file) else describe_data(file, labels, given)
    if json:
        print(jsonlib.dumps(facts))
    else:
        tuning = facts.pop("tuning", None)
        if facts["kind"] == "data":
            facts["labels"] = first_labels(facts["labels"])
        table = [*lines_of_table(facts), *([] if tuning is None else tuning_lines(tuning))]
        own = [f"{name.replace('_', ' '):<16} {printable(shown(value))}" for name, value in facts.items()]
        print("\n".join([*own, *table]))


def lines_of_table(facts: dict[str, Any]) -> list[str]:
    """Take what the columns of a table become out of the facts, and return it as lines."""
    from maxmargin.cli.summary import table_lines

    if "encoder" in facts:
        return table_lines({"encoder": facts.pop("encoder")})
    if facts["kind"] == "data" and "columns" in facts:
        return ["columns, and what they become", *facts.pop("columns")]
    return []


def first_labels(counts: dict[str, int]) -> Any:
    """Return the labels with their counts; of many only how many they are, with the first and the last."""
    if len(counts) <= MOST_LABELS:
        return counts
    names = list(counts)
    return f"{len(names):,} different ones, from {names[0]} to {names[-1]}"


def tuning_lines(saved: Any) -> list[str]:
    """Return the table of the search that chose the parameters of a model."""
    from maxmargin.cli.tuning_table import chosen_line, table_lines
    from maxmargin.tuning.tuning import tuning_in

    tuning = tuning_in(saved)
    advice = [tuning.advice] if tuning.advice else []
    return ["tuning", *table_lines(tuning), *([] if tuning.chosen is None else [chosen_line(tuning)]), *advice]


def describe_data(file: Path, labels_file: Path | None, reading: dict[str, Any]) -> dict[str, Any]:
    """Return the sizes, labels and range of values of a data file, and what the columns of a table become."""
    import numpy as np
    from scipy import sparse

    from maxmargin.cli.columns import column_lines
    from maxmargin.cli.reading import files_with
    from maxmargin.data.labels import show
    from maxmargin.data.rows import matrix_of

    files = files_with(file, labels_file, reading)
    rows, y = files.load()
    X = matrix_of(rows)
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
        **({"columns": column_lines(files.encoder)} if files.encoder is not None else {}),
    }


def shown(value: Any) -> str:
    """Format a value for people."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {shown(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else f"{value}"
