"""How C and γ were chosen: the score of each value in cross-validation."""

from __future__ import annotations

from maxmargin.reporting.content import Figure, Part, Section, Table, Text
from maxmargin.reporting.figures.tuning import tuning_figure
from maxmargin.reporting.words import number
from maxmargin.tuning.tuning import Tuning

RULES = {
    "one_standard_error": "the simplest setting whose mean score is within one standard error of the best",
    "best": "the best mean score",
}


def tuning_section(found: Tuning) -> Section:
    """Return the tuning curve with its table."""
    gamma = "" if found.gamma is None else f" and γ = {number(found.gamma)}"
    verb = "was" if found.gamma is None else "were"
    told = f"C = {number(found.C)}{gamma} {verb} chosen: {RULES.get(found.rule, found.rule)}."
    ended = f"ended early ({found.ended})" if found.ended else "tried everything"
    some_folds = any(one.dropped and one.known for one in found.candidates)
    dropped = " Open circles are means over the first folds of settings that were dropped." * some_folds
    words = (
        f"{told} Each point is the mean {found.scoring} over {found.folds} folds ({found.kind}), with its standard "
        f"error; the dashed line is the best mean minus its error.{dropped} "
        f"The search took {number(found.seconds)} seconds and {ended}."
    )
    rows = [
        (number(one.C), *(() if one.gamma is None else (number(one.gamma),)),
         *((number(one.mean), number(one.error)) if one.known else ("–", "–")), number(len(one.known)),
         number(one.seconds), one.dropped)
        for one in found.candidates
    ]  # fmt: skip
    kernel = found.gamma is not None
    header = (
        "C",
        *(("γ",) if kernel else ()),
        f"mean {found.scoring}",
        "standard error",
        "folds",
        "seconds",
        "dropped",
    )
    parts: list[Part] = [Text(words)]
    if found.chosen is not None:
        parts.append(Figure("tuning", "Score over C", told, tuning_figure(found), zooms=True))
    return Section(
        "tuning", "How were the settings chosen?", [*parts, Table("All settings that were tried", header, rows)]
    )
