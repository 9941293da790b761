"""maxmargin score MODEL FILE: how often the model is right."""

from __future__ import annotations

from typing import Any

from maxmargin.cli.options import DataFile, Json, Label, Labels, ModelFile, Threads, ZeroBased


def score(
    model: ModelFile,
    file: DataFile,
    threads: Threads = None,
    zero_based: ZeroBased = False,
    label: Label = None,
    labels: Labels = None,
    json: Json = False,
) -> None:
    """Compare the model's predictions with the labels in FILE."""
    import json as jsonlib

    from maxmargin.cli.reading import blocks_for
    from maxmargin.errors import DataError
    from maxmargin.models.kernel_function import ONE_CLASS, KernelFunction
    from maxmargin.models.linear import load

    loaded = load(model)
    blocks = blocks_for(loaded, file, zero_based, threads, label, labels)
    if isinstance(loaded, KernelFunction) and loaded.formulation != ONE_CLASS:
        pairs = []
        for block in blocks:
            if block.labels.dtype.kind not in "biuf":
                first = block.labels[0]
                raise DataError(
                    f"{file}: its labels are text, '{first}' say: {loaded.formulation} is scored against numbers"
                )
            pairs.append((loaded.decide(block.rows, threads), block.labels))
        figures = errors(pairs)
        print(jsonlib.dumps(figures) if json else f"R² {figures['r2']:.6g}, mean squared error {figures['mse']:.6g}")
        return
    right = n = 0
    for block in blocks:
        right, n = right + agree(loaded.predict(block.rows, threads), block.labels), n + len(block.labels)
    figures = {"accuracy": right / n, "correct": right, "n": n}
    print(jsonlib.dumps(figures) if json else f"accuracy {right / n:.4%} ({right:,} of {n:,} rows)")


def errors(pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
    """How far values are from their targets: the mean square, and what part of the variance is explained."""
    import numpy as np

    values, y = (np.concatenate(side) for side in zip(*pairs, strict=True))
    square = float(((values - y) ** 2).mean())
    spread = float(((y - y.mean()) ** 2).mean())
    return {"r2": 1.0 - square / spread if spread > 0.0 else float(square == 0.0), "mse": square, "n": len(y)}


def agree(predicted: Any, y: Any) -> int:
    """How many labels are the same; names and numbers are compared as they are written."""
    from maxmargin.data.labels import show

    if predicted.dtype.kind in "biuf" and y.dtype.kind in "biuf":
        return int((predicted == y).sum())
    return sum(show(a) == show(b) for a, b in zip(predicted.tolist(), y.tolist(), strict=True))
