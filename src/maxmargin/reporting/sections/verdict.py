"""The verdict in one sentence, and the certificate in words and in numbers."""

from __future__ import annotations

from math import isfinite

import numpy as np

from maxmargin.models.approximate import ApproximateModel
from maxmargin.reporting.content import Section, Table, Text
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.facts.errors import errors_of
from maxmargin.reporting.subject import Subject
from maxmargin.reporting.words import number, percent, short
from maxmargin.status import Status

ENDED_WELL = (Status.CONVERGED, Status.SEPARATED, Status.SETTLED, Status.ROUNDING)


def verdict(subject: Subject, evidence: Evidence | None) -> Text:
    """Return the verdict: how good the model is on the rows, and how good the training was."""
    proof = proof_words(subject)
    quality = "" if evidence is None else quality_words(subject, evidence)
    return Text(f"{quality}; {proof}." if quality else f"{proof[0].upper()}{proof[1:]}.", "verdict")


def proof_words(subject: Subject) -> str:
    """Return how far the objective may be from the optimum."""
    gap = subject.model.certificate.relative_gap
    if not isfinite(gap):
        return "its training has no certificate, so nothing is proved about how close it is to the best possible model"
    if subject.status is None or subject.status in ENDED_WELL:
        return f"its training is proved to be within {percent(gap)} of the best possible objective"
    return (
        f"its training ended early ({subject.status.value}), at most {percent(gap)} above the best possible objective"
    )


def quality_words(subject: Subject, evidence: Evidence) -> str:
    """Return how good the predictions are on the rows."""
    known = evidence.codes >= 0 if subject.task == "classify" else np.ones(evidence.n, bool)
    which = "training rows" if evidence.is_training else "rows"
    where = f"{int(np.count_nonzero(known)):,} {which} of {short(evidence.name)}"
    if subject.task == "classify":
        right = float(np.mean(evidence.predicted[known] == evidence.codes[known]))
        counts = np.bincount(evidence.codes[known], minlength=len(subject.classes))
        usual, most = float(counts.max() / counts.sum()), subject.classes[int(counts.argmax())]
        return f"This model labels {percent(right)} of {where} correctly (always “{short(most)}”: {percent(usual)})"
    if subject.task == "regress":
        found = errors_of(evidence.values, evidence.targets)
        return (
            f"This model explains {percent(found.r2)} of the variance in {where}, with a mean absolute error of "
            f"{number(found.mae)} (always the mean: {number(found.mae_of_mean)})"
        )
    share = float(np.mean(evidence.predicted < 0))
    return f"This model takes {percent(share)} of {where} for outliers"


def certificate_section(subject: Subject) -> Section:
    """Return what the certificate proves, in words and in numbers."""
    return Section(
        "certificate", "Is the training finished?", [*certificate_words(subject), certificate_table(subject)]
    )


def certificate_words(subject: Subject) -> list[Text]:
    """Return what the certificate proves, for a reader who has never heard of duality."""
    gap = subject.model.certificate.relative_gap
    if not isfinite(gap):
        return [Text(f"The model has no certificate that proves anything. {subject.advice}".strip())]
    found = [
        Text(
            "Training looks for the model with the lowest objective: a sum of its complexity and of its errors on the "
            "training rows. A second number, the dual objective, is a limit below which no model of this kind can go. "
            f"This model is at most {percent(gap)} above that limit. More computing can improve it by no more."
        ),
        Text(
            "The proof holds for these training rows, this loss and these settings. How good the model is on new rows "
            "is another question, which only rows that were not used in training can answer.",
            "note",
        ),
    ]
    if isinstance(subject.model, ApproximateModel):
        found.append(Text(f"It holds for the problem with {subject.model.approximation}, not for the kernel itself."))
    if subject.status is not None and subject.status is not Status.CONVERGED:
        found.append(Text(subject.advice))
    return found


def certificate_table(subject: Subject) -> Table:
    """Return the numbers of the certificate."""
    found, training, result = subject.model.certificate, subject.training, subject.result
    rows = [
        ("objective of the model (primal)", number(found.primal, 10)),
        ("limit that no model can beat (dual)", number(found.dual, 10)),
        ("gap between them", number(found.gap)),
        ("gap relative to the objective", number(found.relative_gap)),
        ("part of the gap that bounds rounding errors", number(found.rounding)),
        ("gap that was asked for (tol)", number(training.get("tol", "unknown"))),
        ("how the training ended", subject.status.value if subject.status is not None else "unknown"),
        ("epochs", number(training.get("epochs", "unknown"))),
        ("solver", str(training.get("solver", "unknown"))),
    ]
    if result is not None:
        rows += [("why this solver", result.why), ("seconds of solving", number(result.seconds))]
    return Table("The certificate", ("", "value"), rows)
