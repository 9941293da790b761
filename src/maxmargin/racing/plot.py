"""The plot of a race: objective, gap and test error against seconds and against epochs.

matplotlib is imported only to draw, and used without pyplot, so that nothing outside the figure changes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from maxmargin.errors import ParameterError
from maxmargin.system.atomic_files import check_writable, replacing
from maxmargin.system.overwriting import check_replaces, is_picture

if TYPE_CHECKING:
    from maxmargin.racing.race import Moment, Race

# Okabe and Ito's palette for colour-blind readers, without its yellow, which is hard to see on white
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
MARKERS = "osD^vPX*<>"
FLOOR = 1e-16  # a gap of 0 is drawn at this height, since a logarithmic axis has no 0
MARKS = 12  # approximate number of markers on one curve
WIDE = 30.0  # an axis is logarithmic if its largest value is more than this many times the smallest
NEEDS_LATEX = "pgf"


class Panel(NamedTuple):
    """The quantity that one column of panels shows."""

    title: str
    value: Callable[[Moment], float]
    logarithmic: bool


def check_picture(path: str | Path, force: bool = False) -> None:
    """Refuse a plot early if it cannot be drawn later: matplotlib is missing, or the file type or place is wrong.

    Only a picture may be replaced; with `force` any file.
    """
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise ParameterError("--plot needs matplotlib: pip install 'maxmargin[plot]'") from None
    known = sorted(set(FigureCanvasBase.get_supported_filetypes()) - {NEEDS_LATEX})
    if ending(path) not in known:
        raise ParameterError(f"{path}: a picture's name ends in one of .{', .'.join(known)}")
    check_writable(path)
    check_replaces(path, "a picture", is_picture, force)


def ending(path: str | Path) -> str:
    """Return the file format that the name asks for."""
    return Path(path).suffix[1:].lower()


def draw(race: Race, path: str | Path, force: bool = False) -> None:
    """Draw a race into a file, written atomically."""
    check_picture(path, force)
    from matplotlib.figure import Figure

    panels = [
        Panel("objective above the best bound, relative", lambda moment: race.above(moment.objective), True),
        Panel("relative duality gap", lambda moment: moment.gap, True),
        Panel("test error, %", lambda moment: 100.0 * (moment.test_error or 0.0), False),
    ][: 3 if race.facts["tested"] else 2]
    figure = Figure(figsize=(4.4 * len(panels), 7.6), layout="constrained")
    grid = figure.subplots(2, len(panels), sharex="row", sharey="col")
    for row, (across, place) in zip(grid, (("seconds", seconds), ("epochs", epochs)), strict=True):
        for axes, panel in zip(row, panels, strict=True):
            lines = [line(axes, race, number, place, panel) for number in range(len(race.finishers))]
            dress(axes, race, across, place, panel)
    names = figure.legend(
        lines, [lap.name for lap in race.finishers], loc="outside lower center", ncols=3, frameon=False
    )
    heading = figure.suptitle(race.title, fontsize=13)
    for text in (heading, *names.get_texts()):
        text.set_parse_math(False)
    with warnings.catch_warnings(), replacing(path) as stream:
        warnings.simplefilter("ignore")  # a letter of a file's name that the font lacks is drawn as a box
        figure.savefig(stream, format=ending(path), dpi=120)


def line(axes: Any, race: Race, number: int, place: Callable[[Moment], float], panel: Panel) -> Any:
    """Draw the curve of one solver in its colour and marker. Later curves are thinner, so that none is hidden."""
    curve = race.finishers[number].curve
    heights = [panel.value(moment) for moment in curve]
    (drawn,) = axes.plot(
        [place(moment) for moment in curve],
        [max(height, FLOOR) if isfinite(height) else inf for height in heights] if panel.logarithmic else heights,
        color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)], markersize=4.5,
        markevery=marks(len(curve), number), linestyle="-" if number < len(COLOURS) else "--",
        linewidth=min(1.2 + 0.2 * (len(race.finishers) - 1 - number), 2.4),
    )  # fmt: skip
    return drawn


def marks(count: int, number: int) -> list[int]:
    """Return the points that get a marker: evenly spaced, always the last, and shifted from one curve to the next."""
    step = max(1, count // MARKS)
    return sorted({*range(number * step // 3 % step, count, step), count - 1})


def dress(axes: Any, race: Race, across: str, place: Callable[[Moment], float], panel: Panel) -> None:
    """Set the scales, limits, labels and grid of one panel."""
    moments = [moment for lap in race.finishers for moment in lap.curve]
    places = [place(moment) for moment in moments if place(moment) > 0]
    if places and max(places) > WIDE * min(places):
        axes.set_xscale("log")
    else:
        axes.locator_params(axis="x", nbins=5)
    heights = [panel.value(moment) for moment in moments]
    if not panel.logarithmic:
        axes.set_ylim(*window(race, panel))
    elif any(map(isfinite, heights)):
        axes.set_yscale("log")
    else:
        axes.set_yticks([])
        axes.text(0.5, 0.5, "never finite", transform=axes.transAxes, ha="center", color="0.4")
    axes.set_xlabel(across)
    axes.set_title(panel.title, fontsize=11)
    axes.grid(True, which="major", color="0.88")
    axes.spines[["top", "right"]].set_visible(False)


def window(race: Race, panel: Panel) -> tuple[float, float]:
    """Return the range of the error axis: the lower three quarters of each curve. Early errors may lie outside."""
    curves = [sorted(map(panel.value, lap.curve)) for lap in race.finishers]
    low = min(curve[0] for curve in curves)
    high = max(curve[(3 * len(curve)) // 4] for curve in curves)
    room = max(0.15 * (high - low), 0.1)
    return low - room, high + 2 * room


def seconds(moment: Moment) -> float:
    """Return the seconds of a moment."""
    return moment.seconds


def epochs(moment: Moment) -> float:
    """Return the epochs of a moment."""
    return moment.epochs
