"""The boundary: a plane through the features, with regions, margins and some of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from maxmargin.reporting.content import Figure, Section, Text
from maxmargin.reporting.evidence import Evidence
from maxmargin.reporting.facts.explanations import widened
from maxmargin.reporting.facts.planes import MOST_FEATURES, Map, Plane, map_of, plane_for
from maxmargin.reporting.facts.support import is_support
from maxmargin.reporting.figures.planes import Points, Regions, plane_figure
from maxmargin.reporting.subject import Subject
from maxmargin.reporting.theme import HEAT, SERIES, TINTS
from maxmargin.reporting.words import number, short

MOST_CLASSES = 8


def plane_section(subject: Subject, evidence: Evidence, projection: Sequence[str] | None) -> Section | None:
    """Return a picture of the boundary; None if no plane shows it."""
    rows = evidence.sample.rows
    if rows is None or not has_plane(subject):
        return None
    X = widened(rows, subject.d)
    plane = plane_for(subject, X, evidence.means, projection)
    if plane is None:
        return None
    s, t = plane.coordinates(X)
    found = map_of(subject, plane, s, t)
    regions = regions_of(subject, found)
    groups, domain = groups_of(subject, evidence)
    support = is_support(subject, evidence)
    chosen = evidence.sample.numbers
    marked = np.zeros(len(chosen), dtype=bool) if support is None else support[chosen]
    spec = plane_figure(plane, found, regions, Points(s, t, groups, chosen, marked), domain)
    rings = "Support vectors have a ring." if marked.any() else ""
    words = " ".join(filter(None, [words_of(subject, plane, evidence), rings, plane.note]))
    return Section(
        "boundary", "Where is the boundary?", [Text(words), Figure("boundary", title_of(plane), words, spec)]
    )


def has_plane(subject: Subject) -> bool:
    """Whether a plane through the features can be drawn: not for one feature, for very many, or for many classes."""
    return subject.has_columns and 2 <= subject.d <= MOST_FEATURES and len(subject.classes) <= MOST_CLASSES


def title_of(plane: Plane) -> str:
    """Return the title of the picture."""
    return f"{short(plane.names[0])} and {short(plane.names[1])}"


def words_of(subject: Subject, plane: Plane, evidence: Evidence) -> str:
    """Return what the picture shows."""
    drawn = len(evidence.sample.numbers)
    rows = f"{'All' if drawn == evidence.n else 'A random sample of'} {drawn:,} rows"
    if subject.is_binary:
        return (
            f"{rows}, over the regions of both classes. The solid line is the boundary, the thin ones are the margins."
        )
    if subject.task == "novelty":
        return f"{rows}. The line is the boundary: what lies outside is taken for an outlier."
    if subject.task == "regress":
        return f"{rows}, over the values that the model predicts: the darker, the larger."
    return f"{rows}, over the regions in which the model predicts each class."


def regions_of(subject: Subject, found: Map) -> Regions:
    """Return the regions of the grid."""
    if subject.task == "novelty":
        return Regions((found.values >= 0.0).astype(int), ["outlier", "usual"], [TINTS[2], TINTS[1]], [0.0])
    if subject.task == "regress":
        edges = np.quantile(found.values, np.linspace(0.0, 1.0, len(HEAT) + 1))
        names = [f"{number(float(a))} to {number(float(b))}" for a, b in pairwise(edges)]
        return Regions(np.searchsorted(edges[1:-1], found.values, "right"), names, HEAT)
    first = [short(name) for name in subject.classes]
    if not subject.is_binary:
        return Regions(np.argmax(found.values, axis=2), [f"predicted {name}" for name in first], SERIES, opacity=0.22)
    names = [f"{first[0]}, beyond the margin", first[0], first[1], f"{first[1]}, beyond the margin"]
    return Regions(np.searchsorted([-1.0, 0.0, 1.0], found.values), names, TINTS, [-1.0, 0.0, 1.0])


def groups_of(subject: Subject, evidence: Evidence) -> tuple[list[str], list[str]]:
    """Return the group of each row of the sample, which gives its colour, and all groups."""
    chosen = evidence.sample.numbers
    if subject.task == "novelty":
        domain = ["usual row", "outlier"]
        return [domain[int(one < 0)] for one in evidence.predicted[chosen]], domain
    if subject.task == "regress":
        return ["row"] * len(chosen), ["row"]
    domain = [f"class {short(name)}" for name in subject.classes]
    return [domain[code] if code >= 0 else "another class" for code in evidence.codes[chosen]], domain
