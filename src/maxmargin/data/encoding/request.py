"""What the user wants of the columns of a table: which are used, and what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from maxmargin.data.encoding.choice import KINDS
from maxmargin.data.encoding.encoder import listed
from maxmargin.errors import ParameterError


class Request(NamedTuple):
    """What the user wants: only these columns, not these, these kinds. `label` and `weights` are no features."""

    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()
    kinds: Mapping[str, str] = {}
    label: str | None = None
    weights: str | None = None

    @property
    def named(self) -> list[str]:
        """The columns that are named."""
        return [*(self.columns or ()), *self.drop, *self.kinds]

    def check(self, names: Sequence[str], place: str) -> None:
        """Raise if a column that is named does not exist."""
        for name in self.named:
            if name not in names:
                raise ParameterError(f"{place}: there is no column {name!r}: name one of {listed(list(names))}")

    def kind_of(self, name: str) -> str | None:
        """Return what the user wants of a column, if anything."""
        left_out = name in self.drop or (self.columns is not None and name not in self.columns)
        return "drop" if left_out else self.kinds.get(name)


def requested(encode: Any, columns: Any, drop: Any, kinds: Any, label: str | None = None) -> Request | None:
    """Return the request that the parameters of `train` make, checked; None for encode="none"."""
    check_encode("encode", encode)
    check_names("columns", columns)
    check_names("drop", drop)
    check_kinds("kinds", kinds)
    if encode == "none":
        return None
    return Request(columns, tuple(drop or ()), dict(kinds or {}), label)


def check_encode(name: str, value: Any) -> None:
    """Refuse anything but "auto" and "none"."""
    if not (isinstance(value, str) and value in ("auto", "none")):
        raise ParameterError(f"{name}={value!r} is not known: choose one of auto, none")


def check_names(name: str, value: Any) -> None:
    """Refuse anything but names of columns or None."""
    if not (value is None or (isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value))):
        raise ParameterError(f"{name}={value!r} must be a list of column names, or None")


def check_kinds(name: str, value: Any) -> None:
    """Refuse anything but a dictionary of kinds of columns or None."""
    if value is not None and not isinstance(value, Mapping):
        raise ParameterError(f'{name}={value!r} must be a dictionary, such as {{"zip": "category"}}')
    for column, kind in (value or {}).items():
        if kind not in KINDS:
            raise ParameterError(f"{name}: {column}={kind} is no kind of column: choose one of {', '.join(KINDS)}")
