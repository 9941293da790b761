"""A record of progress as one line of text, for the command line and for `verbose` of the estimators."""

from __future__ import annotations

from maxmargin.loop.record import Reading, Record
from maxmargin.system.budget import shown_size


def as_text(record: Record) -> str:
    """Format a record as text."""
    name = f"{record.problem}: " if record.problem else ""
    gap = max(record.best.relative_gap, 0.0)
    mistakes = f", {record.mistakes} mistakes" if record.mistakes is not None else ""
    if record.reading is not None:
        return f"{name}{reading_words(record.reading)}, objective {record.best.primal:.6g}, gap {gap:.1e}"
    return f"{name}epoch {record.epochs:.0f}, objective {record.best.primal:.6g}, gap {gap:.1e}{mistakes}"


def reading_words(reading: Reading) -> str:
    """Format the progress of training from files as text."""
    done = f" {reading.read / reading.size:.0%} of {shown_size(reading.size)}" if reading.size else ""
    return (
        f"pass {reading.passes + 1}{done}, cache {reading.fill:.0%}, {reading.evicted:,} evicted, "
        f"{reading.updates:.3g} steps/s"
    )
