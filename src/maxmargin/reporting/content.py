"""What a report consists of. All text is plain: it is escaped when the page is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Text:
    """A paragraph; `role` is "note" for small print, "verdict" for the sentence at the head."""

    words: str
    role: str = ""


@dataclass(frozen=True)
class Table:
    """A table with a caption. The first cell of each row names the row."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Figure:
    """A picture: a Vega-Lite specification, a text that says what it shows, and a table of its main numbers."""

    name: str
    title: str
    alternative: str
    spec: dict[str, Any] = field(repr=False)
    table: Table | None = None
    zooms: bool = False


@dataclass(frozen=True)
class Slider:
    """Thresholds with the counts of true and false answers at each of them. `start` is the place of the model's own."""

    title: str
    positive: str
    negative: str
    thresholds: Sequence[float]
    counts: Sequence[Sequence[int]]  # true positives, false positives, false negatives, true negatives
    start: int
    follows: Sequence[str] = ()  # names of figures that mark the chosen threshold


@dataclass(frozen=True)
class Finding:
    """A finding about the data or the model, and what to do about it. `good` is None for what cannot be judged."""

    good: bool | None
    what: str
    remedy: str = ""


@dataclass(frozen=True)
class Findings:
    """A list of findings."""

    found: Sequence[Finding]


Part: TypeAlias = Text | Table | Figure | Slider | Findings


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading of its own. `name` is its anchor."""

    name: str
    title: str
    parts: Sequence[Part]
