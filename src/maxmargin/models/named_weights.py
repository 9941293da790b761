"""The weights of a model with the names of its columns, in the units of the data."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maxmargin.data.encoding.columns import Number
from maxmargin.data.encoding.encoder import Encoder
from maxmargin.data.labels import show
from maxmargin.data.passes import combination
from maxmargin.errors import MaxmarginError
from maxmargin.kernels.functions import Linear
from maxmargin.models.input_rows import encoder_in
from maxmargin.models.scaling import divisors_in

if TYPE_CHECKING:
    from maxmargin.models.linear import Model


class NamedWeight(NamedTuple):
    """The weight of a feature, for the class `label` if there are more than two.

    `weight` belongs to the feature that the model sees, `in_units` to one unit of the column `column` of the data.
    """

    column: str
    feature: str
    label: str
    weight: float
    in_units: float


def named_weights(model: Model) -> Any:
    """Return the weights as a table: a pandas or polars frame if one of these is imported, else a list."""
    weights = weight_rows(model)
    if weights is None:
        raise MaxmarginError("the model has no weights for single columns: its kernel is not linear, or it has pairs")
    encoder = encoder_in(model.training)
    names, columns = feature_names(model), column_names(model, encoder)
    scales = unit_scales(encoder, weights.shape[1])
    classes = getattr(model, "classes", ())
    labels = [show(label) for label in classes] if len(classes) > 2 else [""]
    found = [
        NamedWeight(columns[k], names[k], label, float(row[k]), float(row[k] / scales[k]))
        for label, row in zip(labels, weights, strict=True)
        for k in range(weights.shape[1])
    ]
    return framed(found)


def framed(found: list[NamedWeight]) -> Any:
    """Return named weights as a frame of the library that the program uses, else unchanged."""
    for library in ("pandas", "polars"):
        if library in sys.modules:
            columns = zip(*found, strict=True)
            return sys.modules[library].DataFrame(dict(zip(NamedWeight._fields, map(list, columns), strict=True)))
    return found


def weight_rows(model: Any) -> np.ndarray | None:
    """Return the weights of the features that rows are given with; None for a model without such weights.

    There is a row for each problem. Features that the model scales are those before scaling.
    """
    found = weights_after_scaling(model)
    if found is None or "scale" not in model.training:
        return found
    divisors = divisors_in(model.training["scale"])
    return np.asarray(found / np.pad(divisors, (0, found.shape[1] - len(divisors)), constant_values=1.0))


def weights_after_scaling(model: Any) -> np.ndarray | None:
    """Return the weights of the features that the model sees."""
    if "expand" in model.training or hasattr(model, "features"):
        return None
    if hasattr(model, "w"):
        return np.asarray(model.w)
    if not isinstance(model.kernel, Linear):
        return None
    if hasattr(model, "coefficients"):
        return combination(model.around(model.vectors), model.d, model.coefficients)[None, :]
    if len(model.classes) == 2:
        return -combination(model.around(model.vectors), model.d, model.dual_coef[0])[None, :]
    return None


def feature_names(model: Any) -> list[str]:
    """Return names of the features of rows. Those without a name are counted from 1."""
    encoder, d = encoder_in(model.training), int(model.training.get("input_d", model.d))
    if encoder is not None:
        return encoder.names
    known = [str(name) for name in model.training.get("columns", [])]
    return known if len(known) == d else [f"feature {k + 1}" for k in range(d)]


def column_names(model: Any, encoder: Encoder | None) -> list[str]:
    """Return the column that each feature was made of."""
    if encoder is None:
        return feature_names(model)
    return [column.name for column in encoder.used for _ in range(column.size)]


def unit_scales(encoder: Encoder | None, d: int) -> np.ndarray:
    """Return how many units of its column one unit of each feature is."""
    scales = np.ones(d)
    if encoder is not None:
        for column, start in zip(encoder.used, encoder.starts.tolist(), strict=False):
            if isinstance(column, Number):
                scales[start] = column.scale
    return scales
