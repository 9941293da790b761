"""A plane with the regions of the model, its boundary and margins, and a sample of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.reporting.facts.planes import Map, Plane, bands, crossings
from maxmargin.reporting.figures.base import Spec, axis, chart, cleaned, colours, tooltip
from maxmargin.reporting.theme import INK, PAPER, SERIES

HEIGHT = 360


class Regions(NamedTuple):
    """The region of each grid point, names and colours of the regions, and levels that are drawn as lines."""

    numbers: np.ndarray
    names: Sequence[str]
    tints: Sequence[str]
    levels: Sequence[float] = ()
    opacity: float = 1.0


class Points(NamedTuple):
    """Rows as points: coordinates, group of each (its colour), its number, and whether it is a support vector."""

    s: np.ndarray
    t: np.ndarray
    groups: Sequence[str]
    numbers: np.ndarray
    support: np.ndarray


def plane_figure(plane: Plane, found: Map, regions: Regions, points: Points, domain: Sequence[str]) -> Spec:
    """Return regions as tinted areas, levels as lines (dashed unless 0), and points on top."""
    xs, ys = edges(plane.shown(0, found.across)), edges(plane.shown(1, found.up))
    areas = [
        {"x": xs[a], "x2": xs[b + 1], "y": ys[i], "y2": ys[i + 1], "region": regions.names[k]}
        for i, a, b, k in bands(regions.numbers)
    ]
    x = axis("x", plane.names[0], scale={"domain": [rounded(xs[0]), rounded(xs[-1])], "nice": False, "zero": False})
    y = axis("y", plane.names[1], scale={"domain": [rounded(ys[0]), rounded(ys[-1])], "nice": False, "zero": False})
    flat = {"type": "rect", "strokeWidth": 0, "opacity": regions.opacity, "aria": False}
    axes = {"x": plane.names[0], "y": plane.names[1]}
    layers: list[Spec] = [
        {"data": {"values": cleaned(areas)}, "mark": flat,
         "encoding": {"x": x, "x2": {"field": "x2"}, "y": y, "y2": {"field": "y2"},
                      "fill": colours("region", regions.names, regions.tints)}},
        *(level_layer(plane, found, level, x, y) for level in regions.levels),
        {"data": {"values": cleaned(point_rows(plane, points))},
         "mark": {"type": "point", "filled": True, "size": 34, "opacity": 0.9, "aria": False, "clip": True},
         "encoding": {"x": x, "y": y, "stroke": either(INK, PAPER), "strokeWidth": either(1.4, 0.5),
                      "color": {**colours("group", domain, SERIES), "legend": ABOVE},
                      "shape": {"field": "group", "type": "nominal", "legend": ABOVE,
                                "scale": {"domain": list(domain), "range": SHAPES[: len(domain)]}},
                      "tooltip": tooltip({"group": "rows", "note": "row"}, axes)}},
    ]  # fmt: skip
    return chart(layers, height=HEIGHT)


ABOVE: Spec = {"title": None, "orient": "top"}  # two legends side by side would be too wide for a telephone
SHAPES = ["circle", "diamond", "square", "triangle-up", "cross", "triangle-down", "triangle-right", "triangle-left"]


def level_layer(plane: Plane, found: Map, level: float, x: Spec, y: Spec) -> Spec:
    """Return the line of a level."""
    pieces = [
        {"x": plane.shown(0, np.array(a))[()], "y": plane.shown(1, np.array(b))[()],
         "x2": plane.shown(0, np.array(c))[()], "y2": plane.shown(1, np.array(d))[()]}
        for a, b, c, d in crossings(found, level)
    ]  # fmt: skip
    mark = {"type": "rule", "color": INK, "strokeWidth": 1.8 if level == 0.0 else 1.0, "aria": False, "clip": True,
            "opacity": 1.0 if level == 0.0 else 0.55}  # fmt: skip
    return {"data": {"values": cleaned(pieces)}, "mark": mark,
            "encoding": {"x": x, "x2": {"field": "x2"}, "y": y, "y2": {"field": "y2"}}}  # fmt: skip


def either(of_support: Any, of_others: Any) -> Spec:
    """Return a value for support vectors, and another one for other rows."""
    return {"condition": {"test": "datum.support === 1", "value": of_support}, "value": of_others}


def point_rows(plane: Plane, points: Points) -> list[Spec]:
    """Return the points as rows of data."""
    xs, ys = plane.shown(0, points.s), plane.shown(1, points.t)
    return [
        {"x": x, "y": y, "group": group, "note": f"{number}{', a support vector' * own}", "support": int(own)}
        for x, y, group, number, own in zip(xs, ys, points.groups, points.numbers, points.support.tolist(), strict=True)
    ]


def edges(centres: np.ndarray) -> np.ndarray:
    """Return the edges between evenly spaced centres."""
    half = (centres[1] - centres[0]) / 2.0
    return np.append(centres - half, centres[-1] + half)


def rounded(value: float) -> float:
    """Return a number with six digits."""
    return float(f"{value:.6g}")
