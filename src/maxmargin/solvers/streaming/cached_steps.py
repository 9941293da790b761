"""The dual steps of cached_loops, compiled: on arriving rows, and on random rows of the cache.

Step     α_i ← the best value of α_i alone,  m = y_i(⟨w, x_i⟩ + b),  G = m − d_i′(α_i)
Keeps    w, b = c + B² s and s = Σ α_i y_i, after every step; the gain Σ |Δα_i G_i|, which approximates that of the dual
         objective
Evicts   a row whose α is at a bound with a gradient beyond ±ε. Each step shrinks ε if the cache is crowded, and
         increases it otherwise, up to the largest |G| of the last round
After    Matsushima, Vishwanathan, Smola, KDD 2012
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin.data.rows import announce, axpy, dot, fetch, square
from maxmargin.problems.dual_terms import best, distance_from_bound, slope
from maxmargin.solvers.streaming.dual_variables import HELD, get, put
from maxmargin.solvers.streaming.row_slots import drop, weight
from maxmargin.system.compiled import compiled
from maxmargin.system.prefetch import prefetch
from maxmargin.system.splitmix import draw_below

EPSILON_FACTOR = 0.9  # ε is multiplied by this in each step with a crowded cache, and divided by it otherwise
LEAST_EPSILON = 1e-12  # positive, since ε = 0 could not grow again


class Eviction(NamedTuple):
    """The eviction rule: ε, its ceiling from the last round, and the largest |G| of this round. ε = ∞ evicts no row."""

    epsilon: float = np.inf
    ceiling: float = np.inf
    largest: float = 0.0


@compiled
def stepped(rows, k, y, a, m, Q, term, B2, w, b, s):
    """Return the best value of α for row k alone, with the new b and s; w changes in place."""
    new = best(term, 0, a, m, Q + B2)
    change = (new - a) * y
    if change != 0.0:
        axpy(rows, k, change, w)
    return new, b + B2 * change, s + change


@compiled
def arrive(block, wanted, variables, term, B2, w, b, s, eviction):
    """Take a dual step on every arriving row that is not in the cache; set `wanted` to the rows worth caching."""
    rows, y, largest, gained = block.rows, block.y, eviction.largest, 0.0
    for k in range(y.size):
        i = block.first + k
        wanted[k] = not variables.marks[i] & HELD
        if not wanted[k]:
            continue
        m, a = y[k] * (dot(rows, k, w) + b), get(variables, i)
        new, b, s = stepped(rows, k, y[k], a, m, square(rows, k), term, B2, w, b, s)
        G = abs(m - slope(term, 0, a))
        if new != a:
            put(variables, i, new)
            gained += abs(new - a) * G
        if distance_from_bound(term, 0, new, m) > eviction.epsilon:
            wanted[k] = False
        else:
            largest = max(largest, G)
    return b, s, largest, gained


@compiled
def adjusted(epsilon, ceiling, largest, crowded):
    """Return the new ε: smaller if the cache is crowded, else larger. Where ε = ∞ it shrinks from the largest |G|."""
    if crowded:
        return max(EPSILON_FACTOR * (epsilon if epsilon < np.inf else largest), LEAST_EPSILON)
    return min(epsilon / EPSILON_FACTOR, ceiling)


@compiled
def visit(slots, variables, term, B2, w, b, s, fill, eviction, steps, seed):
    """Take dual steps on random rows of the cache, and evict rows that would not move."""
    rows, y, Q = slots.rows, slots.y, slots.Q
    alpha = slots.alpha  # taken by name, since it is written to: see Slots
    count, live, crowded = fill
    epsilon, ceiling, largest = eviction
    state, gained = np.uint64(seed), 0.0
    state, k = draw_below(state, count)
    state, near = draw_below(state, count)
    for _ in range(steps):
        if count == 0:
            break
        state, far = draw_below(state, count)
        announce(rows, far)
        prefetch(alpha, far)
        prefetch(y, far)
        fetch(rows, near)
        if k >= count:
            k %= count
        epsilon = adjusted(epsilon, ceiling, largest, live > crowded)
        m = y[k] * (dot(rows, k, w) + b)
        a = alpha[k]
        new, b, s = stepped(rows, k, y[k], a, m, Q[k], term, B2, w, b, s)
        G = abs(m - slope(term, 0, a))
        gained += abs(new - a) * G
        alpha[k] = new
        if distance_from_bound(term, 0, new, m) > epsilon:
            live -= weight(rows, k)
            count = drop(slots, variables, k, count)
        else:
            largest = max(largest, G)
        k, near = near, far
        if near >= count > 0:
            near %= count
    return b, s, count, live, epsilon, largest, gained
