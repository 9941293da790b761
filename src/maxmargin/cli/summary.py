"""The summary of a training, as text and as JSON."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.cli.columns import column_lines
from maxmargin.data.labels import show
from maxmargin.models.approximate import ApproximateModel
from maxmargin.models.input_rows import encoder_in
from maxmargin.models.kernel import KernelModel
from maxmargin.models.kernel_function import KernelFunction
from maxmargin.models.linear import LinearModel, Model
from maxmargin.results import Result
from maxmargin.status import Status

NOT_SHOWN = ("d", "scale", "history")  # by `inspect`: shown in other words, or drawn by `report`
SHOWN = 4  # rows of a proof that are shown for each side
KINDS = {
    LinearModel: "linear model",
    KernelModel: "kernel model",
    ApproximateModel: "linear model on features for a kernel",
    KernelFunction: "kernel function",
}


def as_json(result: Result, saved: Path) -> dict[str, Any]:
    """Return all results as one JSON object."""
    certificate, sizes = result.certificate, result.model.training
    return {
        "solver": result.solver,
        "why": result.why,
        "status": result.status.name,
        "advice": result.advice,
        "hints": result.hints,
        "seconds": result.seconds,
        "epochs": result.epochs,
        **mistakes(result),
        "primal": finite(certificate.primal),
        "dual": finite(certificate.dual),
        "gap": finite(certificate.gap),
        "relative_gap": finite(certificate.relative_gap),
        "rounding": finite(certificate.rounding),
        **shape_of(result.model),
        "n": sizes["n"],
        "d": sizes["d"],
        "nnz": sizes["nnz"],
        "support": len(result.model.support),
        **classes_of(result.model),
        "model": str(saved),
        **({"proof": proofs(result)} if result.status is Status.NOT_SEPARABLE else {}),
    }


def mistakes(result: Result) -> dict[str, Any]:
    """Return the mistakes of a perceptron, in the last epoch and in total."""
    last = result.history[-1] if result.history else None
    return {"mistakes": last.mistakes, "all_mistakes": last.all_mistakes} if last and last.mistakes is not None else {}


def finite(value: Any) -> Any:
    """Return the value with numbers that JSON lacks replaced by "inf", "-inf" and "nan"."""
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [finite(part) for part in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def as_words(result: Result) -> str:
    """Return the results as text."""
    lines = [
        *table_lines(result.model.training),
        f"{result.solver}: {result.why}",
        f"{result.status.value} after {result.seconds:.2f} s and {result.epochs:.1f} epochs",
        *(proof_lines(result) if result.status is Status.NOT_SEPARABLE else figure_lines(result)),
    ]
    training = result.model.training
    if "left_out" in training:
        lines.append(f"left out {training['left_out']:,} lines; the first: {training['left_out_first']}")
    if result.status is not Status.CONVERGED:
        lines.append(result.advice)
    return "\n".join([*lines, *(f"advice: {hint}" for hint in result.hints)])


def table_lines(training: dict[str, Any]) -> list[str]:
    """Return what became of the columns of a table."""
    encoder = encoder_in(training)
    if encoder is None:
        return []
    label = f", label {encoder.label!r}" if encoder.label is not None else ""
    return [f"columns: {encoder.d:,} features{label}", *column_lines(encoder)]


def figure_lines(result: Result) -> list[str]:
    """Return the lines that show the certificate."""
    certificate, model = result.certificate, result.model
    lines = [
        f"  primal objective  {certificate.primal:.10g}",
        f"  dual objective    {certificate.dual:.10g}",
        f"  relative gap      {max(certificate.relative_gap, 0.0):.2e}   at most this far above the optimum",
    ]
    if len(model.support) or "passes" not in model.training:  # not kept when streaming three or more classes
        lines.append(f"  support vectors   {len(model.support):,} of {model.training['n']:,} rows")
    if isinstance(model, ApproximateModel):
        lines.append(f"  certified is      the problem with {model.approximation}, not the kernel's own")
    if isinstance(model, LinearModel) and model.has_hard_margin:
        lines.insert(3, f"  margin            {', '.join(f'{margin:.6g}' for margin in model.margins)}   1/‖w‖")
    last = result.history[-1] if result.history else None
    if last and last.mistakes is not None:
        lines.append(f"  mistakes          {last.mistakes:,} in the last epoch, {last.all_mistakes:,} in all")
    return lines


def proofs(result: Result) -> list[list[dict[str, Any]]]:
    """Return two sides for each inseparable problem: rows and weights, whose weighted means coincide."""
    return [
        [{"rows": rows.tolist(), "weights": weights.tolist()} for rows, weights in sides_of(part.alpha, coefficients)]
        for part, coefficients in zip(result.parts, signed(result), strict=True)
        if part.status is Status.NOT_SEPARABLE
    ]


def signed(result: Result) -> np.ndarray:
    """Return alpha times the label ±1 of all examples, one row for each problem."""
    assert not isinstance(result.model, KernelFunction)
    whole = np.zeros((len(result.parts), result.model.training["n"]))
    whole[:, result.model.support] = result.model.dual_coef
    return whole


def sides_of(alpha: np.ndarray, coefficients: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows of both sides with their weights, heaviest first."""
    sides = [np.flatnonzero(coefficients < 0), np.flatnonzero(coefficients > 0)]
    return [(rows[np.argsort(-alpha[rows])], np.sort(alpha[rows])[::-1]) for rows in sides]


def proof_lines(result: Result) -> list[str]:
    """Return the lines that show the proof, with only the heaviest rows."""
    lines = []
    for one, other in proofs(result):
        lines += [f"  the mean of       {named(one)}", f"  is the mean of    {named(other)}"]
    return lines


def named(side: dict[str, Any]) -> str:
    """Format rows with their weights."""
    pairs = list(zip(side["rows"], side["weights"], strict=True))
    words = ", ".join(f"row {row} ({weight:.4g})" for row, weight in pairs[:SHOWN])
    return f"{words} and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else words or "nothing: the point 0"


def classes_of(model: Model) -> dict[str, Any]:
    """Return the classes of a classifier; empty for other models."""
    return {} if isinstance(model, KernelFunction) else {"classes": [show(label) for label in model.classes]}


def shape_of(model: Model) -> dict[str, Any]:
    """Return the margins of a linear model, or the kernel of a kernel model."""
    if isinstance(model, LinearModel):
        return {"margins": model.margins.tolist()}
    approximation = {"approximation": model.approximation} if isinstance(model, ApproximateModel) else {}
    return {"kernel": str(model.kernel), **approximation}


def describe_model(model: Model) -> dict[str, Any]:
    """Return the description of a model for `inspect`."""
    return {
        "kind": KINDS[type(model)],
        **classes_of(model),
        "features": model.d,
        **({"nonzero_weights": int((model.w != 0).sum())} if isinstance(model, LinearModel) else {}),
        "support": len(model.support),
        "primal": finite(model.certificate.primal),
        "dual": finite(model.certificate.dual),
        "relative_gap": finite(model.certificate.relative_gap),
        **shape_of(model),
        **{name: finite(value) for name, value in model.training.items() if name not in NOT_SHOWN},
        **({"scale": "each feature by its largest absolute value"} if "scale" in model.training else {}),
    }
