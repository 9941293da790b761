"""ROC and precision-recall curves with their bootstrap bands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxmargin.reporting.facts.classes import Thresholds
from maxmargin.reporting.facts.ranking import Band, Ranking
from maxmargin.reporting.figures.base import Spec, axis, chart, cleaned, colours, tooltip
from maxmargin.reporting.figures.lines import Line
from maxmargin.reporting.theme import MUTED, PAPER, SERIES

POINTS = 250
STEP: Spec = {"name": "step", "value": 0}  # the place of the chosen threshold, which the slider sets
UNIT = {"domain": [0, 1]}


def roc(ranked: Ranking, band: Band, chosen: Thresholds) -> Spec:
    """Return the ROC curve."""
    across, height = ranked.false / ranked.negatives, ranked.true / ranked.positives
    true, false, missed, right = (chosen.counts[:, k] for k in range(4))
    marks = (false / (false + right), true / (true + missed))
    titles = ("false positive rate", "true positive rate")
    diagonal = [{"across": 0.0, "height": 0.0}, {"across": 1.0, "height": 1.0}]
    return curve(np.append(0.0, across), np.append(0.0, height), band, marks, chosen, titles, diagonal)


def precision_recall(ranked: Ranking, band: Band, chosen: Thresholds) -> Spec:
    """Return the precision-recall curve."""
    some = ranked.true > 0  # with a recall of 0 the precision says nothing
    across, height = (ranked.true / ranked.positives)[some], (ranked.true / (ranked.true + ranked.false))[some]
    true, false, missed = (chosen.counts[:, k] for k in range(3))
    marks = (true / (true + missed), np.divide(true, true + false, out=np.ones(len(true)), where=true + false > 0))
    share = ranked.positives / (ranked.positives + ranked.negatives)
    level = [{"across": 0.0, "height": share}, {"across": 1.0, "height": share}]
    return curve(across, height, band, marks, chosen, ("recall", "precision"), level)


def curve(
    across: np.ndarray, height: np.ndarray, band: Band, marks: tuple[np.ndarray, np.ndarray], chosen: Thresholds,
    titles: tuple[str, str], reference: list[Spec],
) -> Spec:  # fmt: skip
    """Return a curve with its band, a reference line, and a mark at the chosen threshold."""
    some = evenly(across, height)
    points = [{"across": x, "height": y} for x, y in zip(across[some], height[some], strict=True)]
    limits = [{"across": x, "low": a, "high": b} for x, a, b in zip(*band, strict=True)]
    places = [{"across": x, "height": y, "step": k, "threshold": t}
              for k, (x, y, t) in enumerate(zip(*marks, chosen.values, strict=True))]  # fmt: skip
    x, y = axis("across", titles[0], scale=UNIT), axis("height", titles[1], scale=UNIT)
    told = tooltip({}, {"across": titles[0], "height": titles[1]})
    line: Spec = {"type": "line", "aria": False}
    mark = {
        "type": "point",
        "filled": True,
        "size": 110,
        "color": SERIES[1],
        "stroke": PAPER,
        "opacity": 1,
        "aria": False,
    }
    layers: list[Spec] = [
        {"data": {"values": cleaned(limits)},
         "mark": {"type": "area", "opacity": 0.25, "color": SERIES[0], "aria": False},
         "encoding": {"x": x, "y": axis("low", titles[1], scale=UNIT), "y2": {"field": "high"}}},
        {"data": {"values": cleaned(reference)}, "encoding": {"x": x, "y": y},
         "mark": {**line, "strokeDash": [4, 3], "color": MUTED}},
        {"data": {"values": cleaned(points)}, "encoding": {"x": x, "y": y, "tooltip": told},
         "mark": {**line, "color": SERIES[0], "strokeWidth": 2}},
        {"data": {"values": cleaned(places)}, "transform": [{"filter": "datum.step === step"}], "mark": mark,
         "encoding": {"x": x, "y": y, "tooltip": [*told, *tooltip({}, {"threshold": "threshold"})]}},
    ]  # fmt: skip
    return chart(layers, params=[{**STEP, "value": chosen.own}])


def several_curves(found: Sequence[Line]) -> Spec:
    """Return the ROC curves of several classes, with the diagonal."""
    rows = [
        {"across": x, "height": y, "line": one.name}
        for one in found
        for x, y in zip(one.across.tolist(), one.height.tolist(), strict=True)
    ]
    titles = {"across": "false positive rate", "height": "true positive rate"}
    place = {"x": axis("across", titles["across"], scale=UNIT), "y": axis("height", titles["height"], scale=UNIT)}
    colour = colours("line", [one.name for one in found])
    line: Spec = {"type": "line", "aria": False}
    diagonal = [{"across": 0, "height": 0}, {"across": 1, "height": 1}]
    layers: list[Spec] = [
        {"data": {"values": diagonal}, "mark": {**line, "strokeDash": [4, 3], "color": MUTED}, "encoding": place},
        {"data": {"values": cleaned(rows)}, "mark": {**line, "strokeWidth": 2},
         "encoding": {**place, "color": colour, "tooltip": tooltip({"line": "class"}, titles)}},
    ]  # fmt: skip
    return chart(layers)


def evenly(across: np.ndarray, height: np.ndarray) -> np.ndarray:
    """Return places of at most POINTS points, evenly spaced along the curve, with both ends."""
    length = np.append(0.0, np.cumsum(np.hypot(np.diff(across), np.diff(height))))
    wanted = np.linspace(0.0, length[-1], POINTS)
    return np.unique(np.append(np.minimum(np.searchsorted(length, wanted), len(across) - 1), len(across) - 1))
