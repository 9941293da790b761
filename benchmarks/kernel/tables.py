"""The report of the kernel race, from its runs.

python benchmarks/kernel/tables.py benchmarks/results/kernel.jsonl [--write benchmarks/results/kernel.md]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from contenders import CACHE, LIBSVM, OURS
from report import heading, installed, publish, table

PEERS = ("scikit-learn", "scikit-learn-intelex", "thundersvm-cpu", "libsvm-official")
ABOUT = """\
Gaussian kernel, γ = 1/d times the factor in the table. Seconds of the fit. maxmargin's are those of its loosest
tolerance at which the objective, computed afterwards in the same way for all, is at most scikit-learn's (where that was
killed, those of a certified gap of 1e-3). A peer that was killed counts with the limit of {limit:g} seconds; > marks
it, and its ratio is a lower bound. All may hold {cache} MB of the kernel. The runs are of {dates}.
"""

Task = tuple[str, str, str]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", type=Path)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    write(options.runs, options.write, " ".join(["python benchmarks/kernel/tables.py", *sys.argv[1:]]))


def read(kept: Path) -> list[dict]:
    return [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []


def task_of(run: dict) -> Task:
    return run["data"], run["C"], run["gamma"]


def write(kept: Path, written: Path | None, command: str) -> None:
    runs = read(kept)
    tasks = list(dict.fromkeys(map(task_of, runs)))
    by_task = {task: [run for run in runs if task_of(run) == task] for task in tasks}
    dates = sorted({run["date"] for run in runs})
    about = ABOUT.format(
        limit=max(run["limit"] for run in runs), cache=CACHE, dates=" to ".join(dict.fromkeys((dates[0], dates[-1])))
    )
    title = heading("Kernel training", command, *filter(installed, PEERS))
    publish("\n".join([title, about, summary(by_task), times(by_task), others(by_task)]), written and str(written))


def of(runs: list[dict], who: str) -> list[dict]:
    return [run for run in runs if run["contender"] == who and run.get("primal") is not None]


def as_good(runs: list[dict]) -> dict | None:
    """Our first run that is as good as scikit-learn's."""
    peer = of(runs, LIBSVM)
    for run in of(runs, OURS):
        if run["primal"] <= peer[0]["primal"] * (1 + 1e-9) if peer else gap(run) <= 1e-3:
            return run
    return None


def gap(run: dict) -> float:
    return (run["primal"] - run["bound"]) / run["primal"]


def seconds(runs: list[dict], who: str) -> tuple[float, str] | None:
    """The seconds of a contender and how to write them; None if it was not run."""
    if not any(run["contender"] == who for run in runs):
        return None
    found = as_good(runs) if who == OURS else next(iter(of(runs, who)), None)
    limit = max(run["limit"] for run in runs)
    return (found["seconds"], f"{found['seconds']:.2f}") if found else (limit, f"> {limit:g}")


def ratios(by_task: dict[Task, list[dict]], who: str) -> dict[Task, float]:
    """The peer's seconds over ours, where ours got as far."""
    found = {}
    for task, runs in by_task.items():
        theirs, own = seconds(runs, who), as_good(runs)
        if theirs and own:
            found[task] = theirs[0] / own["seconds"]
    return found


def contenders(by_task: dict[Task, list[dict]]) -> list[str]:
    return list(dict.fromkeys(run["contender"] for runs in by_task.values() for run in runs))


def mean(values) -> float:
    return float(np.exp(np.mean(np.log(list(values))))) if values else float("nan")


