"""How long a report takes beyond reading its data, and how large its page is.

    python benchmarks/report_pages.py [--data FOLDER] [--write FILE]

Each model is trained once. The data are then read, and read again by `report`; the difference of the two is what the
report costs. Reports are made twice, and the second one counts, so that compiling is not timed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from report import DATA, found, heading, publish, table

import maxmargin

CASES: dict[str, dict[str, Any]] = {
    "covtype.binary.scale": {},
    "covtype.multiclass": {"max_seconds": 30},
    "a9a": {},
    "20news": {},
    "usps": {"kernel": "gaussian"},
    "fourclass_scale": {"kernel": "gaussian", "probability": True},
}
COLUMNS = ["data", "model", "rows", "reading, s", "report, s", "beyond reading, s", "page, MB"]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure reports.")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with NAME.xz files")
    parser.add_argument("--write", help="write the table to this file, too")
    options = parser.parse_args()
    paths = {name: found(name, options.data) for name in CASES}
    rows = [measured(path, CASES[name]) for name, path in paths.items() if path is not None]
    text = heading("Reports", "make bench-report_pages", "vl-convert-python")
    publish(f"{text}\nThe rows are those of the training.\n\n{table(COLUMNS, rows)}", options.write)


def measured(path: Path, given: dict[str, Any]) -> list[str]:
    model = maxmargin.train(path, **given).model
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        for _ in range(2):
            reading = seconds(lambda: maxmargin.read(path))
            reporting = seconds(lambda: maxmargin.report(model, path, path=page))
        size = page.stat().st_size / 1e6
    kind = str(given.get("kernel", "linear"))
    numbers = [f"{reading:.1f}", f"{reporting:.1f}", f"{max(reporting - reading, 0.0):.1f}", f"{size:.2f}"]
    return [path.stem, kind, f"{model.training['n']:,}", *numbers]


def seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
