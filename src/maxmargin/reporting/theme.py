"""The colours of a report, light and dark. Pictures name them as CSS variables, so that a page follows its reader.

The colours of series are Okabe and Ito's, which colour-blind readers can tell apart, lightened for a dark page.
"""

from __future__ import annotations

from typing import Any

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1b1f24",
    "muted": "#57606a",
    "line": "#d0d7de",
    "panel": "#f6f8fa",
    "link": "#0550ae",
    "good": "#1a7f37",
    "warn": "#9a6700",
    "series-1": "#0072b2",
    "series-2": "#d55e00",
    "series-3": "#009e73",
    "series-4": "#a5508c",
    "series-5": "#8a6d00",
    "series-6": "#3a86c8",
    "series-7": "#444444",
    "series-8": "#b03060",
    "tint-1": "#a6cfe8",
    "tint-2": "#dcebf5",
    "tint-3": "#fbe6d6",
    "tint-4": "#f2bd94",
    "heat-0": "#f6f8fa",
    "heat-1": "#d6e6f2",
    "heat-2": "#a9cce5",
    "heat-3": "#70abd3",
    "heat-4": "#3a86bd",
    "heat-5": "#0a5a94",
    "on-heat": "#ffffff",
}
DARK = {
    "paper": "#0d1117",
    "ink": "#e6edf3",
    "muted": "#9da7b1",
    "line": "#30363d",
    "panel": "#161b22",
    "link": "#79b8ff",
    "good": "#56d364",
    "warn": "#e3b341",
    "series-1": "#56b4e9",
    "series-2": "#f0883e",
    "series-3": "#3fc79a",
    "series-4": "#d99bc6",
    "series-5": "#e0c341",
    "series-6": "#8ab8e8",
    "series-7": "#c0c0c0",
    "series-8": "#f08ba8",
    "tint-1": "#1f5273",
    "tint-2": "#16324a",
    "tint-3": "#46301d",
    "tint-4": "#754618",
    "heat-0": "#161b22",
    "heat-1": "#17314a",
    "heat-2": "#1c4b73",
    "heat-3": "#2a6da3",
    "heat-4": "#4a97d1",
    "heat-5": "#8cc8f2",
    "on-heat": "#0d1117",
}
SERIES = [f"var(--series-{k})" for k in range(1, 9)]
TINTS = [f"var(--tint-{k})" for k in range(1, 5)]
HEAT = [f"var(--heat-{k})" for k in range(6)]
INK, MUTED, LINE, PAPER = (f"var(--{name})" for name in ("ink", "muted", "line", "paper"))
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"

CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": None},
    "mark": {"aria": False},
    "axis": {
        "labelColor": MUTED, "titleColor": INK, "gridColor": LINE, "domainColor": MUTED, "tickColor": MUTED,
        "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 150, "gridOpacity": 0.7,
    },
    "legend": {"labelColor": INK, "titleColor": INK, "orient": "bottom", "labelLimit": 220, "columns": 2,
               "labelFontSize": 12, "titleFontWeight": "normal", "symbolStrokeWidth": 2, "symbolOpacity": 1},
    "range": {"category": SERIES},
}  # fmt: skip


def css(colours: dict[str, str]) -> str:
    """Return the colours as declarations of CSS variables."""
    return "".join(f"--{name}:{value};" for name, value in colours.items())


def resolved(spec: Any, colours: dict[str, str]) -> Any:
    """Return a specification with variables replaced by colours, for pictures outside of a page."""
    if isinstance(spec, dict):
        return {key: resolved(value, colours) for key, value in spec.items()}
    if isinstance(spec, list):
        return [resolved(value, colours) for value in spec]
    if isinstance(spec, str) and spec.startswith("var(--"):
        return colours.get(spec[6:-1], spec)
    return spec
