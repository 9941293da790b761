"""Curves: convergence, a race, tuning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.reporting.figures.base import ZOOM, Spec, axis, chart, colours, scale_of, tooltip

LEAST_GAP = 1e-16  # a gap of 0 is drawn here: a logarithmic axis has no 0


class Line(NamedTuple):
    """A named line through some points; `part` tells lines of the same name and colour apart."""

    name: str
    across: np.ndarray
    height: np.ndarray
    part: str = ""


def lines(found: Sequence[Line], across: str, height: str, logarithmic: bool = False, **more: Any) -> Spec:
    """Return a picture of lines that can be moved and zoomed."""
    rows = [
        {"across": x, "height": max(y, LEAST_GAP) if logarithmic else y, "line": line.name, "part": line.part}
        for line in found
        for x, y in zip(line.across.tolist(), line.height.tolist(), strict=True)
        if np.isfinite(y) and np.isfinite(x)
    ]
    x_scale = scale_of([row["across"] for row in rows])
    if x_scale.get("type") == "log":
        rows = [row for row in rows if row["across"] > 0.0]
    y_scale: Spec = {"type": "log"} if logarithmic else {"zero": False, **window_of(found)}
    names = list(dict.fromkeys(line.name for line in found))
    encoding: dict[str, Any] = {
        "x": axis("across", across, scale=x_scale, axis={"tickCount": 6}),
        "y": axis("height", height, scale=y_scale, axis={"tickCount": 6}),
        "color": {**colours("line", names), "legend": STROKES},
        "strokeDash": {**colours("line", names), "scale": {"domain": names, "range": DASHES}, "legend": STROKES},
        "detail": {"field": "part"},
        "tooltip": tooltip({"line": "line"}, {"across": across, "height": height}),
    }
    if any(line.part for line in found):
        encoding["tooltip"].insert(1, {"field": "part", "type": "nominal", "title": "problem"})
    marks: list[Spec] = [{"mark": {"type": "line", "clip": True, "strokeWidth": 1.8, "aria": False}, "params": [ZOOM]},
             {"mark": {"type": "point", "clip": True, "filled": True, "size": 16, "aria": False}}]  # fmt: skip
    return chart(marks, rows, encoding=encoding, **more)


STROKES: Spec = {"title": None, "symbolType": "stroke"}
DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]


def window_of(found: Sequence[Line]) -> Spec:
    """Return limits that show the later three quarters of each line; early values may be far off."""
    late = [line.height[len(line.height) // 4 :] for line in found if len(line.height)]
    values = np.concatenate(late) if late else np.zeros(0)
    values = values[np.isfinite(values)]
    if not len(values) or np.ptp(values) == 0.0:
        return {}
    low, high = float(values.min()), float(values.max())
    room = 0.08 * (high - low)
    return {"domain": [low - room, high + room], "nice": False}
