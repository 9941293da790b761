"""Random numbers in compiled code: splitmix64. Its state is one number, which the caller keeps."""

from __future__ import annotations

import numpy as np

from maxmargin.system.compiled import compiled


@compiled
def draw_below(state, count):
    """Return the next state and a random integer from 0 to count − 1."""
    state = np.uint64(state) + np.uint64(0x9E3779B97F4A7C15)
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return state, np.int64(((z >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))
