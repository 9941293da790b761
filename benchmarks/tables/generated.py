"""A table with every kind of column, and a label that follows a known rule but for some noise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

LABEL = "pays"
WORDS = "good bad slow quick cheap dear clean dirty warm cold near far old new big small"
ROWS_AT_ONCE = 250_000


def generated(n: int, seed: int = 0) -> pd.DataFrame:
    """Return n rows."""
    rng = np.random.default_rng(seed)
    age, income = rng.integers(18, 90, n).astype(float), rng.lognormal(10.0, 0.7, n)
    towns = np.array([f"town {k:02d}" for k in range(30)])
    town = rng.choice(towns, n)
    words = np.array(WORDS.split())
    notes = [" ".join(one) for one in rng.choice(words, (n, 8))]
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1500, n), unit="D")
    score = 0.03 * (age - 50.0) + 0.8 * (np.log(income) - 10.0) + 0.7 * np.isin(town, towns[:10])
    score += 0.8 * np.array([("good" in one) - ("bad" in one) for one in notes]) + 0.6 * (day.day_of_week >= 5)
    found = pd.DataFrame({
        "age": age, "income": np.round(income, 2), "town": town, "note": notes, "day": day.strftime("%Y-%m-%d"),
        LABEL: np.where(score + 0.5 * rng.normal(size=n) > 0.3, "yes", "no"),
    })  # fmt: skip
    found.loc[rng.random(n) < 0.05, "age"] = np.nan
    found.loc[rng.random(n) < 0.05, "town"] = None
    return found


def write(path: Path, n: int, seed: int) -> None:
    """Write n rows as a CSV file, some at a time."""
    for part, start in enumerate(range(0, n, ROWS_AT_ONCE)):
        rows = generated(min(ROWS_AT_ONCE, n - start), 1000 * seed + part)
        rows.to_csv(path, index=False, header=part == 0, mode="w" if part == 0 else "a")
