"""Facts about some rows, which one pass over them has found (see one_pass)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from maxmargin.data.rows import Rows
from maxmargin.reporting.facts.kept_rows import KeptRows
from maxmargin.reporting.facts.row_hashes import Repeats


class Block(NamedTuple):
    """Some rows with their labels; `first` is the number of the first one."""

    rows: Rows
    labels: np.ndarray | None
    first: int


@dataclass(eq=False)
class Evidence:
    """Facts about n rows. `values` are decision values: (n,), or (n, k) for more than two classes.

    `margins` are those of the rows of a classifier, `probabilities` those of its classes, if it has them.
    `codes` are class numbers, −1 for labels that the model does not know; `targets` are numbers to predict. `means` and
    `spreads` are those of the features. `note` tells of values that the training had not seen.
    """

    name: str
    values: np.ndarray = field(repr=False)
    predicted: np.ndarray = field(repr=False)
    margins: np.ndarray = field(repr=False)
    probabilities: np.ndarray | None = field(repr=False)
    codes: np.ndarray = field(repr=False)
    targets: np.ndarray = field(repr=False)
    unknown: list[str]
    means: np.ndarray = field(repr=False)
    spreads: np.ndarray = field(repr=False)
    repeats: Repeats
    sample: KeptRows = field(repr=False)
    worst: KeptRows = field(repr=False)
    is_training: bool | None  # None: not known
    note: str = ""

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def described(self) -> str:
        """The rows in words."""
        which = {True: ", the rows of the training", False: ", not the rows of the training", None: ""}
        return f"{self.n:,} rows of {self.name}{which[self.is_training]}"
