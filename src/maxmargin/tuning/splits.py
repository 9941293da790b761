"""The folds of a cross-validation: stratified, grouped, or ordered in time, by scikit-learn's splitters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.data.examples import Examples
from maxmargin.data.labels import show
from maxmargin.errors import DataError, ParameterError
from maxmargin.system.values import is_whole

ORDERS = ("random", "time")
NUMBERS = "; if the labels are numbers to predict, take task='regress' (--task regress)"


class Fold(NamedTuple):
    """The row numbers on which a model is trained, and those on which it is scored."""

    train: np.ndarray
    test: np.ndarray


class Splits(NamedTuple):
    """The folds, what kind they are, and a note if they are not quite what was asked for."""

    folds: list[Fold]
    kind: str
    note: str = ""


def splits_of(data: Examples, folds: Any, groups: Any, order: str, seed: int) -> Splits:
    """Return the folds: `folds` of them, or those of a splitter with a method `split`, or pairs of row numbers."""
    if order not in ORDERS:
        raise ParameterError(f"order={order!r} is not known: choose one of {', '.join(ORDERS)}")
    y = data.codes if len(data.classes) else data.targets
    if not is_whole(folds):
        found = as_given(folds, data.n, y, groups)
        return Splits(checked(found, data), "given")
    if not 2 <= folds <= data.n:
        raise ParameterError(f"folds={folds!r} must be at least 2 and at most the number of rows, {data.n:,}")
    groups = None if groups is None else checked_groups(groups, data.n, int(folds))
    splitter, kind = splitter_for(len(data.classes) > 0, int(folds), groups is not None, order, seed)
    note = ""
    if kind == "stratified" and (rarest := int(np.bincount(data.codes).min())) < folds:
        if rarest < 2:
            raise DataError(
                f"{rare(data)} has 1 row, too few for folds: leave it out, or merge it with another class"
                + (NUMBERS if data.classes.dtype.kind in "iuf" else "")
            )
        note = f"{rare(data)} has {rarest} rows, fewer than the {folds} folds: some folds are scored without it"
    return Splits(checked(list(split(splitter, data.n, y, groups)), data), kind, note)


def splitter_for(classes: bool, folds: int, grouped: bool, order: str, seed: int) -> tuple[Any, str]:
    """Return scikit-learn's splitter, and the name of its kind."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, TimeSeriesSplit

    if order == "time":
        if grouped:
            raise ParameterError("order='time' has no groups: each fold is later than the rows it is trained on")
        return TimeSeriesSplit(folds), "time"
    if grouped:
        random = {"shuffle": True, "random_state": seed}
        return (StratifiedGroupKFold(folds, **random) if classes else GroupKFold(folds)), "grouped"
    kind = StratifiedKFold if classes else KFold
    return kind(folds, shuffle=True, random_state=seed), "stratified" if classes else "random"


def split(splitter: Any, n: int, y: np.ndarray, groups: Any) -> list[Fold]:
    """Return the folds of a splitter. Its warning about rare classes is left out, because we have a note for it."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return [Fold(np.asarray(train), np.asarray(test)) for train, test in splitter.split(np.zeros(n), y, groups)]


def as_given(folds: Any, n: int, y: np.ndarray, groups: Any) -> list[Fold]:
    """Return the folds of a splitter or of a list of pairs (train, test) of row numbers."""
    try:
        if hasattr(folds, "split"):
            return split(folds, n, y, groups)
        found = [
            Fold(*(np.arange(n)[np.asarray(part, None if len(part) else int)] for part in (train, test)))
            for train, test in folds
        ]
    except (TypeError, ValueError, IndexError) as error:
        raise ParameterError(
            f"folds={folds!r} must be a whole number, a splitter of scikit-learn, or pairs of row numbers ({error})"
        ) from error
    if not found:
        raise ParameterError("folds is empty: give a number of folds, 5 say")
    return found


def checked(folds: list[Fold], data: Examples) -> list[Fold]:
    """Return the folds; raise if one has no rows to score, or trains with fewer than two classes."""
    for number, (train, test) in enumerate(folds, 1):
        if not (len(train) and len(test)):
            raise DataError(
                f"fold {number} has {len(train)} rows to train on and {len(test)} to score: take fewer folds"
            )
        if len(data.classes) and len(present := np.unique(data.codes[train])) < 2:
            raise DataError(
                f"fold {number} would be trained on class {show(data.classes[present[0]])} alone: "
                "take fewer folds, or order='random'"
            )
    return folds


def checked_groups(groups: Any, n: int, folds: int) -> np.ndarray:
    """Return the group of each row as a number; raise unless there are enough groups."""
    values = np.asarray(groups)
    if values.shape != (n,):
        raise DataError(f"groups have shape {values.shape}, but there are {n:,} rows: give one group for each row")
    found, numbers = np.unique(values.astype(str) if values.dtype.kind == "O" else values, return_inverse=True)
    if len(found) < folds:
        raise DataError(f"groups hold {len(found)} different values, fewer than the {folds} folds: take fewer folds")
    return np.asarray(numbers)


def rare(data: Examples) -> str:
    """Return the name of the class with the fewest rows."""
    return f"class {show(data.classes[np.argmin(np.bincount(data.codes))])}"
