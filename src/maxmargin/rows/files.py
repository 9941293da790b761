"""Data files as users meet them: SciPy matrices and labels, in and out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.labels import check_length
from maxmargin.out_of_memory import memory_errors
from maxmargin.overwriting import check_replaces, is_libsvm_data
from maxmargin.rows.memory import count_rows
from maxmargin.rows.take import take
from maxmargin.rows.text import read_text
from maxmargin.rows.write_text import write_text

if TYPE_CHECKING:
    from scipy import sparse


@memory_errors()
def read(
    path: str | Path, *, zero_based: bool = False, d: int | None = None, threads: int | None = None
) -> tuple[sparse.csr_array, np.ndarray]:
    """Read a LIBSVM/SVMlight file, plain or compressed (.gz, .bz2, .xz, .zst).

    Parameters
    ----------
    path : the file
    zero_based : whether features are counted from 0 in the file; from 1 by default
    d : number of features, where it is known; the largest index otherwise
    threads : how many threads parse; all cores by default

    Returns
    -------
    X : csr_array of float64
    y : labels: whole numbers, numbers or names, whatever the file holds

    Examples
    --------
    >>> import maxmargin
    >>> X, y = maxmargin.read("train.svm.xz")  # doctest: +SKIP
    """
    from scipy import sparse

    rows, y = read_text(path, zero_based=zero_based, d=d, threads=threads)
    return sparse.csr_array((rows.values, rows.indices, rows.indptr), shape=(count_rows(rows), rows.d)), y


def write(path: str | Path, X: Any, y: Any, *, zero_based: bool = False, force: bool = False) -> None:
    """Write a LIBSVM/SVMlight file; reading it gives the same rows and labels back, to the last bit.

    It replaces only a LIBSVM file; with `force` any file.

    Examples
    --------
    >>> import maxmargin
    >>> maxmargin.write("train.svm.gz", [[0.0, 1.5]], [1])  # doctest: +SKIP
    """
    check_replaces(path, "a LIBSVM file", is_libsvm_data, force)
    rows = take(X)
    write_text(path, rows, check_length(y, count_rows(rows)), zero_based=zero_based)
