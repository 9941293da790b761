"""Parser of LIBLINEAR's text models: the header and the weights, with every number checked (see liblinear)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, nan
from typing import BinaryIO, NoReturn

import numpy as np

from maxmargin.errors import FileError
from maxmargin.models.kernel_function import ONE_CLASS
from maxmargin.models.libsvm import LARGEST_INDEX
from maxmargin.system.budget import shown_size
from maxmargin.system.file_checks import short
from maxmargin.system.threads import total_memory

CRAMMER_SINGER = "MCSVM_CS"
ONE_CLASS_TYPE = "ONECLASS_SVM"
CLASSIFIERS = {  # solver_type and the loss; prediction depends on the loss only for probabilities
    "L2R_LR": "logistic",
    "L2R_LR_DUAL": "logistic",
    "L1R_LR": "logistic",
    "L2R_L2LOSS_SVC": "squared_hinge",
    "L2R_L2LOSS_SVC_DUAL": "squared_hinge",
    "L1R_L2LOSS_SVC": "squared_hinge",
    "L2R_L1LOSS_SVC_DUAL": "hinge",
    CRAMMER_SINGER: "crammer_singer",
}
FUNCTIONS = {  # solver_type and the formulation
    "L2R_L1LOSS_SVR_DUAL": "epsilon-SVR",
    "L2R_L2LOSS_SVR": "epsilon-SVR",
    "L2R_L2LOSS_SVR_DUAL": "epsilon-SVR",
    ONE_CLASS_TYPE: ONE_CLASS,
}
HEADER = ("solver_type", "nr_class", "label", "nr_feature", "bias", "rho", "w")
LONGEST_HEADER_LINE = 1 << 24  # Bytes: room for the labels of a million classes.
LONGEST_WEIGHT = 64  # Bytes of a weight with its space: LIBLINEAR writes at most 25.
LEAST_WEIGHT = 2  # Bytes of the shortest weight, with its space.


@dataclass
class Lines:
    """The lines of a file, one after the other, with their number."""

    stream: BinaryIO
    name: str
    number: int = 0

    def read(self, longest: int) -> list[str]:
        """Return the words of the next line, an empty list for a blank line."""
        line = self.stream.readline(longest)
        self.number += 1
        if not line.endswith(b"\n"):
            self.refuse(f"longer than {longest} bytes" if len(line) == longest else "the file ends within a line")
        try:
            return line.decode("ascii").split()
        except UnicodeDecodeError:
            self.refuse("bytes that are not ASCII")

    def refuse(self, reason: str) -> NoReturn:
        """Raise an error with the place in the file."""
        raise FileError(
            f"{self.name}:{self.number}: {reason}: this is not a complete LIBLINEAR model, save it again with LIBLINEAR"
        )

    def whole(self, word: str, name: str, least: int, most: int = LARGEST_INDEX) -> int:
        """Parse a whole number."""
        digits = word[1:] if word[:1] in "+-" else word
        value = int(word) if digits.isdecimal() and len(digits) <= 12 else None
        if value is None or not least <= value <= most:
            self.refuse(f"{name} {short(word)} is not a whole number from {least} to {most}")
        return value

    def number_of(self, word: str, name: str) -> float:
        """Parse a finite number."""
        try:
            value = float(word) if "_" not in word else nan
        except ValueError:
            value = nan
        if not isfinite(value):
            self.refuse(f"{name} {short(word)} is not a finite number")
        return value


@dataclass
class Header:
    """The lines before the weights, checked."""

    solver: str
    d: int
    bias: float
    rho: float
    labels: list[int]  # none for functions

    @property
    def rows(self) -> int:
        """Lines of weights."""
        return self.d + (self.bias >= 0.0)

    @property
    def columns(self) -> int:
        """Weights in each line."""
        return 1 if not self.labels or (len(self.labels) == 2 and self.solver != CRAMMER_SINGER) else len(self.labels)


def read_header(lines: Lines) -> Header:
    """Read and check the lines up to the weights."""
    facts: dict[str, list[str]] = {}
    while "w" not in facts:
        words = lines.read(LONGEST_HEADER_LINE)
        if not words:
            continue
        name, *values = words
        if name not in HEADER:
            lines.refuse(f"{short(name)} is not part of a header")
        if name in facts:
            lines.refuse(f"{name} is there twice")
        if len(values) != 1 and name not in ("label", "w"):
            lines.refuse(f"{name} is followed by {len(values)} values instead of one")
        facts[name] = values
    for name in HEADER:
        if name not in facts and name not in ("label", "rho"):
            lines.refuse(f"{name} is missing before w")
    return checked_header(lines, facts)


def checked_header(lines: Lines, facts: dict[str, list[str]]) -> Header:
    """Return the header; raise if its lines contradict each other."""
    solver = facts["solver_type"][0]
    if solver not in CLASSIFIERS | FUNCTIONS:
        lines.refuse(f"solver_type {short(solver)} is not one of {', '.join(CLASSIFIERS | FUNCTIONS)}")
    labels = [lines.whole(word, "label", -LARGEST_INDEX - 1) for word in facts.get("label", [])]
    count = lines.whole(facts["nr_class"][0], "nr_class", 1)
    if solver in FUNCTIONS and labels:
        lines.refuse(f"label belongs to classes, and solver_type {solver} has none")
    if solver in CLASSIFIERS and (count != len(labels) or count < 2 or len(set(labels)) < count):
        lines.refuse(f"nr_class is {count}, and label names {len(set(labels))}: at least two must be the same")
    if "rho" in facts and solver != ONE_CLASS_TYPE:
        lines.refuse(f"rho belongs to {ONE_CLASS_TYPE}, and solver_type is {solver}")
    return Header(
        solver,
        lines.whole(facts["nr_feature"][0], "nr_feature", 0),
        lines.number_of(facts["bias"][0], "bias"),
        lines.number_of(facts.get("rho", ["0"])[0], "rho"),
        labels,
    )


def read_weights(lines: Lines, header: Header) -> np.ndarray:
    """Read the weights, one row for each feature. Their number is compared with the file before memory is taken."""
    rows, columns = header.rows, header.columns
    left = os.fstat(lines.stream.fileno()).st_size - lines.stream.tell()
    if rows * columns * LEAST_WEIGHT > left:
        lines.refuse(f"{rows:,} lines of {columns:,} weights cannot be in the {left:,} bytes that follow")
    if 8 * rows * columns > total_memory():
        lines.refuse(
            f"the weights take {shown_size(8 * rows * columns)}, the computer has {shown_size(total_memory())}"
        )
    found = np.empty((rows, columns))
    for row in range(rows):
        words = lines.read(LONGEST_WEIGHT * (columns + 1))
        if len(words) != columns:
            lines.refuse(f"{len(words)} weights, where header and labels ask for {columns}")
        found[row] = [lines.number_of(word, "weight") for word in words]
    if any(chunk.strip() for chunk in rest(lines.stream)):
        lines.number += 1
        lines.refuse(f"text after the weights of {rows:,} features: nr_feature or bias is wrong")
    return found


def rest(stream: BinaryIO) -> Iterator[bytes]:
    """Yield what is left of a file, in pieces."""
    while chunk := stream.read(1 << 16):
        yield chunk
