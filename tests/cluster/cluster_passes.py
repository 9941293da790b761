"""Small passes for the tests of the cluster, importable on the workers."""

import time

import numpy as np

from maxmargin.data.rows import count_rows, dense_of


class Sums:
    """Σ x_i ⟨x_i, w⟩ without BLAS, whose bits depend on its threads; the number of rows; visits of each row."""

    vectors = ("visits",)

    def __init__(self, w, nap=0.0):
        self.w, self.nap = w, nap

    def totals(self):
        return np.zeros(len(self.w)), np.zeros(2)

    def add(self, part, totals):
        time.sleep(self.nap)
        X = dense_of(part.rows)
        scores = (X * self.w[: X.shape[1]]).sum(axis=1)
        totals[0][: X.shape[1]] += (X * scores[:, None]).sum(axis=0)
        part.vectors["visits"][:] += 1.0
        totals[1][0] += count_rows(part.rows)
        totals[1][1] += part.vectors["visits"].sum()


class Broken(Sums):
    """A pass that fails on the worker."""

    def add(self, part, totals):
        raise ZeroDivisionError("this pass is broken")
