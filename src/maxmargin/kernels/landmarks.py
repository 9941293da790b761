"""Landmarks for Nyström features.

    kmeans     k-means centres of a sample of the examples
    leverage   examples sampled by their ridge leverage scores, which are large where other examples explain little
    uniform    a uniform sample of the examples
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
SAMPLE_PER_CLUSTER = 10  # Examples in the sample for k-means, for each cluster.
LEAST_SAMPLE = 5000  # Examples in this sample at least.
KMEANS_ITERATIONS = 10  # Landmarks need no converged clusters.
BLOCK = 4096  # Examples whose features are converted to float64 at once.
LEAST_RIDGE = 1e-9  # Relative to the trace of the Gram matrix: a smaller λ would invert rounding errors of float32.


def landmarks_of(way: str, rows: Rows, kernel: Kernel, count: int, rng: np.random.Generator, threads: int) -> Rows:
    """Return `count` landmarks, or all examples if there are fewer. "auto": kmeans for dense rows, else leverage."""
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
    """Return k-means centres of a sample."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    n, size = count_rows(rows), max(LEAST_SAMPLE, SAMPLE_PER_CLUSTER * count)
    sample = rows if n <= size else pick(rows, np.sort(rng.choice(n, size, replace=False)))
    means = KMeans(count, init="random", n_init=1, max_iter=KMEANS_ITERATIONS, random_state=int(rng.integers(1 << 31)))
    with warnings.catch_warnings(), threadpool_limits(1):  # with more threads the order of additions varies
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters
        means.fit(matrix_of(sample))
    return Dense(read_only(np.ascontiguousarray(means.cluster_centers_, dtype=np.float64)))


def leverage(rows: Rows, kernel: Kernel, first: Rows, threads: int) -> np.ndarray:
    """Return approximate ridge leverage scores, from the Nyström features Φ of the first landmarks.

    The score of example i is the diagonal entry of K (K + λI)⁻¹, with K ≈ ΦΦᵀ. The part of K_ii that Φ does not explain
    is divided by λ and added. λ is chosen so that the scores sum to about the number of landmarks.
    """
    phi = transform(nystrom_map(kernel, first, threads), rows, threads).values
    every = Points(rows, squared_norms(rows, threads), np.arange(count_rows(rows)))
    left = np.maximum(kernel.diagonal(every) - np.einsum("ij,ij->i", phi, phi, dtype=np.float64), 0.0)
    G = np.zeros((phi.shape[1], phi.shape[1]))
    for start in range(0, len(phi), BLOCK):
        part = phi[start : start + BLOCK].astype(np.float64)
        G += part.T @ part
    ridge = max(float(np.sum(left)) / count_rows(first), LEAST_RIDGE * float(np.trace(G)), np.finfo(float).tiny)
    values, vectors = np.linalg.eigh(G)
    whitening = (vectors / np.sqrt(np.maximum(values, 0.0) + ridge)).astype(np.float32)
    inside = np.sum(np.square(phi @ whitening, dtype=np.float64), axis=1)
    scores = np.minimum(inside + left / ridge, 1.0) + np.finfo(np.float32).eps
    return scores if np.all(np.isfinite(scores)) else np.ones(len(scores))
