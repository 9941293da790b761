"""The table of a search for the terminal: a line for each C, or with several γ a column for each γ."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import isnan
from shutil import get_terminal_size

from maxmargin.cli.progress import SECONDS_BETWEEN_LINES
from maxmargin.tuning.table import Candidate, threshold
from maxmargin.tuning.tuning import Tuning

NOTHING = "—"
LARGE = 100.0  # scores from here on are errors of a regression, shown with five digits
FRESH = 0.1  # least seconds between two drawings of the live table

Show = Callable[[Tuning], None]


@contextmanager
def live_table(quiet: bool) -> Iterator[Show]:
    """Yield a callback that shows the progress of a search."""
    if quiet:
        yield lambda tuning: None
    elif sys.stderr.isatty():
        with drawn() as show:
            yield show
    else:
        yield lines()


@contextmanager
def drawn() -> Iterator[Show]:
    """Yield a callback that draws the table in place. It disappears after the search."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    last = 0.0
    with Live(Text("preparing"), console=Console(stderr=True), transient=True, auto_refresh=False) as live:

        def show(tuning: Tuning) -> None:
            nonlocal last
            if time.monotonic() - last >= FRESH:
                last = time.monotonic()
                room = get_terminal_size().lines - 2  # more lines than the terminal has could not be removed
                live.update(Text("\n".join([tuning.progress, *table_lines(tuning)][:room])), refresh=True)

        yield show


def lines() -> Show:
    """Return a callback that prints a line on standard error every few seconds."""
    last = time.monotonic()

    def show(tuning: Tuning) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(tuning.progress, file=sys.stderr, flush=True)

    return show


def table_lines(tuning: Tuning) -> list[str]:
    """Return the heading and the table, which has a column for each γ if it is not too wide for the terminal."""
    gammas = {one.gamma for one in tuning.candidates}
    lines = [f"{tuning.scoring}, {tuning.folds} folds ({tuning.kind})"]
    table = by_gamma(tuning) if len(gammas) > 1 else by_C(tuning)
    lines += table if len(table[0]) < get_terminal_size().columns else by_C(tuning)
    if any(one.dropped for one in tuning.candidates):
        lines.append("in brackets: the first folds only; dropped, because it will not be chosen")
    return lines


def by_C(tuning: Tuning) -> list[str]:
    """Return a line for each candidate: mean score and its standard error."""
    rows = [
        [one.name, cell(one), shown(one.error) if one.known else NOTHING, mark(one, tuning)]
        for one in tuning.candidates
    ]
    return aligned([["", "mean", "error", ""], *rows])


def by_gamma(tuning: Tuning) -> list[str]:
    """Return a line for each C with the mean scores of all γ."""
    gammas = sorted({one.gamma for one in tuning.candidates if one.gamma is not None})
    by_place = {(one.C, one.gamma): one for one in tuning.candidates}
    rows = [["", *(f"γ={gamma:.2g}" for gamma in gammas)]]
    for C in sorted({one.C for one in tuning.candidates}):
        cells = [by_place[C, gamma] for gamma in gammas]
        rows.append([f"C={C:.4g}", *(mark(one, tuning) + cell(one) for one in cells)])
    return aligned(rows)


def mark(candidate: Candidate, tuning: Tuning) -> str:
    """Return * for the chosen candidate, and + for the best one if it is another."""
    if candidate is tuning.chosen:
        return "*"
    return "+" if candidate is tuning.best else ""


def cell(candidate: Candidate) -> str:
    """Return the mean score, in brackets if the candidate was not run on all folds."""
    return f"({shown(candidate.mean)})" if candidate.dropped else shown(candidate.mean)


def aligned(rows: list[list[str]]) -> list[str]:
    """Return the rows as text, each column as wide as its longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [" ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def shown(score: float) -> str:
    """Format a score; a dash if there is none."""
    if isnan(score):
        return NOTHING
    return f"{score:.4f}" if abs(score) < LARGE else f"{score:.5g}"


def chosen_line(tuning: Tuning) -> str:
    """Return what was chosen, and why."""
    chosen, best = tuning.chosen, tuning.best
    assert chosen is not None
    value = f"{shown(chosen.mean)} ± {shown(chosen.error)}"
    if best is None or best is chosen:
        return f"chosen (*): {chosen.name}, the best: {value}"
    least = threshold(tuning.candidates, tuning.rule)
    return f"chosen (*): {chosen.name}: {value}, the simplest of at least {shown(least)}; best (+): {best.name}"


def fold_line(candidate: Candidate, scoring: str) -> str:
    """Return the result of a cross-validation of one choice of parameters."""
    scores = ", ".join(map(shown, candidate.known))
    return f"{scoring} {shown(candidate.mean)} ± {shown(candidate.error)} ({len(candidate.scores)} folds: {scores})"
