"""What to look at: findings about the data and the training, each with what to do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxmargin.reporting.content import Finding, Findings, Section
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.subject import Subject
from maxmargin.reporting.words import listed, number, percent
from maxmargin.status import Status
from maxmargin.tuning.tuning import Tuning

RARE = 0.1  # share of a class below which accuracy says little
UNSCALED = 100.0  # ratio of standard deviations of columns from which a few columns decide alone
COPIES = 0.01  # share of rows that repeat another one
MANY_SUPPORT = 0.8  # share of support vectors from which a kernel model hardly generalises
WIDE = 10.0  # features per row
LEAST = 30  # rows of a class
ORDER = (False, None, True)


def findings_section(subject: Subject, evidence: Evidence | None, tuned: Tuning | None) -> Section:
    """Return all findings, those that need action first."""
    found = [*of_training(subject), *of_encoder(subject), *of_tuning(tuned)]
    if evidence is not None:
        found += [*of_origin(subject, evidence), *of_classes(subject, evidence), *of_rows(subject, evidence)]
    found.sort(key=lambda one: ORDER.index(one.good))
    return Section("findings", "What should be looked at?", [Findings(found)])


def of_training(subject: Subject) -> Iterator[Finding]:
    """Whether the training reached its tolerance, and whether its problem is well posed."""
    gap, tol = subject.model.certificate.relative_gap, subject.training.get("tol")
    if subject.status is Status.CONVERGED:
        yield Finding(True, f"The training reached the gap that was asked for ({number(tol)}).")
    elif subject.status is None:
        yield Finding(None, "It is not known how the training ended: the model was not trained by maxmargin.")
    else:
        asked = f" of {number(tol)}" if isinstance(tol, float) else ""
        yield Finding(False, f"The training did not reach the gap{asked}: it is {number(gap)}.",
                      subject.advice or "Train again with a smaller gap: --tol.")  # fmt: skip
    n, d = subject.training.get("n"), subject.d
    if isinstance(n, int) and n and d > WIDE * n:
        yield Finding(
            False,
            f"There are {d:,} features and only {n:,} rows: many different models fit these rows.",
            "Take a smaller C (--C 0.01), choose it by cross-validation, and judge the model on other rows only.",
        )
    share = len(subject.model.support) / n if isinstance(n, int) and n else 0.0
    if subject.kernel and share > MANY_SUPPORT and subject.task == "classify":
        yield Finding(
            False,
            f"{percent(share)} of the training rows are support vectors: the model may know its rows by heart.",
            "Take a smaller --gamma, scale the columns, or check the labels.",
        )


def of_encoder(subject: Subject) -> Iterator[Finding]:
    """Columns of a table that tell the label, or that were left out."""
    encoder = subject.encoder
    if encoder is None:
        return
    if encoder.leaks:
        yield Finding(
            False,
            f"{listed(encoder.leaks)} alone tells the label.",
            "If it is not known when predictions are made, the model is worthless: train without it, --drop NAME.",
        )
    else:
        yield Finding(True, "No column alone tells the label.")
    left_out = [column for column in encoder.columns if column.kind == "left out"]
    if left_out:
        why = "; ".join(f"“{column.name}”: {column.described}" for column in left_out[:5])
        yield Finding(True, f"{len(left_out)} columns were left out: {why}.", "--as NAME=KIND takes a column anyway.")


def of_tuning(tuned: Tuning | None) -> Iterator[Finding]:
    """Whether the search tried everything, and whether its grid reaches far enough."""
    if tuned is None:
        return
    if tuned.ended:
        yield Finding(False, tuned.advice, "Tune again with more time, or with fewer values of C.")
    for end in tuned.ends:
        yield Finding(False, f"{end.what}. Values beyond it may be better.", f"Tune again, and {end.remedy}.")
    varied = [
        sign for name, sign in (("C", "C"), ("gamma", "γ")) if len({getattr(one, name) for one in tuned.candidates}) > 1
    ]
    if varied and tuned.best is not None and not tuned.ends:
        grids = f"The grid of {varied[0]} is" if len(varied) == 1 else "The grids of C and γ are"
        yield Finding(True, f"{grids} wide enough: the best and the chosen value are not both at an end.")


def of_origin(subject: Subject, evidence: Evidence) -> Iterator[Finding]:
    """Whether the rows were used in training, and values or labels that the model does not know."""
    if evidence.is_training:
        yield Finding(
            False,
            "These are the rows of the training. On new rows the model will make more errors.",
            "Give rows that were not used in training: maxmargin report MODEL OTHER-FILE.",
        )
    elif evidence.is_training is False:
        yield Finding(True, "The rows are not those of the training file, so the errors are those of new rows.")
    else:
        yield Finding(
            None, "Were these rows used in training? That is not known. If so, expect more errors on new rows."
        )
    if evidence.note:
        yield Finding(False, f"{evidence.note[0].upper()}{evidence.note[1:]}.", "Train on data that hold such values.")
    unknown = int(np.count_nonzero(evidence.codes < 0))
    if unknown:
        yield Finding(
            False,
            f"{unknown:,} rows have labels that the model does not know: {listed(evidence.unknown)}: left out.",
            "Train with rows of these classes, or remove them.",
        )


def of_classes(subject: Subject, evidence: Evidence) -> Iterator[Finding]:
    """Class balance, and whether the model is better than the most frequent class."""
    if subject.task != "classify":
        return
    codes = evidence.codes[evidence.codes >= 0]
    counts = np.bincount(codes, minlength=len(subject.classes))
    shares = counts / counts.sum()
    rare = [f"{name} ({percent(share)})" for name, share in zip(subject.classes, shares.tolist(), strict=True)
            if share < RARE / max(len(counts) / 2, 1)]  # fmt: skip
    if rare:
        yield Finding(
            False,
            f"Some classes are rare: {listed(rare)}. Accuracy says little about them.",
            "Look at precision and recall, and train with --class-weight balanced.",
        )
    else:
        yield Finding(True, "No class is rare.")
    accuracy = float(np.mean(evidence.predicted[evidence.codes >= 0] == codes))
    if accuracy <= float(shares.max()):
        yield Finding(
            False,
            f"The model is right in {percent(accuracy)} of the rows; always the most frequent class would be in "
            f"{percent(float(shares.max()))}.",
            "Try --class-weight balanced, another C, a kernel (--kernel gaussian), or more columns.",
        )
    few = [f"{name} ({count})" for name, count in zip(subject.classes, counts.tolist(), strict=True) if count < LEAST]
    if few:
        yield Finding(
            False, f"Some classes have fewer than {LEAST} rows here: {listed(few)}.", "Judge them on more rows."
        )


def of_rows(subject: Subject, evidence: Evidence) -> Iterator[Finding]:
    """Scaling of the columns, and copies of rows."""
    spreads = evidence.spreads[evidence.spreads > 0.0]
    if subject.encoder is None and "scale" not in subject.training and len(spreads):
        ratio = float(spreads.max() / np.median(spreads))
        if ratio > UNSCALED:
            name = subject.feature_names[int(evidence.spreads.argmax())]
            yield Finding(
                False,
                f"The columns have very different scales: “{name}” spreads {number(float(spreads.max()))}, the median "
                f"column {number(float(np.median(spreads)))}. Large columns decide alone, and training is slow.",
                "Train with --scale. Tables are scaled unless --encode none is given.",
            )
        else:
            yield Finding(True, "The columns have similar scales.")
    copies, mixed = evidence.repeats
    if copies > COPIES * evidence.n:
        yield Finding(
            False,
            f"{copies:,} rows ({percent(copies / evidence.n)}) repeat an earlier one.",
            "If copies are in training and test data, tests look too good: keep them on one side.",
        )
    else:
        yield Finding(True, f"{copies:,} of {evidence.n:,} rows repeat an earlier one.")
    if mixed and subject.task == "classify" and mixed > COPIES * evidence.n:
        yield Finding(
            False,
            f"{mixed:,} rows have copies with another label: no model can get all of them right.",
            "Check the labels, or add columns that tell these rows apart.",
        )
