"""Building blocks of Vega-Lite specifications.

Fields have short names of our own; names from the data are values only, so no character in them has a meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from maxmargin.reporting.theme import CONFIG, MUTED, SERIES

Spec = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"  # names the version; nothing is fetched
HEIGHT = 260
LONG = 16  # letters of a name, of which two do not fit side by side on a telephone
WIDE = 30.0  # an axis is logarithmic if its largest value is more than this many times the smallest
ZOOM: Spec = {  # the wheel alone scrolls the page
    "name": "zoom",
    "bind": "scales",
    "select": {"type": "interval", "zoom": "wheel![event.altKey]"},
}


def chart(layers: Sequence[Spec], data: Iterable[Spec] | None = None, height: Any = HEIGHT, **more: Any) -> Spec:
    """Return a specification of several layers over one another."""
    values = {} if data is None else {"data": {"values": cleaned(data)}}
    return {"$schema": SCHEMA, "width": "container", "height": height, "config": CONFIG, "layer": list(layers),
            "autosize": {"type": "fit-x", "contains": "padding"}, **values, **more}  # fmt: skip


def cleaned(data: Iterable[Spec]) -> list[Spec]:
    """Return rows of data with rounded numbers; those that are not finite become null."""
    return [{key: rounded(value) for key, value in row.items()} for row in data]


def rounded(value: Any) -> Any:
    """Return a number with six digits, None if it is not finite; other values as they are."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.6g}") if isfinite(value) else None
    return value


def axis(field: str, title: str, kind: str = "quantitative", **more: Any) -> Spec:
    """Return the encoding of an axis."""
    return {"field": field, "type": kind, "title": title, **more}


def colours(field: str, domain: Sequence[str], chosen: Sequence[str] = SERIES, legend: bool = True) -> Spec:
    """Return the encoding of a colour by name, in the order of the names. Long names stand below one another."""
    repeated = [chosen[k % len(chosen)] for k in range(len(domain))]
    shown = {"title": None, "columns": 1 if max(map(len, domain), default=0) > LONG else 2} if legend else None
    return {"field": field, "type": "nominal", "scale": {"domain": list(domain), "range": repeated}, "legend": shown}


def tooltip(names: Mapping[str, str], numbers: Mapping[str, str]) -> list[Spec]:
    """Return the encoding of a tooltip: the titles of fields that hold names and of fields that hold numbers."""
    return [
        *({"field": field, "title": title, "type": "nominal"} for field, title in names.items()),
        *({"field": field, "title": title, **NUMBER} for field, title in numbers.items()),
    ]


NUMBER: Spec = {"type": "quantitative", "format": ",.4~g"}


def rules(places: Sequence[float], axis_name: str = "x", dashed: bool = True, colour: str = MUTED) -> Spec:
    """Return lines across the picture at some places of an axis."""
    mark = {"type": "rule", "color": colour, "aria": False, **({"strokeDash": [4, 3]} if dashed else {})}
    return {"data": {"values": [{"at": rounded(place)} for place in places]}, "mark": mark,
            "encoding": {axis_name: {"field": "at", "type": "quantitative"}}}  # fmt: skip


def scale_of(values: Iterable[float]) -> Spec:
    """Return a logarithmic scale if positive values differ widely, else a linear one."""
    positive = [value for value in values if isfinite(value) and value > 0.0]
    if positive and max(positive) > WIDE * min(positive):
        return {"type": "log"}
    return {"zero": False}
