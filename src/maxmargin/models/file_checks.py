"""Validation of the parts of a model file before a model is built from them (see system/file_checks)."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from maxmargin.data.encoding.encoder import encoder_of
from maxmargin.data.expand import find_expansion
from maxmargin.models.scaling import divisors_in
from maxmargin.problems.certificate import Certificate
from maxmargin.system.budget import shown_size
from maxmargin.system.file_checks import REAL, checked_array, real, section, short, size

LABEL_TYPE = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f[248]|U[0-9]{1,9})")
LABEL_BYTES = 1 << 24  # Text labels may take this many bytes, or as many as the longest label needs.


def centre_in(tensors: dict[str, np.ndarray], d: int, name: str = "centre") -> np.ndarray | None:
    """Return the centre that is subtracted from each row of d columns, or None."""
    if name not in tensors:
        return None
    centre = checked_array(tensors, name, REAL, 1)
    if len(centre) != d:
        raise ValueError(f"{name} has {len(centre)} values for {d} features")
    return centre


def training_in(metadata: Any) -> dict[str, Any]:
    """Return the summary of the training, validated."""
    found = section(metadata, "training")
    if "machine" in found:  # files of version 0.1
        found["formulation"] = found.pop("machine")
    for name in ("n", "d", "nnz", "input_d"):
        if name in found:
            size(found, name)
    if "encoder" in found:
        _ = encoder_of(found["encoder"])
    if "scale" in found:
        _ = divisors_in(found["scale"])
    columns = found.get("columns", [])
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise ValueError("columns is not a list of names")
    if not isinstance(found.get("widens", False), bool):
        raise ValueError(f"widens is {short(found['widens'])}, not true or false")
    for name in ("loss", "formulation", "solver", "status"):
        if not isinstance(found.get(name, ""), str):
            raise ValueError(f"{name} is {short(found[name])}, not text")
    return found


def check_input(training: dict[str, Any], d: int) -> None:
    """Raise if rows that the model accepts would have more than d features, also after expansion."""
    text = training.get("expand")
    if text is not None and not isinstance(text, str):
        raise ValueError(f"expand is {short(text)}, not text")
    expansion = find_expansion(text)
    width = int(training.get("input_d", d))
    if "encoder" in training and encoder_of(training["encoder"]).d > width:
        raise ValueError(f"the encoder makes more than {width} features")
    reached = width if expansion is None else expansion.columns(width)
    if reached > d:
        raise ValueError(f"input_d or expand lead to {reached} features, the weights have {d}")


def classes_in(metadata: Any) -> np.ndarray:
    """Return the labels; raise unless they have one type, are finite and increase strictly."""
    found, name = metadata.get("classes"), metadata.get("class_type")
    if not isinstance(found, list) or len(found) < 2:
        raise ValueError("classes is not a list of two labels or more")
    if not isinstance(name, str) or LABEL_TYPE.fullmatch(name) is None:
        raise ValueError(f"class_type {short(name)} is not the type of labels")
    kind = np.dtype(name)
    if kind.kind == "U":
        needed = max((len(label) for label in found if isinstance(label, str)), default=0)
        if kind.itemsize * len(found) > max(4 * needed * len(found), LABEL_BYTES):
            raise ValueError(f"class_type {name} takes {shown_size(kind.itemsize * len(found))}")
    classes = np.array(found, dtype=kind)
    if classes.ndim != 1 or classes.tolist() != found:
        raise ValueError(f"classes are not of type {name}")
    if kind.kind == "f" and not np.all(np.isfinite(classes)):
        raise ValueError("classes are not finite")
    if not np.all(classes[1:] > classes[:-1]):
        raise ValueError("classes are not in order, or one is there twice")
    return classes


def certificate_in(metadata: Any) -> Certificate:
    """Return the certificate. Its values may be infinite, but not NaN."""
    found = section(metadata, "certificate")
    return Certificate(**{name: real(found, name, unbounded=True) for name in found})
