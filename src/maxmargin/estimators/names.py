"""Names of parameters in messages: the nearest known name, and the estimators' names for those of `train`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches

from maxmargin.errors import MaxmarginError

LEAST_PREFIX = 3  # letters that a known name and an unknown one must share to be compared by their beginning

WORDS = {
    r"\bmax_epochs\b": "max_iter",
    r"\bcache=": "cache_size=",
    r"\bseed=": "random_state=",
    r"\bthreads=": "n_jobs=",
    r"\bbias_scale=": "intercept_scaling=",
    r"\bbias='none'": "fit_intercept=False",
    r"\bbias='regularised'": "intercept_scaling=1.0",
    r"\bbias='free'": "intercept_scaling=None",
}  # how a message of `train` names a parameter, and its name in the estimators


def renamed(message: str) -> str:
    """Return a message of `train` with the names that the estimators use."""
    for pattern, name in WORDS.items():
        message = re.sub(pattern, name, message)
    return message


@contextmanager
def estimator_names() -> Iterator[None]:
    """Let errors from inside the block name parameters as the estimators do."""
    try:
        yield
    except MaxmarginError as error:
        raise type(error)(renamed(str(error))) from None


def unknown_name(name: str, known: Iterable[str], others: Mapping[str, str]) -> str:
    """Return the end of a message about an unknown parameter: the nearest known name, or all of them.

    `others` maps names that the parameters have elsewhere to their names here.
    """
    known = sorted(known)
    begin = [one for one in known if len(one) >= LEAST_PREFIX and name.startswith(one)]
    near = [others[name]] if others.get(name) in known else begin or get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"Valid parameters are: {known}"
