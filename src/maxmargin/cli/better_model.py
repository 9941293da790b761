"""Where to save a model: in the place of the file that is there, or beside it if that holds a better model."""

from __future__ import annotations

from itertools import count
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.errors import MaxmarginError
from maxmargin.models.linear import Model, load
from maxmargin.system.overwriting import is_model

SAME = ("loss", "bias", "bias_scale", "C", "nu", "formulation", "weighted", "expand", "approximation")


def place_for(model: Model, target: Path) -> Path:
    """The target, unless it holds a better model of the same problem; then the first free name beside it."""
    if not is_model(target):
        return target
    try:
        there = load(target)
    except MaxmarginError:
        return target  # what cannot be read is not better
    return beside(target) if is_better(there, model) else target


def is_better(there: Model, new: Model) -> bool:
    """Whether the model that is there is proved to be better than the new one.

    A new model whose gap meets the tolerance that the other was trained to is as good, whichever gap is smaller. One
    without a finite gap may have seen a part of the rows only: it is worse than any model with one.
    """
    gap, new_gap = there.certificate.relative_gap, new.certificate.relative_gap
    if not isfinite(new_gap):
        return isfinite(gap)
    return new_gap > max(gap, tolerance_met(there)) and same_problem(there, new)


def tolerance_met(model: Model) -> float:
    """The tolerance that a model was trained to, if its certificate meets it; else 0."""
    tol = model.training.get("tol", 0.0)
    return float(tol) if model.certificate.meets(tol) else 0.0


def same_problem(one: Model, other: Model) -> bool:
    """Whether two models are of the same problem, as far as they tell: sizes, classes, loss, C, bias, kernel."""
    return described(one) == described(other) and np.array_equal(classes_of(one), classes_of(other))


def described(model: Model) -> list[Any]:
    """What a model says of its problem."""
    sizes = [model.training.get("n"), model.d]
    return [*sizes, type(model), str(getattr(model, "kernel", "")), *(model.training.get(name) for name in SAME)]


def classes_of(model: Model) -> np.ndarray:
    """The classes of a model; a function has none."""
    return np.asarray(getattr(model, "classes", ()))


def beside(target: Path) -> Path:
    """The first name beside the target that is free: name.new.safetensors, name.new2.safetensors and so on."""
    names = (target.with_name(f"{target.stem}.new{'' if k == 1 else k}{target.suffix}") for k in count(1))
    return next(place for place in names if not place.exists())
