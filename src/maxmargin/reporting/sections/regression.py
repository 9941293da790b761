"""How good a regression is: predictions beside targets, and the distribution of the errors."""

from __future__ import annotations

import numpy as np

from maxmargin.reporting.content import Figure, Section, Table, Text
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.facts.errors import Errors, errors_of
from maxmargin.reporting.facts.histograms import grid_counts, histogram
from maxmargin.reporting.facts.support import is_support
from maxmargin.reporting.figures.base import Spec, rounded, rules
from maxmargin.reporting.figures.distributions import density, histogram_figure
from maxmargin.reporting.subject import Subject
from maxmargin.reporting.theme import MUTED
from maxmargin.reporting.words import number, percent

LARGEST = 1e100  # ε that is drawn; a model file may hold any number
CELLS = 48  # squares along each axis


def regression_sections(subject: Subject, evidence: Evidence) -> list[Section]:
    """Return the sections about the errors of a regression."""
    found = errors_of(evidence.values, evidence.targets)
    return [error_section(evidence, found), residual_section(subject, evidence)]


def error_section(evidence: Evidence, found: Errors) -> Section:
    """Return predictions beside targets."""
    told = (
        f"R² is {found.r2:.4f}: the share of the variance that is explained. The mean absolute error is "
        f"{number(found.mae)}; always predicting the mean would give {number(found.mae_of_mean)}."
    )
    rows = [
        ("R²", f"{found.r2:.6f}"), ("mean absolute error", number(found.mae, 6)),
        ("root mean squared error", number(found.rmse, 6)), ("mean error (target − prediction)", number(found.bias)),
        ("mean absolute error of always predicting the mean", number(found.mae_of_mean, 6)),
    ]  # fmt: skip
    alternative = f"Predictions over targets: the closer to the diagonal, the better. {told}"
    return Section(
        "errors",
        "How close are the predictions?",
        [
            Text(f"{evidence.described[0].upper()}{evidence.described[1:]}. {told}"),
            Figure("predictions", "Predictions and targets", alternative, prediction_spec(evidence)),
            Table("Errors", ("", "value"), rows),
        ],
    )


def prediction_spec(evidence: Evidence) -> Spec:
    """Return a picture of predictions over targets, with the diagonal."""
    across, up, counts = grid_counts(evidence.targets, evidence.values, CELLS)
    ends = [rounded(max(across[0], up[0])), rounded(min(across[-1], up[-1]))]
    diagonal: Spec = {
        "data": {"values": [{"at": end} for end in ends]},
        "mark": {"type": "line", "color": MUTED, "strokeDash": [4, 3], "aria": False},
        "encoding": {"x": {"field": "at", "type": "quantitative"}, "y": {"field": "at", "type": "quantitative"}},
    }
    return density((across, up), counts, "target", "prediction", [diagonal])


def residual_section(subject: Subject, evidence: Evidence) -> Section:
    """Return the distribution of the errors, and the errors over the predictions."""
    residuals = evidence.targets - evidence.values
    width = tube(subject)
    outside = np.abs(residuals) > width
    found = histogram(residuals, outside.astype(np.int64), 2, (-width, width))
    names = ("within ε", "beyond ε") if width > 0.0 else ("no error", "some error")
    share = float(np.mean(outside))
    told = (
        f"{percent(share)} of the rows lie outside of the tube of width ε = {number(width)} on both sides of the "
        "prediction, inside which errors cost nothing."
    )
    spec = histogram_figure(found, names, "error: target − prediction", (-width, 0.0, width))
    across, up, counts = grid_counts(evidence.values, residuals, CELLS)
    spec_over = density((across, up), counts, "prediction", "error", [rules([-width, 0.0, width], "y")])
    support = is_support(subject, evidence)
    marked = f" {np.count_nonzero(support):,} rows are support vectors." if support is not None else ""
    return Section(
        "residuals",
        "Where are the errors?",
        [
            Text(told + marked),
            Figure("residuals", "Distribution of the errors", f"Errors of {evidence.n:,} rows. {told}", spec),
            Figure(
                "residuals-over-predictions",
                "Errors over predictions",
                "Errors over predictions. A trend or a funnel means that something is missing in the model.",
                spec_over,
            ),
        ],
    )


def tube(subject: Subject) -> float:
    """Return the width ε of the tube."""
    width = float(getattr(subject.model, "width", 0.0))
    given = subject.training.get("epsilon", 0.0)
    return width or (float(given) if isinstance(given, (int, float)) and 0.0 <= given < LARGEST else 0.0)
