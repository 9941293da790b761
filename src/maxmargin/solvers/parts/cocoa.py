"""One sweep of dual coordinate descent on several threads (CoCoA+).

Each thread visits a part of the examples with its own copy of w; after every round the copies are merged. A thread sees
only its own steps Δ_k. It multiplies ‖x_i‖² by σ, which makes its steps shorter, so that all steps can be added:

    w ← w + Σ Δ_k,     with  σ ≥ ‖Σ Δ_k‖² / Σ ‖Δ_k‖²  the dual gains at least the sum of the gains seen by the threads

This quotient is measured at every merge. It is close to 1 on sparse data, where different examples share few features,
and at most the number of threads. The order of all steps is fixed, so the same number of threads gives the same result.

After    Ma, Smith, Jaggi, Jordan, Richtárik, Takáč, ICML 2015 (CoCoA+)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from maxmargin.data.rows import row_length
from maxmargin.problems.linear import Problem
from maxmargin.system.compiled import compiled, summing
from maxmargin.system.threads import pool

# benchmarks/results/linear.md was measured with these values, on two threads.
ROUND = 200_000  # fewest stored values visited between two merges
MERGE = 10  # fewest stored values per feature visited between two merges: a merge costs O(d)
FEWEST_ROUNDS = 2  # a shorter sweep runs on a single thread
SIGMA_DECAY = 0.99  # in each round σ decreases by this factor, but not below the measured quotient


class Seen(NamedTuple):
    """The running values of a sweep: b, s = Σ α_i y_i, number of kept examples, range of violations, summed gap."""

    b: float
    balance: float
    kept: int
    low: float
    high: float
    fenchel_young_gap: float


Visit = Callable[[np.ndarray, int, int, Seen, float], Seen]


def rounds_worth(problem: Problem, examples: int) -> int:
    """Return the number of rounds of a sweep on several threads; 0 if a single thread is faster."""
    rounds = int(examples * row_length(problem.rows) / max(ROUND, MERGE * problem.d))
    return rounds if problem.threads > 1 and rounds >= FEWEST_ROUNDS else 0


def edges_of_parts(start: int, stop: int, threads: int, rounds: int) -> np.ndarray:
    """Return the edges of the parts: thread k visits edges[k, r] to edges[k, r + 1] in round r."""
    edges = np.linspace(start, stop, threads * rounds + 1).astype(np.int64)
    return np.array([edges[k * rounds : (k + 1) * rounds + 1] for k in range(threads)])


def share(
    visit: Visit, w: np.ndarray, seen: Seen, edges: np.ndarray, sigma: float, bias_square: float
) -> tuple[list[Seen], float]:
    """Visit the examples between edges[k, r] and edges[k, r + 1] on thread k in round r; w changes in place.

    Returns the running values of each thread, and σ. Thread 0 continues from `seen`; the kept examples of thread k are
    stored from edges[k, 0] on.
    """
    threads, rounds = len(edges), edges.shape[1] - 1
    copies = np.tile(w, (threads, 1))
    all_seen = [seen] + [
        seen._replace(kept=int(edge), low=np.inf, high=-np.inf, fenchel_young_gap=0.0) for edge in edges[1:, 0]
    ]
    for r in range(rounds):
        parts = [(copies[k], int(edges[k, r]), int(edges[k, r + 1]), all_seen[k], sigma) for k in range(threads)]
        others = [pool(threads).submit(visit, *part) for part in parts[1:]]
        after = [visit(*parts[0]), *(other.result() for other in others)]
        b, balance = all_seen[0].b, all_seen[0].balance
        steps = np.array([one.b - b for one in after])
        together, apart = merge(w, copies, sigma)
        if bias_square:
            together, apart = together + np.sum(steps) ** 2 / bias_square, apart + np.sum(steps**2) / bias_square
        b += float(np.sum(steps)) / sigma
        balance += sum(one.balance - balance for one in after)
        all_seen = [one._replace(b=b, balance=balance) for one in after]
        sigma = max(1.0, SIGMA_DECAY * sigma, float(together / apart) if apart > 0.0 else 1.0)
    return all_seen, sigma


def joined(parts: list[Seen], edges: np.ndarray, *kept_arrays: np.ndarray) -> Seen:
    """Combine the running values of all threads, and move their kept examples to the front of the arrays."""
    kept = parts[0].kept
    for part, edge in zip(parts[1:], edges[1:, 0], strict=True):
        more = part.kept - int(edge)
        for array in kept_arrays:
            array[kept : kept + more] = array[edge : part.kept]
        kept += more
    low, high = min(part.low for part in parts), max(part.high for part in parts)
    return Seen(parts[0].b, parts[0].balance, kept, low, high, sum(part.fenchel_young_gap for part in parts))


@compiled
def merge(w, copies, sigma):
    """Add the changes of all copies to w, and set the copies to w. Return ‖Σ Δ_k‖² and Σ ‖Δ_k‖², both times σ²."""
    total, apart = np.zeros(w.size), 0.0
    for k in range(copies.shape[0]):
        apart += add_change(w, copies[k], total)
    together = move(w, total, 1.0 / sigma)
    for k in range(copies.shape[0]):
        copies[k, :] = w
    return together, apart


@summing
def add_change(w, copy, total):
    """Add copy − w to `total`; return its squared norm."""
    square = 0.0
    for j in range(w.size):
        change = copy[j] - w[j]
        total[j] += change
        square += change * change
    return square


@summing
def move(w, total, part):
    """Add part · total to w; return the squared norm of `total`."""
    square = 0.0
    for j in range(w.size):
        square += total[j] * total[j]
        w[j] += part * total[j]
    return square
