"""Files of the shapes of the dual cached loops paper, scaled to a small machine, and two real ones.

    kddb       sparse and very wide: 20 million rows, 30 million features, about 30 values a row; text in several files
    webspam    long sparse rows: 35,000 rows, 2 million features, 3,700 values a row; text in several files
    ocr        dense: 2 million rows of 1,156 float32 and length 1, .npy
    dna        10 million sequences of 200 letters, expanded to words of 8 letters while they are read
    covtype, mnist    the real ones, as plain text

`--scale 0.1` makes a tenth of the rows, and of the features of kddb and webspam. What is there is not made again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

import maxmargin

sys.path.insert(0, str(Path(__file__).parents[1]))

from report import DATA, found

ROWS_AT_ONCE = {"kddb": 500_000, "webspam": 2_000, "ocr": 20_000, "dna": 200_000}
SIZES = {
    "kddb": (20_000_000, 30_000_000),
    "webspam": (35_000, 2_000_000),
    "ocr": (2_000_000, 1156),
    "dna": (10_000_000, 200),
}
REAL = {"covtype": "covtype.binary.scale", "mnist": "mnist"}
LETTERS = np.frombuffer(b"ACGT", dtype=np.uint8)
MOTIFS = (b"ACGGTACA", b"TTGACCGA", b"GGATCCTA")


def options_of(about: str, *places: str) -> argparse.Namespace:
    """What `run.py` and `methods.py` are given."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for place in places:
        parser.add_argument(place)
    parser.add_argument("--names")
    parser.add_argument("--methods")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "maxmargin-outofcore")
    parser.add_argument("--data", dest="real", type=Path, default=DATA)
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--part", type=float, default=10.0, help="the file is so many times the memory")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--write")
    return parser.parse_args()


class Shape(NamedTuple):
    """What to train on, and its size in bytes."""

    X: str
    y: str | None
    options: dict
    size: int


def shape(name: str, folder: Path, data: Path, scale: float) -> Shape | None:
    """The files of that shape, made if they are not there; None if the real data are not at hand."""
    folder.mkdir(parents=True, exist_ok=True)
    if name in REAL:
        return real(name, folder, data)
    stem = f"{name}-{scale:g}"
    n, d = SIZES[name]
    n = int(n * scale)
    if name in ("kddb", "webspam"):
        d = int(d * scale)
    parts = list(folder.glob(f"{stem}-*"))
    if not parts:
        {"kddb": sparse_text, "webspam": sparse_text, "ocr": dense, "dna": sequences}[name](name, folder / stem, n, d)
        parts = list(folder.glob(f"{stem}-*"))
    size = sum(part.stat().st_size for part in parts)
    if name == "ocr":
        return Shape(str(folder / f"{stem}-X.npy"), str(folder / f"{stem}-y.npy"), {}, size)
    return Shape(str(folder / f"{stem}-*"), None, {"expand": "kmers:8"} if name == "dna" else {}, size)


def remove(name: str, folder: Path, scale: float) -> None:
    """Make room on the disk."""
    for path in [*folder.glob(f"{name}-{scale:g}-*"), folder / f"{name}.svm"]:
        path.unlink(missing_ok=True)


def real(name: str, folder: Path, data: Path) -> Shape | None:
    """Plain text of a file that may be compressed; mnist as even against odd, its pixels between 0 and 1."""
    path, source = folder / f"{name}.svm", found(REAL[name], data)
    if source is None:
        return None
    if not path.exists():
        X, y = maxmargin.read(source)
        if name == "mnist":
            X.data, y = np.round(X.data / 255.0, 4), np.where(y % 2 == 0, -1, 1)
        maxmargin.write(path, X, y)
    return Shape(str(path), None, {}, path.stat().st_size)


def sparse_text(name: str, stem: Path, n: int, d: int) -> None:
    """Columns that are rarer the larger they are; a label by hidden weights of the columns, one in twenty wrong."""
    rng = np.random.default_rng(0)
    per_row, steep = (30, 3.0) if name == "kddb" else (3700, 2.0)
    for part, start in enumerate(range(0, n, ROWS_AT_ONCE[name])):
        rows = min(ROWS_AT_ONCE[name], n - start)
        columns = np.sort((d * rng.random((rows, per_row)) ** steep).astype(np.int64), axis=1)
        kept = np.ones_like(columns, dtype=bool)
        kept[:, 1:] = columns[:, 1:] != columns[:, :-1]
        lengths = kept.sum(axis=1)
        hidden = ((columns * 2654435761) % 1009) / 504.0 - 1.0
        score = (hidden * kept).sum(axis=1) / np.sqrt(lengths)
        positive = (score > 0) ^ (rng.random(rows) < 0.05)
        values = np.char.mod("%.7f", 1.0 / np.sqrt(lengths)).astype("S9")
        text = np.empty(rows * 4 + int(kept.sum()) * 21, dtype=np.uint8)
        length = lines(columns, kept, values.view(np.uint8).reshape(rows, 9), positive, text)
        Path(f"{stem}-{part:04d}.svm").write_bytes(text[:length].data)


@njit(cache=True)
def lines(columns, kept, values, positive, text):
    """Write LIBSVM lines, one value a row; how many bytes they are."""
    at, digits = 0, np.empty(20, dtype=np.uint8)
    for row in range(len(columns)):
        text[at], text[at + 1] = ord("+") if positive[row] else ord("-"), ord("1")
        at += 2
        for k in range(columns.shape[1]):
            if not kept[row, k]:
                continue
            text[at] = ord(" ")
            at += 1
            index, count = columns[row, k] + 1, 0
            while index > 0:
                digits[count] = ord("0") + index % 10
                index, count = index // 10, count + 1
            for place in range(count - 1, -1, -1):
                text[at] = digits[place]
                at += 1
            text[at] = ord(":")
            text[at + 1 : at + 10] = values[row]
            at += 10
        text[at] = ord("\n")
        at += 1
    return at


def dense(name: str, stem: Path, n: int, d: int) -> None:
    """Pixels around one of two pictures, in rows of length 1."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(f"{stem}-X.npy", "w+", np.float32, (n, d))
    pictures = rng.random((2, d))
    y = rng.integers(0, 2, n)
    for start in range(0, n, ROWS_AT_ONCE[name]):
        part = slice(start, min(start + ROWS_AT_ONCE[name], n))
        noise = rng.random((part.stop - part.start, d), dtype=np.float32)
        pixels = 0.1 * pictures[y[part]] + 0.9 * noise
        X[part] = pixels / np.linalg.norm(pixels, axis=1, keepdims=True)
    X.flush()
    np.save(f"{stem}-y.npy", np.where(rng.random(n) < 0.05, 1 - y, y))


def sequences(name: str, stem: Path, n: int, length: int) -> None:
    """Random letters; sequences of one class, one in fifty, hold one of three words."""
    rng = np.random.default_rng(0)
    for part, start in enumerate(range(0, n, ROWS_AT_ONCE[name])):
        rows = min(ROWS_AT_ONCE[name], n - start)
        text = LETTERS[rng.integers(0, 4, (rows, length))]
        marked = np.flatnonzero(rng.random(rows) < 0.02)
        for row in marked:
            motif, at = np.frombuffer(MOTIFS[rng.integers(len(MOTIFS))], dtype=np.uint8), rng.integers(length - 8)
            text[row, at : at + 8] = motif
        y = np.full(rows, b"-1")
        y[marked] = b"+1"
        lines = b"\n".join(label + b" " + row.tobytes() for label, row in zip(y.tolist(), text, strict=True))
        Path(f"{stem}-{part:04d}.txt").write_bytes(lines + b"\n")
