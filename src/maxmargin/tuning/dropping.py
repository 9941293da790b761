"""When a candidate of a search is dropped before it has run on all folds.

It is dropped if a simpler candidate has at least the highest mean that this one can reach. It is also dropped if it is
so far behind the best candidate on the folds so far that chance does not explain it. The measure is the standard
deviation of the scores over folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, variance

from maxmargin.tuning.table import Candidate, best_of, highest_mean

# Standard deviations of the difference of two means that chance does not explain. It is taken as if both had folds of
# their own; on the same folds it varies less.
CERTAIN = 3.0
FEWEST = 3  # complete candidates from which the standard deviation is estimated


def cannot_be_chosen(
    candidate: Candidate, scores: Sequence[float | None], complete: Sequence[Candidate], highest: float
) -> str:
    """Return why a candidate with these scores cannot be chosen, however well it does on the other folds, or "".

    Both rules prefer a simpler candidate with the same mean.
    """
    reach = highest_mean(scores, len(candidate.scores), highest)
    for other in complete:
        if other.simpler_than(candidate) and other.mean >= reach:
            return f"at most {reach:.6g}, less than {other.name}"
    return ""


def far_behind(
    candidate: Candidate,
    scores: Sequence[float | None],
    complete: Sequence[Candidate],
    sizes: Sequence[int],
    allowed: bool,
) -> str:
    """Return how far behind the best a candidate with these scores is, if this is no chance; else "".

    `sizes` are the numbers of rows of the folds. `allowed` says whether the rule also chooses candidates that are one
    standard error behind. If two candidates are wrong on m rows more or less, the deviation of m is at least √m. So at
    least CERTAIN² rows must differ.
    """
    best, done = best_of(complete), [k for k, score in enumerate(scores) if score is not None]
    if best is None or len(complete) < FEWEST or not done or len(candidate.scores) < 2:
        return ""
    behind = fmean(best.known[k] - scores[k] for k in done)  # type: ignore[operator]
    spread = sqrt(fmean(variance(one.known) for one in complete))
    if behind * sum(sizes[k] for k in done) < CERTAIN**2:
        return ""
    if behind <= (best.error if allowed else 0.0) + CERTAIN * spread * sqrt(2.0 / len(done)):
        return ""
    folds = "1 fold" if len(done) == 1 else f"{len(done)} folds"
    return f"{behind:.4g} behind {best.name} on {folds}"
