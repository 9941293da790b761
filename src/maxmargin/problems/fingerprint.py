"""A digest of the data of a problem: it tells whether a checkpoint is of the same run."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np


def digest_of(*values: Any) -> str:
    """The digest of arrays by their bytes, of anything else by how it is written."""
    digest = hashlib.blake2b(digest_size=16)
    for value in values:
        digest.update(
            np.ascontiguousarray(value).data.cast("B") if isinstance(value, np.ndarray) else repr(value).encode()
        )
    return digest.hexdigest()
