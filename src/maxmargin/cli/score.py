"""maxmargin score MODEL FILE: how often the model is right."""

from __future__ import annotations

from typing import Any

from maxmargin.cli.options import DataFile, Json, ModelFile, Threads, ZeroBased


def score(
    model: ModelFile, file: DataFile, threads: Threads = None, zero_based: ZeroBased = False, json: Json = False
) -> None:
    """Compare the model's predictions with the labels in FILE."""
    import json as jsonlib

    from maxmargin.cli.reading import read_for
    from maxmargin.errors import DataError
    from maxmargin.kernel_function import ONE_CLASS, KernelFunction
    from maxmargin.model import load

    loaded = load(model)
    rows, y = read_for(loaded, file, zero_based, threads)
    if isinstance(loaded, KernelFunction) and loaded.machine != ONE_CLASS:
        if y.dtype.kind not in "biuf":
            raise DataError(f"{file}: its labels are text, '{y[0]}' say: {loaded.machine} is scored against numbers")
        figures = errors(loaded.decide(rows, threads), y)
        print(jsonlib.dumps(figures) if json else f"R² {figures['r2']:.6g}, mean squared error {figures['mse']:.6g}")
        return
    right = agree(loaded.predict(rows, threads), y)
    figures = {"accuracy": right / len(y), "correct": right, "n": len(y)}
    print(jsonlib.dumps(figures) if json else f"accuracy {right / len(y):.4%} ({right:,} of {len(y):,} rows)")


def errors(values: Any, y: Any) -> dict[str, Any]:
    """How far values are from their targets: the mean square, and what part of the variance is explained."""
    square = float(((values - y) ** 2).mean())
    spread = float(((y - y.mean()) ** 2).mean())
    return {"r2": 1.0 - square / spread if spread > 0.0 else float(square == 0.0), "mse": square, "n": len(y)}


def agree(predicted: Any, y: Any) -> int:
    """How many labels are the same; names and numbers are compared as they are written."""
    from maxmargin.labels import show

    if predicted.dtype.kind in "biuf" and y.dtype.kind in "biuf":
        return int((predicted == y).sum())
    return sum(show(a) == show(b) for a, b in zip(predicted.tolist(), y.tolist(), strict=True))
