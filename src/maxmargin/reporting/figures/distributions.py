"""Histograms, counts on a grid, and tables as coloured squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.reporting.facts.histograms import Histogram
from maxmargin.reporting.figures.base import Spec, axis, chart, cleaned, colours, rules, tooltip
from maxmargin.reporting.theme import HEAT, INK, SERIES

SQUARE = 26  # pixels of the side of a square


def histogram_figure(
    found: Histogram, names: Sequence[str], across: str, marked: Sequence[float] = (), palette: Sequence[str] = SERIES
) -> Spec:
    """Return stacked bars, with lines at some values."""
    rows = [
        {"from": found.edges[k], "to": found.edges[k + 1], "count": int(count), "group": name}
        for name, counts in zip(names, found.counts, strict=True)
        for k, count in enumerate(counts.tolist())
        if count
    ]
    bars: Spec = {
        "data": {"values": cleaned(rows)},
        "mark": {"type": "bar", "aria": False, "binSpacing": 0.5},
        "encoding": {
            "x": {**axis("from", across), "bin": {"binned": True}, "axis": {"tickCount": 8}},
            "x2": {"field": "to"},
            "y": axis("count", "rows", stack="zero", axis={"tickCount": 5, "format": "~s"}),
            "color": colours("group", names, palette),
            "tooltip": tooltip({"group": "group"}, {"from": "from", "to": "to", "count": "rows"}),
        },
    }
    return chart([bars, *([rules(marked)] if marked else [])])


def squares(
    counts: np.ndarray, rows: Sequence[str], columns: Sequence[str], titles: tuple[str, str], shares: np.ndarray
) -> Spec:
    """Return a table as squares, coloured by `shares` from 0 to 1, with the counts inside if there are few."""
    data = [
        {"row": rows[i], "column": columns[j], "count": int(counts[i, j]), "share": float(shares[i, j]),
         "shade": min(int(shares[i, j] * len(HEAT)), len(HEAT) - 1)}
        for i in range(len(rows))
        for j in range(len(columns))
    ]  # fmt: skip
    place = {
        "x": axis(
            "column", titles[1], "nominal", sort=list(columns), axis={"labelAngle": 0 if len(columns) < 5 else -50}
        ),
        "y": axis("row", titles[0], "nominal", sort=list(rows)),
    }
    told = tooltip({"row": titles[0], "column": titles[1]}, {"count": "rows", "share": "share of the row"})
    shade = {"field": "shade", "type": "ordinal", "scale": {"domain": list(range(len(HEAT))), "range": HEAT},
             "legend": None}  # fmt: skip
    boxes: Spec = {"mark": {"type": "rect", "aria": False}, "encoding": {**place, "color": shade, "tooltip": told}}
    layers = [boxes]
    if len(columns) <= 8:
        light = {"condition": {"test": "datum.shade >= 4", "value": "var(--on-heat)"}, "value": INK}
        layers.append({"mark": {"type": "text", "aria": False, "fontSize": 12},
                       "encoding": {**place, "text": {"field": "count", "format": ",d"}, "color": light}})  # fmt: skip
    return chart(layers, data, height=len(rows) * (SQUARE if len(rows) > 4 else 60))


def density(
    edges: tuple[np.ndarray, np.ndarray], counts: np.ndarray, across: str, up: str, more: Sequence[Any]
) -> Spec:
    """Return counts on a grid as squares, darker where there are more rows; `more` are further layers."""
    most = max(int(counts.max()), 1)
    rows = [
        {"x": edges[0][i], "x2": edges[0][i + 1], "y": edges[1][j], "y2": edges[1][j + 1], "count": int(counts[i, j]),
         "shade": 1 + min(int(4.999 * np.log1p(counts[i, j]) / np.log1p(most)), 4)}
        for i, j in np.argwhere(counts).tolist()
    ]  # fmt: skip
    shade = {"field": "shade", "type": "ordinal", "scale": {"domain": [1, 2, 3, 4, 5], "range": HEAT[1:]},
             "legend": None}  # fmt: skip
    boxes: Spec = {
        "data": {"values": cleaned(rows)},
        "mark": {"type": "rect", "aria": False},
        "encoding": {
            "x": axis("x", across, scale={"zero": False, "nice": False}), "x2": {"field": "x2"},
            "y": axis("y", up, scale={"zero": False, "nice": False}), "y2": {"field": "y2"},
            "color": shade, "tooltip": tooltip({}, {"x": f"{across}, from", "y": f"{up}, from", "count": "rows"}),
        },
    }  # fmt: skip
    return chart([boxes, *more])