def summary(by_task: dict[Task, list[dict]]) -> str:
    lines = [f"Tasks: {len(by_task)}."]
    for who in contenders(by_task):
        found = ratios(by_task, who)
        if who != OURS and found:
            slow = [f"{' '.join(task)} ({ratio:.2f})" for task, ratio in found.items() if ratio < 1.0]
            least, most = min(found.values()), max(found.values())
            spread = f"geometric mean {mean(found.values()):.2f}, from {least:.2f} to {most:.2f}"
            lines.append(f"{who}'s seconds over ours: {spread}; faster than ours: {'; '.join(slow) or 'nowhere'}.")
    short = [" ".join(task) for task, runs in by_task.items() if as_good(runs) is None]
    lines.append(f"Not as good as scikit-learn within the limit, and in no ratio: {'; '.join(short) or 'none'}.")
    tight = [task for task, runs in by_task.items() if any(gap(run) <= 1e-6 for run in of(runs, OURS))]
    lines.append(f"Certified to 1e-6 within the limit: {len(tight)} of {len(by_task)}.")
    same = {task: value for task, runs in by_task.items() if (value := agreement(runs)) is not None}
    low = [f"{' '.join(task)} ({value:.2%})" for task, value in same.items() if value < 0.999]
    lines.append(f"Predictions as scikit-learn's on 99.9 % of the test rows: all but {'; '.join(low) or 'none'}.")
    speed = {task: value for task, runs in by_task.items() if (value := predicting(runs)) is not None}
    if speed:
        lines.append(
            f"scikit-learn's seconds to predict over ours: geometric mean {mean(speed.values()):.2f}, from "
            f"{min(speed.values()):.2f} to {max(speed.values()):.2f}."
        )
    over = [beyond(run) for runs in by_task.values() for run in of(runs, OURS)]
    if over:
        lines.append(f"Our memory beyond the cache of {CACHE} MB and the data, at most: {max(over):.0f} MB.")
    return "## Summary\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"


def beyond(run: dict) -> float:
    return float(run["memory"] - CACHE - run["data_memory"])


def agreement(runs: list[dict]) -> float | None:
    """The part of the test rows on which our tightest run says what scikit-learn says."""
    ours, peer = of(runs, OURS), of(runs, LIBSVM)
    if not ours or not peer:
        return None
    pairs = list(zip(ours[-1]["predictions"], peer[0]["predictions"], strict=True))
    return sum(a == b for a, b in pairs) / len(pairs)


def predicting(runs: list[dict]) -> float | None:
    ours, peer = of(runs, OURS), of(runs, LIBSVM)
    return peer[0]["predicting"] / min(run["predicting"] for run in ours) if ours and peer else None


def times(by_task: dict[Task, list[dict]]) -> str:
    names = contenders(by_task)
    columns = ["data", "C", "γ d", *names, *(f"{who} / ours" for who in names if who != OURS)]
    rows = []
    for task, runs in by_task.items():
        found, own = {who: seconds(runs, who) for who in names}, as_good(runs)
        cells = [value[1] if value else "not run" for value in found.values()]
        for who in names:
            if who != OURS:
                value = found[who]
                sign = "> " if value and value[1].startswith(">") else ""
                cells.append(f"{sign}{value[0] / own['seconds']:.2f}" if value and own else "")
        rows.append([*task, *cells])
    return "## Seconds\n\n" + table(columns, rows)


def others(by_task: dict[Task, list[dict]]) -> str:
    columns = ["data", "C", "γ d", "our tol", "relative gap", "seconds to 1e-6", "support", "accuracy", "same",
               "their seconds to predict", "ours", "our MB", "their MB"]  # fmt: skip
    rows = []
    for task, runs in by_task.items():
        good, ours, peer = as_good(runs), of(runs, OURS), of(runs, LIBSVM)
        tight = next((f"{run['seconds']:.2f}" for run in ours if gap(run) <= 1e-6), "not reached")
        shown = good or (ours[-1] if ours else None)
        if shown is None:
            continue
        same = agreement(runs)
        rows.append([
            *task, f"{shown['tol']:g}", f"{max(gap(shown), 0.0):.1e}", tight,
            f"{shown['support']:,}", f"{shown['accuracy']:.4f}", "" if same is None else f"{same:.2%}",
            f"{peer[0]['predicting']:.3f}" if peer else "", f"{min(run['predicting'] for run in ours):.3f}",
            f"{max(run['memory'] for run in ours):.0f}", f"{peer[0]['memory']:.0f}" if peer else "",
        ])  # fmt: skip
    return "## Beside the seconds\n\n" + table(columns, rows)


if __name__ == "__main__":
    main()
