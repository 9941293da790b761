"""What other thresholds would give: ROC and precision-recall curves, and a slider."""

from __future__ import annotations

import numpy as np

from maxmargin.reporting.content import Figure, Part, Section, Slider, Table, Text
from maxmargin.reporting.facts.classes import Thresholds, thresholds
from maxmargin.reporting.facts.ranking import Bands, Ranking, bands, ranking
from maxmargin.reporting.figures.ranking import precision_recall, roc
from maxmargin.reporting.sections.judged import Judged, share
from maxmargin.reporting.subject import Subject
from maxmargin.reporting.words import number, short


def ranking_section(subject: Subject, rows: Judged) -> Section:
    """Return ROC and precision-recall curves and the thresholds."""
    positive = rows.codes == 1
    ranked, chosen = ranking(rows.values, positive), thresholds(rows.values, positive)
    found, name = bands(ranked), short(subject.classes[1])
    parts: list[Part] = [
        Text(
            f"“{name}” is the positive class. The curves show what other thresholds than 0 would give; shaded are 95 % "
            "bootstrap intervals, from 400 samples of each class."
        ),
        *ranking_figures(ranked, found, chosen),
        Slider(
            "Choose a threshold", name, short(subject.classes[0]),
            [float(f"{one:.6g}") for one in chosen.values.tolist()], chosen.counts.tolist(), chosen.own,
            ("roc", "precision-recall"),
        ),
    ]  # fmt: skip
    return Section("ranking", "What if the threshold moves?", parts)


def ranking_figures(ranked: Ranking, found: Bands, chosen: Thresholds) -> list[Figure]:
    """Return both curves."""
    area = f"{ranked.area:.4f} (95 % interval {found.area[0]:.4f} to {found.area[1]:.4f})"
    low, high = found.average_precision
    average = f"{ranked.average_precision:.4f} (95 % interval {low:.4f} to {high:.4f})"
    some = np.unique(np.linspace(0, len(chosen.values) - 1, 12).round().astype(int)).tolist()
    counts = chosen.counts[some]
    rates = [
        (number(float(t), 3), share(tp, tp + fn), share(fp, fp + tn), share(tp, tp + fp))
        for t, (tp, fp, fn, tn) in zip(chosen.values[some], counts.tolist(), strict=True)
    ]
    table = Table(
        "Rates at some thresholds", ("threshold", "true positives (recall)", "false positives", "precision"), rates
    )
    return [
        Figure("roc", f"ROC curve, area {area}", f"True positive rate over false positive rate. The area is {area}.",
               roc(ranked, found.roc, chosen), table),
        Figure("precision-recall", f"Precision and recall, average precision {average}",
               f"Precision over recall. The average precision is {average}.",
               precision_recall(ranked, found.precision, chosen), table),
    ]  # fmt: skip
