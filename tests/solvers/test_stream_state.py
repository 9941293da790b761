"""The state of streaming solvers: when the centre of a free bias moves."""

from types import SimpleNamespace

import numpy as np

from maxmargin.solvers.streaming.state import StreamState


def test_the_centre_moves_once_a_pass_after_the_dual_objective_has_fallen():
    state = SimpleNamespace(best_dual=-np.inf, falls=0, unstable=False)

    def judge(*duals):
        for dual in duals:
            StreamState.judge(state, dual)
            state.unstable = StreamState.unstable.fget(state)

    judge(1.0, 2.0, 1.5, 2.5, 2.0)
    assert not state.unstable
    judge(1.0)
    assert state.unstable
    judge(9.0)
    assert state.unstable
