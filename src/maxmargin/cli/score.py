"""maxmargin score MODEL FILE: measure the quality of a model on the rows of FILE."""

from __future__ import annotations

from typing import Any

from maxmargin.cli.options import DataFile, Json, Labels, ModelFile, takes


@takes("threads", "zero_based", "label")
def score(model: ModelFile, file: DataFile, labels: Labels = None, json: Json = False, **given: Any) -> None:
    """Compare the model's predictions with the labels in FILE.

    Prints the accuracy of a classifier, R² and the mean errors of a regression model, or the share of outliers for
    novelty detection.
    """
    import json as jsonlib

    from maxmargin.cli.model_first import model_first
    from maxmargin.cli.reading import blocks_for
    from maxmargin.models.input_files import task_of
    from maxmargin.models.linear import load

    model, file = model_first(model, file)
    loaded = load(model)
    task = task_of(loaded.training)
    blocks = blocks_for(loaded, file, labels, labelled=task != "novelty", **given)
    measure = {"regress": regression, "novelty": novelty, "classify": accuracy}[task]
    figures, text = measure(loaded, blocks, given.get("threads"), str(file))
    print(jsonlib.dumps(figures) if json else text)


def accuracy(model: Any, blocks: Any, threads: int | None, name: str) -> tuple[dict[str, Any], str]:
    """Return the accuracy of a classifier, as figures and as text."""
    import numpy as np

    from maxmargin.cli.output import complain
    from maxmargin.reporting.facts.decisions import class_numbers

    right = n = unknown = 0
    names = set[str]()
    for block in blocks:
        right, n = right + agree(model.predict(block.rows, threads), block.labels), n + len(block.labels)
        codes, found = class_numbers(np.asarray(block.labels), np.asarray(model.classes))
        unknown, names = unknown + int((codes < 0).sum()), names | found
    if unknown:
        complain(
            f"note: {name}: {unknown:,} of {n:,} rows have a label that is no class of the model, {min(names)!r} say"
        )
    return {"accuracy": right / n, "correct": right, "n": n}, f"accuracy {right / n:.4%} ({right:,} of {n:,} rows)"


def regression(model: Any, blocks: Any, threads: int | None, name: str) -> tuple[dict[str, Any], str]:
    """Return the errors of a regression model, as figures and as text."""
    from maxmargin.errors import DataError

    pairs = []
    for block in blocks:
        if block.labels.dtype.kind not in "biuf":
            raise DataError(
                f"{name}: its labels are text, '{block.labels[0]}' say: {model.formulation} is scored against numbers"
            )
        pairs.append((model.decide(block.rows, threads), block.labels))
    figures = errors(pairs)
    text = f"R² {figures['r2']:.6g}, mean absolute error {figures['mae']:.6g}, mean squared error {figures['mse']:.6g}"
    return figures, text


def novelty(model: Any, blocks: Any, threads: int | None, name: str) -> tuple[dict[str, Any], str]:
    """Return the share of outliers, and the accuracy if the labels are 1 and -1, as figures and as text."""
    import numpy as np

    outliers = right = n = 0
    labelled = True
    for block in blocks:
        found = model.predict(block.rows, threads)
        outliers, n = outliers + int((found < 0).sum()), n + len(found)
        labelled = labelled and block.labels.dtype.kind in "if" and bool(np.all(np.abs(block.labels) == 1))
        right += agree(found, block.labels) if labelled else 0
    figures = {"outliers": outliers, "share": outliers / n, "n": n}
    text = f"outliers {outliers / n:.4%} ({outliers:,} of {n:,} rows)"
    if not labelled:
        return figures, text
    return {**figures, "accuracy": right / n}, f"{text}, accuracy {right / n:.4%}"


def errors(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    """Return the mean squared and absolute errors and R² of pairs (values, targets)."""
    import numpy as np

    values, y = (np.concatenate(side) for side in zip(*pairs, strict=True))
    square = float(((values - y) ** 2).mean())
    absolute = float(np.abs(values - y).mean())
    spread = float(((y - y.mean()) ** 2).mean())
    return {
        "r2": 1.0 - square / spread if spread > 0.0 else float(square == 0.0),
        "mse": square,
        "mae": absolute,
        "n": len(y),
    }


def agree(predicted: Any, y: Any) -> int:
    """Return the number of equal labels, compared as numbers if both are numbers, else as text."""
    from maxmargin.data.labels import show

    if predicted.dtype.kind in "biuf" and y.dtype.kind in "biuf":
        return int((predicted == y).sum())
    return sum(show(a) == show(b) for a, b in zip(predicted.tolist(), y.tolist(), strict=True))
