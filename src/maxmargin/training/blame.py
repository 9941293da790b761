"""The column that causes the rounding errors of a training from files."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np

from maxmargin.data.columns import column_to_blame
from maxmargin.data.file_rows import VALUES_PER_BYTE
from maxmargin.data.files import Files
from maxmargin.data.preparation import Preparation
from maxmargin.data.rows import Dense
from maxmargin.errors import MaxmarginError
from maxmargin.status import Status


def reason_of(status: Status, files: Files, preparation: Preparation) -> str:
    """Name the column that causes the rounding errors, judged by the first rows; "" if the status is not ROUNDING."""
    try:
        return found_to_blame(files, preparation) if status is Status.ROUNDING else ""
    except MaxmarginError:  # the file may be gone by now: return the model without the advice
        return ""


def found_to_blame(files: Files, preparation: Preparation) -> str:
    """Find the column that causes the rounding errors in the first rows of the file."""
    blocks: Any = files.source.blocks()
    with closing(blocks):
        _, rows = next(preparation.parts(next(blocks).rows, VALUES_PER_BYTE * files.budget.block))
    columns = None if isinstance(rows, Dense) else np.unique(rows.indices)
    return column_to_blame(rows, None if preparation.expansion else files.column_names, columns)
