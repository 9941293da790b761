"""The largest weights: one line for each column, a point for each of its features."""

from __future__ import annotations

from collections.abc import Sequence

from maxmargin.reporting.facts.importance import Column
from maxmargin.reporting.figures.base import Spec, axis, chart, cleaned, colours, rules, tooltip
from maxmargin.reporting.theme import MUTED, SERIES
from maxmargin.reporting.words import short

ROW = 22  # pixels of a line
LONGEST = 26


def weights_figure(columns: Sequence[Column], problems: Sequence[str], across: str) -> Spec:
    """Return the effects of the features. With one problem colours tell the sign, with several the problem."""
    single = len(problems) == 1
    names = named(columns)
    rows = [
        {"column": name, "feature": entry.name, "effect": effect, "weight": weight, "unit": entry.unit, "zero": 0,
         "group": (SIGNS[effect < 0.0] if single else problem)}
        for name, column in zip(names, columns, strict=True)
        for entry in column.entries
        for problem, effect, weight in zip(problems, entry.effects.tolist(), entry.weights.tolist(), strict=True)
    ]  # fmt: skip
    groups = list(SIGNS) if single else list(problems)
    y = axis("column", "", "nominal", sort=names, axis={"labelLimit": 150, "title": None})
    told = tooltip({"feature": "feature", "unit": "unit"}, {"weight": "weight", "effect": "effect"})
    if not single:
        told.insert(0, {"field": "group", "type": "nominal", "title": "class"})
    stems: Spec = {"data": {"values": cleaned(rows)},
                   "mark": {"type": "rule", "opacity": 0.5, "aria": False},
                   "encoding": {"y": y, "x": axis("zero", across), "x2": {"field": "effect"},
                                "color": {"value": MUTED}}}  # fmt: skip
    dots: Spec = {
        "data": {"values": cleaned(rows)},
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.9, "aria": False},
        "encoding": {"y": y, "x": axis("effect", across), "color": colours("group", groups, SERIES), "tooltip": told},
    }
    return chart([rules([0.0], dashed=False), stems, dots], height=max(len(names), 2) * ROW)


def bars(names: Sequence[str], lengths: Sequence[float], across: str) -> Spec:
    """Return a bar for each column."""
    rows = [{"column": name, "length": length} for name, length in zip(names, lengths, strict=True)]
    encoding = {
        "y": axis("column", "", "nominal", sort=list(names), axis={"labelLimit": 150, "title": None}),
        "x": axis("length", across),
        "tooltip": tooltip({"column": "column"}, {"length": across}),
    }
    mark = {"type": "bar", "color": SERIES[0], "aria": False}
    return chart([{"mark": mark, "encoding": encoding}], rows, height=max(len(names), 2) * ROW)


SIGNS = ("raises it", "lowers it")


def named(columns: Sequence[Column]) -> list[str]:
    """Return short names of the columns, each different."""
    return different([column.name for column in columns])


def different(names: Sequence[str]) -> list[str]:
    """Return short names, each different."""
    found: list[str] = []
    for name in names:
        start = short(name, LONGEST)
        found.append(start if start not in found else f"{start} ({len(found) + 1})")
    return found
