"""A record of progress as one line of text, for the command line and for `verbose` of the estimators."""

from __future__ import annotations

from maxmargin.loop.record import Reading, Record
from maxmargin.system.budget import shown_size


def as_text(record: Record) -> str:
    """Format a record as text."""
    return f"{without_gap(record)}, gap {max(record.best.relative_gap, 0.0):.1e}"


def without_gap(record: Record) -> str:
    """Format a record as text, without its gap."""
    name = f"{record.problem}: " if record.problem else ""
    done = f"epoch {record.epochs:.0f}" if record.reading is None else reading_words(record.reading)
    mistakes = f", {record.mistakes} mistakes" if record.mistakes is not None else ""
    return f"{name}{done}, objective {record.best.primal:.6g}{mistakes}"


def reading_words(reading: Reading) -> str:
    """Format the progress of training from files as text."""
    done = f" {reading.read / reading.size:.0%} of {shown_size(reading.size)}" if reading.size else ""
    ended = reading.passes > 0 and reading.read >= reading.size > 0
    return (
        f"pass {reading.passes + (not ended)}{done}, cache {reading.fill:.0%}, {reading.evicted:,} evicted, "
        f"{reading.updates:.3g} steps/s"
    )
