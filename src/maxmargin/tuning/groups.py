"""The groups of a grouped cross-validation: one for each row, or a column of the table, which is then no feature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.encoding.encoder import listed
from maxmargin.data.encoding.frames import is_table
from maxmargin.data.files import is_file
from maxmargin.data.formats import Format
from maxmargin.data.frames import named_frame
from maxmargin.data.open_source import files_of, format_of
from maxmargin.data.tables.batches import refusing
from maxmargin.data.tables.source import TableSource
from maxmargin.errors import DataError, ParameterError
from maxmargin.settings.settings import Settings

NAMES = "groups names a column"


def with_groups(settings: Settings, groups: Any) -> tuple[Settings, Any]:
    """Return the settings and the groups of the rows; a column that `groups` names is no feature then."""
    if not isinstance(groups, str):
        return settings, groups
    if settings.encode == "none":
        raise ParameterError(f"{NAMES}, {groups!r}, which encode='none' would take as numbers: give its values instead")
    found = column_in_files(settings, groups) if is_file(settings.X) else column_of_frame(settings.X, groups)
    return settings.changed(drop=[*(settings.drop or ()), groups]), found


def column_of_frame(X: Any, name: str) -> np.ndarray:
    """Return a column of a data frame."""
    if not is_table(X):
        raise ParameterError(f"{NAMES}, {name!r}, and X is no table: give one value for each row")
    frame = named_frame(X)
    if name not in frame.columns:
        raise DataError(f"X has no column {name!r} for groups: name one of {listed(frame.columns)}")
    return np.asarray(frame.get_column(name).to_numpy())


def column_in_files(settings: Settings, name: str) -> np.ndarray:
    """Return a column of tables, as text."""
    parts = [part for path in files_of(settings.X) for part in column_in_file(settings, path, format_of(path), name)]
    return np.concatenate(parts)


def column_in_file(settings: Settings, path: Path, kind: Format, name: str) -> list[np.ndarray]:
    """Return the parts of a column of a table, as text; raise at a missing value."""
    import pyarrow as pa

    if kind.columns is None:
        raise ParameterError(f"{NAMES}, {name!r}, and {path} is no table: give one value for each row")
    if name not in (names := kind.columns(path)):
        raise DataError(f"{path}: there is no column {name!r} for groups: name one of {listed(list(names))}")
    source, parts = TableSource(path, kind.name, settings.label), list[np.ndarray]()
    for batch in source.scan({name: False}):
        with refusing(path, kind.name):
            column = batch.column(name).cast(pa.string())
        if column.null_count:
            raise DataError(f"{path}: column {name!r} of groups has empty cells: give each row a group")
        parts.append(column.to_numpy(zero_copy_only=False))
    return parts
