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
    from maxmargin.model import load

    loaded = load(model)
    rows, y = read_for(loaded, file, zero_based, threads)
    right = agree(loaded.predict(rows, threads), y)
    figures = {"accuracy": right / len(y), "correct": right, "n": len(y)}
    print(jsonlib.dumps(figures) if json else f"accuracy {right / len(y):.4%} ({right:,} of {len(y):,} rows)")


def agree(predicted: Any, y: Any) -> int:
    """How many labels are the same; names and numbers are compared as they are written."""
    from maxmargin.labels import show

    if predicted.dtype.kind in "biuf" and y.dtype.kind in "biuf":
        return int((predicted == y).sum())
    return sum(show(a) == show(b) for a, b in zip(predicted.tolist(), y.tolist(), strict=True))
