"""Calibration: the share of events in groups of rows with similar scores, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Mapping

from maxmargin.reporting.facts.calibration import Calibration
from maxmargin.reporting.figures.base import Spec, axis, chart, cleaned, colours, tooltip
from maxmargin.reporting.theme import INK, MUTED

UNIT = {"domain": [0, 1]}


def calibration_figure(found: Mapping[str, Calibration], across: str, up: str, is_probability: bool) -> Spec:
    """Return a line for each name, with the diagonal if the scores are probabilities."""
    rows = [
        {"line": name, "score": s, "share": p, "low": a, "high": b, "count": int(n)}
        for name, one in found.items()
        for s, p, a, b, n in zip(*one, strict=True)
    ]
    several, data = len(found) > 1, {"values": cleaned(rows)}
    x = axis("score", across, scale=UNIT if is_probability else {"zero": False}, axis={"tickCount": 6})
    y, colour = axis("share", up, scale=UNIT), colours("line", list(found), legend=several)
    numbers = {"score": across, "share": up, "low": "low", "high": "high", "count": "rows"}
    told = tooltip({"line": "class"} if several else {}, numbers)
    intervals: Spec = {
        "data": data,
        "mark": {"type": "rule", "aria": False, "opacity": 0.5 if several else 1.0},
        "encoding": {"x": x, "y": axis("low", up, scale=UNIT), "y2": {"field": "high"}, "color": colour},
    }
    points: Spec = {
        "data": data,
        "mark": {"type": "line", "aria": False,
                 "point": {"filled": True, "size": 55, "stroke": INK, "strokeWidth": 0.5}},
        "encoding": {"x": x, "y": y, "color": colour, "tooltip": told},
    }  # fmt: skip
    return chart([*([diagonal(x, y)] if is_probability else []), intervals, points])


def diagonal(x: Spec, y: Spec) -> Spec:
    """Return the line on which probabilities are right."""
    return {
        "data": {"values": [{"score": 0.0, "share": 0.0}, {"score": 1.0, "share": 1.0}]},
        "mark": {"type": "line", "strokeDash": [4, 3], "color": MUTED, "aria": False},
        "encoding": {"x": x, "y": y},
    }
