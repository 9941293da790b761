"""Whether probabilities can be trusted: how often what they foretell happens, for two classes or several."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from maxmargin.reporting.content import Figure, Part, Section, Table, Text
from maxmargin.reporting.facts.calibration import Calibration, calibration
from maxmargin.reporting.figures.calibration import calibration_figure
from maxmargin.reporting.figures.weights import different
from maxmargin.reporting.sections.judged import Judged
from maxmargin.reporting.subject import Subject
from maxmargin.reporting.words import number, percent, short

MOST_CLASSES = 8  # classes that are drawn
PROBABILITY = "predicted probability"
TITLE = "Can the probabilities be trusted?"
GROUP = ("share", "low", "high", "rows")


def calibration_section(subject: Subject, rows: Judged) -> Section:
    """Return the calibration of the second of two classes, or its share by decision value."""
    name, known = short(subject.classes[1]), rows.probabilities is not None
    scores = rows.values if rows.probabilities is None else rows.probabilities[:, 1]
    found = calibration(scores, rows.codes == 1)
    across = f"{PROBABILITY} of {name}" if known else "decision value"
    words = (
        "If the probabilities are right, the points are on the diagonal. Their mean distance is "
        f"{percent(found.error)}."
        if known
        else "The model has no probabilities (train with --probability to get them). The picture shows how often the "
        "positive class is right among rows with about the same decision value."
    )
    table = Table("Groups of rows", (across, *GROUP), list(groups(found)))
    spec = calibration_figure({name: found}, across, f"share of {name}", known)
    alternative = f"The share of “{name}” in {len(found.counts)} groups of rows with similar scores. {words}"
    figure = Figure("calibration", "Calibration", alternative, spec, table)
    return Section("calibration", TITLE if known else "Do larger values mean more certainty?", [Text(words), figure])


def class_calibration_section(subject: Subject, rows: Judged) -> Section | None:
    """Return the calibration of the predicted class and of each of several classes; None without probabilities."""
    chances = rows.probabilities
    if chances is None:
        return None
    predicted = calibration(chances[np.arange(len(chances)), rows.predicted], rows.predicted == rows.codes)
    names = different(subject.classes)
    classes = {name: calibration(chances[:, k], rows.codes == k) for k, name in enumerate(names)}
    parts: list[Part] = [Text(words_of(predicted)), predicted_figure(predicted)]
    drawn = dict(sorted(classes.items(), key=lambda one: -one[1].error)[:MOST_CLASSES])
    drawn = {name: one for name, one in classes.items() if name in drawn}
    parts += [classes_figure(drawn), classes_table(drawn)]
    if len(drawn) < len(classes):
        parts.append(Text(f"Of {len(classes):,} classes, the {len(drawn)} with the largest mean distances.", "note"))
    return Section("calibration", TITLE, parts)


def words_of(predicted: Calibration) -> str:
    """Return what the calibration of the predicted class means."""
    return (
        "Each row gets a probability of each class. If they are right, the points are on the diagonal: of rows with a "
        "probability of 80 %, 80 % are of the class. For the predicted class, the mean distance is "
        f"{percent(predicted.error)}: its mean probability is {percent(mean_of(predicted.scores, predicted))}, and "
        f"{percent(mean_of(predicted.shares, predicted))} of the predictions are right."
    )


def predicted_figure(found: Calibration) -> Figure:
    """Return the calibration of the predicted class."""
    across, up = f"{PROBABILITY} of the predicted class", "share of correct predictions"
    told = "; ".join(f"{percent(s, 0)} were predicted, {percent(p, 0)} are right" for s, p in pairs(found))
    table = Table("Groups of rows", (across, *GROUP), list(groups(found)))
    spec = calibration_figure({"predicted class": found}, across, up, True)
    alternative = f"The share of correct predictions in {len(found.counts)} groups of rows: {told}."
    return Figure("calibration", "Calibration of the predicted class", alternative, spec, table)


def classes_figure(found: Mapping[str, Calibration]) -> Figure:
    """Return the calibration of each class against the rest."""
    told = ". ".join(f"“{name}”, {worst_words(one)}" for name, one in found.items())
    body = [(name, *group) for name, one in found.items() for group in groups(one)]
    table = Table("Groups of rows by class", ("class", PROBABILITY, *GROUP), body)
    spec = calibration_figure(found, f"{PROBABILITY} of the class", "share of the class", True)
    title = "Calibration of each class against the rest"
    return Figure("class-calibration", title, f"The share of each class over its probability. {told}.", spec, table)


def classes_table(found: Mapping[str, Calibration]) -> Table:
    """Return the mean probability, the share and the mean distance of each class."""
    body = [
        (name, percent(mean_of(one.scores, one)), percent(mean_of(one.shares, one)), percent(one.error))
        for name, one in found.items()
    ]
    caption = "Each class: its mean probability, its share of the rows, and the mean distance of its points"
    return Table(caption, ("class", "probability", "share", "distance"), body)


def worst_words(found: Calibration) -> str:
    """Return the mean distance, and the group of rows that is farthest from the diagonal."""
    k = int(np.abs(found.scores - found.shares).argmax())
    return (
        f"mean distance {percent(found.error)}, largest where {percent(float(found.scores[k]))} were predicted and "
        f"{percent(float(found.shares[k]))} are right"
    )


def mean_of(values: np.ndarray, found: Calibration) -> float:
    """Return the mean over all rows of a value for each group."""
    return float(values @ found.counts / found.counts.sum())


def pairs(found: Calibration) -> list[tuple[float, float]]:
    """Return the mean probability and the share of each group."""
    return list(zip(found.scores.tolist(), found.shares.tolist(), strict=True))


def groups(found: Calibration) -> list[list[str]]:
    """Return the groups as lines of a table."""
    return [[*(number(float(one), 3) for one in line[:4]), f"{line[4]:,}"] for line in zip(*found, strict=True)]
