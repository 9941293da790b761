"""What a training came to, as words and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from maxmargin.labels import show
from maxmargin.model import LinearModel
from maxmargin.training import Result


def as_json(result: Result, saved: Path) -> dict[str, Any]:
    """All the figures, one object."""
    certificate, sizes = result.certificate, result.model.training
    return {
        "solver": result.solver,
        "why": result.why,
        "status": result.status.name,
        "advice": result.advice,
        "seconds": result.seconds,
        "epochs": result.epochs,
        "primal": certificate.primal,
        "dual": certificate.dual,
        "gap": certificate.gap,
        "relative_gap": certificate.relative_gap,
        "n": sizes["n"],
        "d": sizes["d"],
        "nnz": sizes["nnz"],
        "support": len(result.model.support),
        "classes": [show(label) for label in result.model.classes],
        "model": str(saved),
    }


def as_words(result: Result) -> str:
    """The figures for people."""
    certificate, model = result.certificate, result.model
    lines = [
        f"{result.solver}: {result.why}",
        f"{result.status.value} after {result.seconds:.2f} s and {result.epochs:.1f} epochs",
        f"  primal objective  {certificate.primal:.10g}",
        f"  dual objective    {certificate.dual:.10g}",
        f"  relative gap      {max(certificate.relative_gap, 0.0):.2e}   at most this far above the optimum",
        f"  support vectors   {len(model.support):,} of {model.training['n']:,} rows",
    ]
    return "\n".join(lines if result.status.name == "CONVERGED" else [*lines, result.advice])


def describe_model(model: LinearModel) -> dict[str, Any]:
    """A model's own account of itself."""
    return {
        "kind": "linear model",
        "classes": [show(label) for label in model.classes],
        "features": model.d,
        "nonzero_weights": int((model.w != 0).sum()),
        "support": len(model.support),
        "primal": model.certificate.primal,
        "dual": model.certificate.dual,
        "relative_gap": model.certificate.relative_gap,
        **{name: value for name, value in model.training.items() if name != "d"},
    }
