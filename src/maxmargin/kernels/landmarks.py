"""Landmarks for Nyström features: which examples, or points between them, are to stand for all.

    kmeans     the centres of as many clusters of a sample: nothing is far from one
    leverage   examples drawn by their ridge leverage scores, those that the others explain least being likeliest
    uniform    examples drawn with equal chances
After    Zhang, Tsang, Kwok 2008 (k-means); Alaoui, Mahoney 2015, Musco, Musco 2017 (leverage)
"""

from __future__ import annotations

import warnings

import numpy as np

from maxmargin.data.passes import squared_norms
from maxmargin.data.pick import pick
from maxmargin.data.rows import Csr, Dense, Rows, count_columns, count_rows
from maxmargin.data.take import read_only
from maxmargin.kernels.feature_maps import nystrom_map, transform
from maxmargin.kernels.functions import Kernel
from maxmargin.kernels.points import Points, matrix_of

WAYS = ("kmeans", "leverage", "uniform")
A_CLUSTER = 10  # examples that are looked at for each cluster,
AT_LEAST = 5000
ROUNDS = 10
BLOCK = 4096
ROUNDING = 1e-9


def landmarks_of(way: str, rows: Rows, kernel: Kernel, count: int, rng: np.random.Generator, threads: int) -> Rows:
    """So many landmarks, or all examples if there are no more; "auto" is k-means of dense rows, else leverage."""
    n = count_rows(rows)
    if count >= n:
        return rows
    if way == "auto":
        way = "leverage" if isinstance(rows, Csr) else "kmeans"
    if way == "kmeans" and count_columns(rows):
        return centres(rows, count, rng)
    first = np.sort(rng.choice(n, count, replace=False))
    if way == "uniform":
        return pick(rows, first)
    scores = leverage(rows, kernel, pick(rows, first), threads)
    return pick(rows, np.sort(rng.choice(n, count, replace=False, p=scores / np.sum(scores))))


def centres(rows: Rows, count: int, rng: np.random.Generator) -> Dense:
    """The centres of clusters of a sample."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    n, size = count_rows(rows), max(AT_LEAST, A_CLUSTER * count)
    sample = rows if n <= size else pick(rows, np.sort(rng.choice(n, size, replace=False)))
    means = KMeans(count, init="random", n_init=1, max_iter=ROUNDS, random_state=int(rng.integers(1 << 31)))
    with warnings.catch_warnings(), threadpool_limits(1):  # threads add in the order of their arrival
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters
        means.fit(matrix_of(sample))
    return Dense(read_only(np.ascontiguousarray(means.cluster_centers_, dtype=np.float64)))


def leverage(rows: Rows, kernel: Kernel, first: Rows, threads: int) -> np.ndarray:
    """Ridge leverage scores, as the features of the first landmarks tell them.

    k_i (K + λI)^(−1) of each example, where K is ΦΦᵀ and what Φ leaves of the diagonal counts with 1/λ; λ is such that
    about as many examples matter as there are landmarks.
    """
    phi = transform(nystrom_map(kernel, first, threads), rows, threads).values
    every = Points(rows, squared_norms(rows, threads), np.arange(count_rows(rows)))
    left = np.maximum(kernel.diagonal(every) - np.einsum("ij,ij->i", phi, phi, dtype=np.float64), 0.0)
    G = np.zeros((phi.shape[1], phi.shape[1]))
    for start in range(0, len(phi), BLOCK):
        part = phi[start : start + BLOCK].astype(np.float64)
        G += part.T @ part
    ridge = max(float(np.sum(left)) / count_rows(first), ROUNDING * float(np.trace(G)), np.finfo(float).tiny)
    values, vectors = np.linalg.eigh(G)
    whitening = (vectors / np.sqrt(np.maximum(values, 0.0) + ridge)).astype(np.float32)
    inside = np.sum(np.square(phi @ whitening, dtype=np.float64), axis=1)
    scores = np.minimum(inside + left / ridge, 1.0) + np.finfo(np.float32).eps
    return scores if np.all(np.isfinite(scores)) else np.ones(len(scores))
