"""The tuning curve: mean scores with standard errors over C, a line for each γ. Dropped settings are open circles."""

from __future__ import annotations

from maxmargin.reporting.figures.base import ZOOM, Spec, axis, chart, cleaned, colours, tooltip
from maxmargin.reporting.theme import INK, MUTED
from maxmargin.tuning.tuning import Tuning


def tuning_figure(found: Tuning) -> Spec:
    """Return the tuning curve; the chosen point has a ring."""
    rows = [
        {
            "C": one.C,
            "mean": one.mean,
            "low": one.mean - one.error,
            "high": one.mean + one.error,
            "group": group(one.gamma),
            "folds": f"{len(one.known)} of {found.folds}",
            "complete": one.complete,
        }
        for one in found.candidates
        if one.known
    ]
    complete, some = ([row for row in rows if row["complete"] is kind] for kind in (True, False))
    chosen = [row for row in rows if row["C"] == found.C and row["group"] == group(found.gamma)]
    names = list(dict.fromkeys(str(row["group"]) for row in rows))
    tried = {"values": sorted({one.C for one in found.candidates}), "format": ".3~g", "labelOverlap": True}
    x = axis("C", "C", scale={"type": "log"}, axis=tried)
    y = axis("mean", found.scoring, scale={"zero": False})
    colour = colours("group", names, legend=len(names) > 1)
    told = tooltip(
        {"group": "γ"} if len(names) > 1 else {},
        {"C": "C", "mean": "mean", "low": "mean − error", "high": "mean + error", "folds": "folds"},
    )
    point: Spec = {"encoding": {"x": x, "y": y, "color": colour, "tooltip": told}}
    best = found.best
    limit: Spec = {"data": {"values": [] if best is None else cleaned([{"at": best.mean - best.error}])},
                   "mark": {"type": "rule", "strokeDash": [4, 3], "color": MUTED, "aria": False},
                   "encoding": {"y": {"field": "at", "type": "quantitative"}}}  # fmt: skip
    layers: list[Spec] = [
        {"data": {"values": cleaned(complete)}, "mark": {"type": "rule", "aria": False, "opacity": 0.6},
         "encoding": {"x": x, "y": axis("low", found.scoring), "y2": {"field": "high"}, "color": colour}},
        {"data": {"values": cleaned(rows)}, "params": [ZOOM], "mark": {"type": "line", "aria": False}, **point},
        {"data": {"values": cleaned(complete)}, "mark": {"type": "point", "filled": True, "size": 45}, **point},
        {"data": {"values": cleaned(some)}, "mark": {"type": "point", "size": 45}, **point},
        {"data": {"values": cleaned(chosen)}, "encoding": {"x": x, "y": y},
         "mark": {"type": "point", "size": 240, "color": INK, "strokeWidth": 2, "aria": False}},
        limit,
    ]  # fmt: skip
    return chart([layer for layer in layers if layer["data"]["values"]])  # Vega warns of layers without data


def group(gamma: float | None) -> str:
    """Return the name of a line."""
    return "" if gamma is None else f"γ = {gamma:.4g}"
