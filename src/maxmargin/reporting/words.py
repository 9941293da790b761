"""Numbers and names as text."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

LONGEST = 40
TINY = 1e-6


def number(value: Any, digits: int = 4) -> str:
    """Format a number with some significant digits; thousands have commas. Other values are shown as they are."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if not isfinite(value):
        return "∞" if value > 0 else "−∞" if value < 0 else "unknown"
    if value and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{digits}g}" if abs(value) < 10.0**digits else f"{value:,.0f}"


def percent(share: float, digits: int = 1) -> str:
    """Format a share of 0 to 1 as a percentage. A small one keeps two digits; a tiny one is rounded up."""
    if not isfinite(share):
        return number(share)
    if 0.0 < abs(share) < 10.0 ** (-2 - digits):
        return f"{100.0 * share:.2g}%" if abs(share) >= TINY else f"{100.0 * TINY:.4f}%"
    return f"{100.0 * share:.{digits}f}%"


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def short(text: Any, longest: int = LONGEST) -> str:
    """Return the beginning of a long text."""
    text = str(text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return the first few names, quoted."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(f"“{short(name)}”" for name in names[:most]) + more
