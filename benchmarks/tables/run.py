"""Tables with maxmargin beside scikit-learn's ColumnTransformer and skrub's tabular_pipeline, on the same files.

    python benchmarks/tables/run.py [--data FOLDER] [--names a,b] [--rows 50000,500000] [--encoded 50000,500000]
                                    [--streamed 5000000 --memory 500MB --limit 3600] [--write FILE.md]

Every table is split into five parts at random; each contender learns from four of them and predicts the fifth, with
squared hinge and C = 1, or for regression ε = 0.1, C = 1 and a standardised target, from files on disk. Figures are the
means over the parts; balanced accuracy counts every class alike. Seconds are those of reading, encoding and training
one time, the best of five, after a first run that compiles. scikit-learn: pandas.read_csv, numbers imputed by the mean
and standardised, text with up to 40 values one-hot, other text TfidfVectorizer. skrub: its tabular_pipeline. The
generated table has numbers, categories, holes, dates, text and a known rule.

Encoding is measured on whole files, in seconds of the processor on one core, the best of five: the statistics, from
which an encoder is fitted, the encoding of all rows, and both.

Of the table that is streamed, memory is the most that is resident beyond what a rehearsal on few rows has left. A
contender that takes longer than the limit of time is ended.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from contenders import CLASSIFIERS, REGRESSORS, Contender
from encoding import HEADS as SPEED_HEADS
from encoding import encoding_speeds
from generated import LABEL, generated
from sklearn.metrics import accuracy_score, balanced_accuracy_score, mean_absolute_error, r2_score
from sklearn.model_selection import KFold, StratifiedKFold
from streamed import HEADS, streamed

sys.path.insert(0, str(Path(__file__).parents[1]))

from report import DATA, heading, publish, table

FOLDS = 5


class Task(NamedTuple):
    """Tables with their labels, who is compared on them, and how."""

    tables: dict[str, str]
    contenders: dict[str, Contender]
    figures: dict[str, Callable[[np.ndarray, np.ndarray], float]]
    split: Callable[..., object]


CLASSIFY = Task(
    {
        "credit_data": "Status", "lending_club": "Class", "mlc_churn": "churn", "stackoverflow": "Remote",
        "penguins": "species",
    },
    CLASSIFIERS, {"accuracy": accuracy_score, "balanced": balanced_accuracy_score}, StratifiedKFold,
)  # fmt: skip
REGRESS = Task(
    {"ames": "Sale_Price", "Chicago": "ridership"}, REGRESSORS,
    {"R²": r2_score, "mean abs. error": mean_absolute_error}, KFold,
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA / "tables")
    parser.add_argument("--names", help="tables to measure; all of them by default, and the generated ones")
    parser.add_argument("--rows", default="50000")
    parser.add_argument("--encoded", default="50000,500000", help="rows of the tables whose encoding is measured")
    parser.add_argument("--streamed", type=int, default=0, help="rows of the table that is streamed; 0 for none")
    parser.add_argument("--memory", default="500MB")
    parser.add_argument("--limit", type=float, default=3600.0)
    parser.add_argument("--write")
    options = parser.parse_args()
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        for task in (CLASSIFY, REGRESS):
            rows = []
            for name, data, label in tables_of(task, options):
                rows += compared(task, name, data, label, Path(folder))
            heads = ["table", "rows", "MB", "contender", *task.figures, "seconds"]
            parts += [table(heads, rows)] if rows else []
        sizes = map(int, options.encoded.split(",")) if options.encoded else []
        parts.append(table(SPEED_HEADS, encoding_speeds(files_of(options), sizes, Path(folder))))
        if options.streamed:
            parts.append(table(HEADS, streamed(options.streamed, options.memory, options.limit, Path(folder))))
    command = " ".join(["python benchmarks/tables/run.py", *(one for one in sys.argv[1:] if "/" not in one)])
    packages = ("scikit-learn", "skrub", "pandas")
    described = "\n\n".join(__doc__.strip().split("\n\n")[2:])
    text = heading("Tables", command, *packages) + f"\n{described}\n\n" + "\n".join(parts)
    publish(text, options.write)


def tables_of(task: Task, options: argparse.Namespace) -> list[tuple[str, pd.DataFrame, str]]:
    """Return the tables of a task that are at hand, with their labels, and the generated ones."""
    wanted = options.names.split(",") if options.names else [*task.tables, "generated"]
    found = []
    for name, label in task.tables.items():
        path = options.data / f"{name}.csv"
        if name in wanted and not path.exists():
            print(f"{name}: not in {options.data}, left out", file=sys.stderr)
        elif name in wanted:
            found.append((name, pd.read_csv(path), label))
    if task is CLASSIFY and "generated" in wanted:
        found += [(f"generated, {n:,}", generated(n), LABEL) for n in map(int, options.rows.split(","))]
    return found


def files_of(options: argparse.Namespace) -> list[tuple[str, Path, str]]:
    """Return the tables that are at hand as files, with their labels."""
    wanted = options.names.split(",") if options.names else [*CLASSIFY.tables, *REGRESS.tables]
    every = {**CLASSIFY.tables, **REGRESS.tables}
    found = [(name, options.data / f"{name}.csv", label) for name, label in every.items() if name in wanted]
    return [one for one in found if one[1].exists()]


def compared(task: Task, name: str, data: pd.DataFrame, label: str, folder: Path) -> list[list[str]]:
    """Return the row of each contender."""
    data = data.dropna(subset=[label])
    if task is REGRESS:
        data[label] = (data[label] - data[label].mean()) / data[label].std()
    train, test = folder / "train.csv", folder / "test.csv"
    found: dict[str, list[list[float]]] = {contender: [] for contender in task.contenders}
    for own, held in task.split(FOLDS, shuffle=True, random_state=0).split(data, data[label]):
        data.iloc[own].to_csv(train, index=False)
        data.iloc[held].to_csv(test, index=False)
        truth = data.iloc[held][label].to_numpy()
        for contender, use in task.contenders.items():
            seconds, predicted = use(train, test, label)
            found[contender].append([*(figure(truth, predicted) for figure in task.figures.values()), seconds])
    size = f"{train.stat().st_size / 1e6:.1f}"
    rows = []
    for contender, runs in found.items():
        *figures, _ = np.mean(runs, axis=0)
        seconds = min(run[-1] for run in runs)
        shown = [f"{one:.4f}" for one in figures]
        rows.append([name, f"{len(data):,}", size, contender, *shown, f"{seconds:.2f}"])
        print(*rows[-1], file=sys.stderr, flush=True)
    return rows


if __name__ == "__main__":
    main()
