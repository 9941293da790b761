"""Facts that a block file states about itself: JSON in the metadata of its last batch, which is empty.

    {"n": rows, "d": features, "classes": sorted labels, "ends": the number of rows up to the end of each batch}

The facts are used only after a check that they are consistent with each other and with the number of batches.
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.data.encoding.encoder import encoder_of
from maxmargin.data.source import Facts
from maxmargin.data.tables.arrow_sizes import UnpackedSizes
from maxmargin.data.tables.batches import check_size, refusing
from maxmargin.data.text.parse import LARGEST_INDEX
from maxmargin.errors import FileError

KEY = b"maxmargin"
WEIGHTS = "weights"  # name of the column of weights, if there is one


def block_file_facts(path: Path, sizes: UnpackedSizes, most: int) -> Facts | None:
    """Return the facts of a block file; None for any other Arrow file."""
    import pyarrow as pa

    with refusing(path, "arrow"), pa.OSFile(str(path)) as file:
        reader = pa.ipc.open_file(file)
        ours = {"label", "values"} <= set(reader.schema.names) <= {"label", "indices", "values", WEIGHTS}
        count = reader.num_record_batches if ours else 0
        if not count:
            return None
        check_size(sizes[count - 1], most, path, f"batch {count - 1}")
        last = reader.get_batch_with_custom_metadata(count - 1)
        said = last.custom_metadata
    if not said or KEY not in said:
        return None
    if last.batch.num_rows:
        raise wrong(path, f"the last batch has {last.batch.num_rows} rows, not 0")
    return checked_facts(path, said[KEY], count - 1)


def checked_facts(path: Path, text: bytes, batches: int) -> Facts:
    """Parse facts; raise unless they are consistent with each other and with the number of batches."""
    try:
        said = json.loads(text)
        n, d, classes, ends = (said[name] for name in ("n", "d", "classes", "ends"))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise wrong(path, f"they are no JSON with n, d, classes and ends ({type(error).__name__})") from error
    for name, value in (("n", n), ("d", d)):
        if type(value) is not int or not 0 <= value <= LARGEST_INDEX:
            raise wrong(path, f"{name} is {brief(value)}, not a whole number from 0 on")
    check_ends(path, ends, n, batches)
    check_classes(path, classes, n)
    return Facts(n, d, np.array(classes), np.array(ends, dtype=np.int64), checked_encoder(path, said.get("encoder"), d))


def checked_encoder(path: Path, found: Any, d: int) -> dict[str, Any] | None:
    """Return the encoder of the rows as JSON; raise unless it makes d features. None if there is none."""
    if found is None:
        return None
    try:
        encoder = encoder_of(found)
    except (ValueError, RecursionError) as error:
        raise wrong(path, str(error)) from error
    if encoder.d != d:
        raise wrong(path, f"the encoder makes {encoder.d} features, and the rows have {d}")
    return encoder.saved()


def check_ends(path: Path, ends: Any, n: int, batches: int) -> None:
    """Raise unless `ends` has one number for each batch, increasing up to n."""
    if not isinstance(ends, list) or any(type(end) is not int for end in ends):
        raise wrong(path, "ends is no list of whole numbers")
    if len(ends) != batches:
        raise wrong(path, f"ends has {len(ends)} numbers for {batches} batches")
    if any(a >= b for a, b in pairwise([0, *ends])) or [0, *ends][-1] != n:
        raise wrong(path, f"ends does not increase from 0 to n = {n}")


def check_classes(path: Path, classes: Any, n: int) -> None:
    """Raise unless `classes` has finite numbers or text, sorted, without duplicates."""
    if not isinstance(classes, list) or len(classes) > n:
        raise wrong(path, "classes is no list, or longer than there are rows")
    text = all(isinstance(label, str) for label in classes)
    if not text and not all(type(label) in (int, float) and math.isfinite(label) for label in classes):
        raise wrong(path, "classes holds what is neither all finite numbers nor all text")
    if any(a >= b for a, b in pairwise(classes)):
        raise wrong(path, "classes is not in order, or holds a label twice")


def check_rows(path: Path, facts: Facts, number: int, rows: int) -> None:
    """Raise if the number of rows in a batch differs from the facts."""
    assert facts.ends is not None
    start = int(facts.ends[number - 1]) if number else 0
    if rows != int(facts.ends[number]) - start:
        raise wrong(path, f"batch {number} has {rows} rows, not {int(facts.ends[number]) - start}")


def check_labels_known(path: Path, facts: Facts, labels: np.ndarray, first: int) -> None:
    """Raise if a label is not one of the classes."""
    classes = facts.classes
    if not len(classes) or (classes.dtype.kind == "U") != (labels.dtype.kind == "U"):
        raise wrong(path, f"the labels from row {first} on are of another kind than classes")
    if len(classes) <= 2:
        known = (labels == classes[0]) | (labels == classes[-1])
    else:
        known = classes[np.minimum(np.searchsorted(classes, labels), len(classes) - 1)] == labels
    if not known.all():
        row = int(np.argmin(known))
        raise wrong(path, f"row {first + row} has the label {brief(labels[row])}, which is not among classes")


def brief(value: Any) -> str:
    """Format a value for a message."""
    text = " ".join(str(value).split())
    return text if len(text) <= 40 else text[:37] + "..."


def wrong(path: Path, why: str) -> FileError:
    """Return the error for a block file that contradicts itself."""
    return FileError(f"{path}: the facts of the block file are wrong: {why}; convert the data again")
