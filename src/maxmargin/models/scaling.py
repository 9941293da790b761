"""The scale of a model: it keeps the divisors of its features in the summary of its training (see data/scaling).

The rows that it is given to predict are divided by them.
"""

from __future__ import annotations

import base64
import zlib
from functools import lru_cache
from typing import Any

import numpy as np

from maxmargin.data.rows import Rows
from maxmargin.data.scaling import MOST_FEATURES, divided
from maxmargin.errors import ParameterError
from maxmargin.system.file_checks import short


def scaled(training: dict[str, Any], rows: Rows) -> Rows:
    """Return rows to predict, divided as in the training that this summary describes."""
    return divided(rows, divisors_in(training["scale"])) if "scale" in training else rows


def saved(divisors: np.ndarray) -> dict[str, Any]:
    """Return divisors as JSON."""
    packed = base64.b64encode(zlib.compress(divisors.astype("<f8").tobytes(), 1)).decode()
    return {"count": len(divisors), "divisors": packed}


def divisors_in(found: Any) -> np.ndarray:
    """Return the divisors that `saved` wrote; raise ValueError if they are damaged."""
    count, text = (found.get(name) for name in ("count", "divisors")) if isinstance(found, dict) else (None, None)
    if type(count) is not int or not 0 <= count <= MOST_FEATURES or not isinstance(text, str):
        raise ValueError(f"scale is {short(found)}, not divisors")
    return unpacked(count, text)


@lru_cache(maxsize=4)
def unpacked(count: int, text: str) -> np.ndarray:
    """Return `count` divisors from a text."""
    try:
        content = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), 8 * count + 1)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"scale is damaged ({error})") from error
    if len(content) != 8 * count:
        raise ValueError(f"scale does not hold {count} divisors")
    divisors = np.frombuffer(content, "<f8").astype(np.float64)
    if not (np.all(divisors > 0.0) and np.all(np.isfinite(divisors))):
        raise ValueError("scale holds a divisor that is no number above 0")
    divisors.flags.writeable = False
    return divisors


def check_unscaled(training: dict[str, Any], program: str) -> None:
    """Raise if a model scales its rows, which the models of another program do not."""
    if "scale" in training:
        raise ParameterError(
            f"models of {program} do not scale rows, and this one was trained with scale=True: save as safetensors, "
            "or train on scaled rows"
        )
