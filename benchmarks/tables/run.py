"""Tables with maxmargin beside scikit-learn's ColumnTransformer with LinearSVC: accuracy and time on the same files.

    python benchmarks/tables/run.py [--data FOLDER] [--rows 50000] [--write FILE.md]

Every table is split into five parts at random; each contender learns from four of them and predicts the fifth, with
squared hinge and C = 1, from files on disk. Accuracy is the mean over the parts; balanced accuracy counts every class
alike. Seconds are those of reading, encoding and training one time, the best of five, after a first run that compiles.
scikit-learn: pandas.read_csv, numbers imputed by the mean and standardised, text with up to 40 values one-hot, other
text TfidfVectorizer. The generated table has numbers, categories, holes, dates, text and a known rule.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

sys.path.insert(0, str(Path(__file__).parents[1]))

from report import DATA, heading, publish, table

import maxmargin
from maxmargin.data.encoding.request import Request
from maxmargin.data.files import Files

TABLES = {
    "credit_data": "Status", "lending_club": "Class", "mlc_churn": "churn", "stackoverflow": "Remote",
    "penguins": "species",
}  # fmt: skip
FOLDS = 5
WORDS = "good bad slow quick cheap dear clean dirty warm cold near far old new big small"
HEADS = ["table", "rows", "MB", "contender", "accuracy", "balanced", "seconds", "encoding, MB/s"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=DATA / "tables")
    parser.add_argument("--rows", default="50000")
    parser.add_argument("--write")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, label in TABLES.items():
            path = options.data / f"{name}.csv"
            if not path.exists():
                print(f"{name}: not in {options.data}, left out", file=sys.stderr)
                continue
            rows += compared(name, pd.read_csv(path), label, Path(folder))
        for count in map(int, options.rows.split(",")):
            rows += compared(f"generated, {count:,}", generated(count), "pays", Path(folder))
    command = " ".join(["python benchmarks/tables/run.py", *(one for one in sys.argv[1:] if "/" not in one)])
    text = heading("Tables", command) + f"\n{__doc__.split(chr(10) * 2)[2]}\n\n" + table(HEADS, rows)
    publish(text, options.write)


def generated(n: int) -> pd.DataFrame:
    """Return a table with every kind of column, and a label that follows a known rule but for some noise."""
    rng = np.random.default_rng(0)
    age, income = rng.integers(18, 90, n).astype(float), rng.lognormal(10.0, 0.7, n)
    towns = np.array([f"town {k:02d}" for k in range(30)])
    town = rng.choice(towns, n)
    words = np.array(WORDS.split())
    notes = [" ".join(one) for one in rng.choice(words, (n, 8))]
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1500, n), unit="D")
    score = 0.03 * (age - 50.0) + 0.8 * (np.log(income) - 10.0) + 0.7 * np.isin(town, towns[:10])
    score += 0.8 * np.array([("good" in one) - ("bad" in one) for one in notes]) + 0.6 * (day.day_of_week >= 5)
    found = pd.DataFrame({
        "age": age, "income": np.round(income, 2), "town": town, "note": notes, "day": day.strftime("%Y-%m-%d"),
        "pays": np.where(score + 0.5 * rng.normal(size=n) > 0.3, "yes", "no"),
    })  # fmt: skip
    found.loc[rng.random(n) < 0.05, "age"] = np.nan
    found.loc[rng.random(n) < 0.05, "town"] = None
    return found


def compared(name: str, data: pd.DataFrame, label: str, folder: Path) -> list[list[str]]:
    """Return the row of each contender."""
    data = data.dropna(subset=[label])
    parts = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(data, data[label]))
    train, test = folder / "train.csv", folder / "test.csv"
    scores: dict[str, list] = {"maxmargin": [], "scikit-learn": []}
    speed = []
    for own, held in parts:
        data.iloc[own].to_csv(train, index=False)
        data.iloc[held].to_csv(test, index=False)
        truth = data.iloc[held][label].to_numpy()
        for contender, use in (("maxmargin", ours), ("scikit-learn", theirs)):
            seconds, predicted = use(train, test, label)
            scores[contender].append(
                (accuracy_score(truth, predicted), balanced_accuracy_score(truth, predicted), seconds)
            )
        speed.append(encoding_speed(train, label))
    size = train.stat().st_size / 1e6
    rows = []
    for contender, found in scores.items():
        accuracy, balanced = np.mean([one[:2] for one in found], axis=0)
        best = min(one[2] for one in found)
        told = f"{max(speed):.0f}" if contender == "maxmargin" else ""
        rows.append(
            [
                name,
                f"{len(data):,}",
                f"{size:.1f}",
                contender,
                f"{accuracy:.4f}",
                f"{balanced:.4f}",
                f"{best:.2f}",
                told,
            ]
        )
        print(*rows[-1], file=sys.stderr, flush=True)
    return rows


def ours(train: Path, test: Path, label: str) -> tuple[float, np.ndarray]:
    """Train and predict with maxmargin."""
    began = time.perf_counter()
    model = maxmargin.train(train, label=label, loss="squared_hinge").model
    seconds = time.perf_counter() - began
    return seconds, model.predict(pd.read_csv(test))


def theirs(train: Path, test: Path, label: str) -> tuple[float, np.ndarray]:
    """Train and predict with scikit-learn."""
    began = time.perf_counter()
    data = pd.read_csv(train)
    y, X = data[label], data.drop(columns=label)
    numbers = X.select_dtypes("number").columns.tolist()
    few = [name for name in X.columns if name not in numbers and X[name].nunique() <= 40]
    parts = [
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), few),
        *((TfidfVectorizer(), name) for name in X.columns if name not in numbers and name not in few),
    ]
    texts = [name for name in X.columns if name not in numbers and name not in few]
    pipeline = make_pipeline(make_column_transformer(*parts), LinearSVC())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipeline.fit(X.fillna(dict.fromkeys(texts, "")), y)
    seconds = time.perf_counter() - began
    return seconds, pipeline.predict(pd.read_csv(test).drop(columns=label).fillna(dict.fromkeys(texts, "")))


def encoding_speed(path: Path, label: str) -> float:
    """Return the megabytes of the file that are read and encoded in a second, on one thread, with the statistics."""
    files = Files(path, label=label, request=Request(), threads=1)
    began = time.perf_counter()
    for _ in files.source.blocks():
        pass
    return path.stat().st_size / 1e6 / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
