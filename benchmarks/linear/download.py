"""Fetch the data of the race, verified and ready for `--data`.

    python benchmarks/linear/download.py --to FOLDER [--names a9a,w8a]

a9a, w8a, ijcnn1, covtype and mnist come from the LIBSVM site, reuters_money-fx from the tick data sets on GitHub.
20news.binary can not be fetched: its features were computed from the newsgroup posts for this benchmark.

What is verified is not the bytes of the text but what they say: SHA-256 of the rows and labels as the race reads them.
The files it was measured on are other copies of the same data, with ends of lines, labels and zeros written otherwise.
A file that is in the folder already is only verified.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import urllib.request
from pathlib import Path
from typing import NamedTuple

import numpy as np
from datasets import parsed
from report import found

from maxmargin import MaxmarginError

SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
TICK = "https://raw.githubusercontent.com/X-DataInitiative/tick-datasets/05d934beb18c60386c0050a14d3ffb9517cac8ab"


class Source(NamedTuple):
    """Where a file is, and the digest of what it says."""

    url: str
    sha256: str


SOURCES = {
    "a9a": Source(f"{SITE}/binary/a9a", "4e62848cffe5651e9f944a5030ec0ba8d7656994575c4f146c9c63c1b402e89f"),
    "w8a": Source(f"{SITE}/binary/w8a", "8f55d26bd21c2d7f77762572ad079b299cba905fc2026c0cc2354a066c14516d"),
    "ijcnn1": Source(f"{SITE}/binary/ijcnn1.bz2", "11a4690dbeabcafaffe7b7a25e22f9ef0e4c9cbf0d57c685d04e9bcb4d165c7e"),
    "covtype.binary.scale": Source(
        f"{SITE}/binary/covtype.libsvm.binary.scale.bz2",
        "a7e469a3d3a19503524de5e793e9d651d0dba6238ff05f40e7c9a905aaf4f310",
    ),
    "covtype.binary": Source(
        f"{SITE}/binary/covtype.libsvm.binary.bz2", "37ce8aa4b8e5e009426813f8d39b02dc06b30d1346d30ebd7cba3fa01cfd9a0e"
    ),
    "mnist": Source(f"{SITE}/multiclass/mnist.bz2", "b5d3b3268a4962868430d18d3ecce22b8c6f4ccde654f6ef7965d903404d2384"),
    "reuters_money-fx": Source(
        f"{TICK}/binary/reuters/reuters.trn.bz2", "be2092c1b3943be183c757f2a8fb464517456efc363801408e3e58344c159b06"
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--names", default=",".join(SOURCES))
    options = parser.parse_args()
    failures = [failure for name in options.names.split(",") if (failure := fetched(name, options.to))]
    if failures:
        raise SystemExit("\n".join(failures))


def fetched(name: str, folder: Path) -> str | None:
    """Fetch and verify one file; what went wrong, in one line."""
    if name not in SOURCES:
        return f"{name}: can not be fetched; there are {', '.join(SOURCES)}"
    there = found(name, folder)
    if there:
        return wrong(there, name)
    url = SOURCES[name].url
    target = folder / (name + (".bz2" if url.endswith(".bz2") else ""))
    part = target.with_name(target.name + ".part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(url, timeout=60) as answer, part.open("wb") as file:
            while block := answer.read(1 << 20):
                file.write(block)
        failure = wrong(part, name)
        if not failure:
            part.rename(target)
            print(f"{name}: written to {target}", file=sys.stderr)
        return failure
    except OSError as error:
        return f"{name}: cannot fetch {url}: {error}"
    finally:
        part.unlink(missing_ok=True)


def wrong(path: Path, name: str) -> str | None:
    """What is wrong with a file, if anything."""
    try:
        digest = digest_of(*parsed(path, name))
    except (MaxmarginError, IndexError) as error:
        return f"{name}: {path} cannot be read: {error}"
    if digest != SOURCES[name].sha256:
        return f"{name}: {path} is not the data of this benchmark: SHA-256 {digest}, not {SOURCES[name].sha256}"
    return None


def digest_of(X, y) -> str:
    """SHA-256 of labels ±1, ends of rows, columns from 0, values; zeros left out, little-endian."""
    X.sort_indices()
    X.eliminate_zeros()
    parts = (y.astype("i1"), X.indptr.astype("<i8"), X.indices.astype("<i4"), X.data.astype("<f8"))
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


if __name__ == "__main__":
    main()
