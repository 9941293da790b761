"""Where to save a model: to the given file, or beside it if that file holds a better model."""

from __future__ import annotations

from itertools import count
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.errors import MaxmarginError
from maxmargin.models.linear import Model, load
from maxmargin.system.overwriting import is_model

SAME = ("loss", "bias", "bias_scale", "C", "nu", "formulation", "weighted", "expand", "scale", "approximation")


def place_for(model: Model, target: Path) -> Path:
    """Return the target or, if it holds a better model of the same problem, the first free name beside it."""
    if not is_model(target):
        return target
    try:
        there = load(target)
    except MaxmarginError:
        return target  # an unreadable model is not better
    return beside(target) if is_better(there, model) else target


def is_better(there: Model, new: Model) -> bool:
    """Whether the existing model is proved to be better than the new one.

    A new model that meets the tolerance of the existing one is as good, whichever gap is smaller. A new model without a
    finite gap may have seen only a part of the rows: it is worse than any model with a finite gap.
    """
    gap, new_gap = there.certificate.relative_gap, new.certificate.relative_gap
    if not isfinite(new_gap):
        return isfinite(gap)
    return new_gap > max(gap, tolerance_met(there)) and same_problem(there, new)


def tolerance_met(model: Model) -> float:
    """Return the tolerance of a model's training if its certificate meets it, else 0."""
    tol = model.training.get("tol", 0.0)
    return float(tol) if model.certificate.meets(tol) else 0.0


def same_problem(one: Model, other: Model) -> bool:
    """Whether two models have the same problem, judged by sizes, classes, loss, C, bias and kernel."""
    return described(one) == described(other) and np.array_equal(classes_of(one), classes_of(other))


def described(model: Model) -> list[Any]:
    """Return the properties that identify a model's problem, without its classes."""
    sizes = [model.training.get("n"), model.d]
    return [*sizes, type(model), str(getattr(model, "kernel", "")), *(model.training.get(name) for name in SAME)]


def classes_of(model: Model) -> np.ndarray:
    """Return the classes of a model; none for regression and novelty detection."""
    return np.asarray(getattr(model, "classes", ()))


def beside(target: Path) -> Path:
    """Return the first free name beside the target: name.new.safetensors, name.new2.safetensors and so on."""
    names = (target.with_name(f"{target.stem}.new{'' if k == 1 else k}{target.suffix}") for k in count(1))
    return next(place for place in names if not place.exists())
