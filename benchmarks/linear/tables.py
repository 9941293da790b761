"""The report of the race, from its runs.

    python benchmarks/linear/tables.py benchmarks/results/linear.jsonl [--write benchmarks/results/linear.md]

Versions and machine in its heading are those of the day it is written.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import records
from records import LEVELS, OURS, Problem, Runs
from report import heading, installed, publish, table

PEERS = ("scikit-learn", "liblinear-official", "snapml", "vowpalwabbit")
LEVEL = 1e-4  # where the contenders are compared
NONE, UNKNOWN = "none", "undecided"
ABOUT = """\
Seconds until the objective is within a level of the optimum, as a part of the objective: the shortest run that reached
it. maxmargin reaches a level when its own certificate proves it; a peer, which proves nothing, when its objective
measured afterwards is that near to the best bound that anyone proved. A contender that never reached a level counts as
having taken the limit, or its longest run if that is longer; tables show it as > that time. Where no bound is within
a tenth of the level of the lowest objective, nobody can tell who reached it: the problem is undecided. {where}
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", type=Path)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    write(options.runs, options.write, " ".join(["python benchmarks/linear/tables.py", *sys.argv[1:]]))


def write(kept: Path, written: Path | None, command: str) -> None:
    problems = records.read(kept)
    if not problems:
        raise SystemExit(f"{kept}: holds no finished problem")
    title = heading("Linear training", command, *filter(installed, PEERS))
    sections = (about, summary, slower, by_problem, by_contender)
    publish("\n".join([title, *(section(problems) for section in sections)]), written and str(written))


def about(problems: dict[Problem, Runs]) -> str:
    dates = sorted({run["date"] for runs in problems.values() for run in runs})
    limits = sorted({runs[-1]["limit"] for runs in problems.values()})
    where = f"The limit was {' or '.join(f'{limit:g}' for limit in limits)} seconds; the runs are of {dates[0]}"
    where += f" to {dates[-1]}." if dates[-1] > dates[0] else "."
    return ABOUT.format(where=where)


def summary(problems: dict[Problem, Runs]) -> str:
    known = {problem: runs for problem, runs in problems.items() if records.decided(runs, LEVEL)}
    ours, best = times(known, OURS), {problem: fastest(runs)[1] for problem, runs in known.items()}
    liblinears = {problem: liblinear(runs)[0] for problem, runs in known.items()}
    missed = [problem for problem, runs in problems.items() if records.seconds_to(LEVEL, runs, OURS) is None]
    unknown = [problem for problem in problems if problem not in known]
    won = sum(ours[problem] <= best[problem] for problem in known if problem not in missed)
    slower_tight = mean_ratio(times(problems, OURS, 1e-6), times(problems, OURS, 1e-3))
    lines = [
        f"Problems: {len(problems)}.",
        f"As fast as the fastest peer to {LEVEL:g}, or faster: {won}.",
        f"Not certified to {LEVEL:g} within the limit: {named(missed)}.",
        f"Undecided, as the optimum is not known well enough, and in no figure but the last: {named(unknown)}.",
        f"LIBLINEAR's seconds to {LEVEL:g} over ours, geometric mean: {mean_ratio(liblinears, ours):.2f}.",
        f"Our seconds to 1e-6 over ours to 1e-3, geometric mean: {slower_tight:.2f}.",
    ]
    return "## Summary\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"


def named(problems: list[Problem]) -> str:
    return f"{len(problems)} ({'; '.join(map(' '.join, problems))})" if problems else "none"


def times(problems: dict[Problem, Runs], who: str, level: float = LEVEL) -> dict[Problem, float]:
    return {problem: records.seconds_or_limit(level, runs, who) for problem, runs in problems.items()}


def mean_ratio(above: dict[Problem, float], below: dict[Problem, float]) -> float:
    return float(np.exp(np.mean([np.log(above[problem] / below[problem]) for problem in below])))


def fastest(runs: Runs) -> tuple[str, float]:
    """The peer that was first at the level; the limit if none got there or nobody can tell."""
    if not records.decided(runs, LEVEL):
        return UNKNOWN, runs[-1]["limit"]
    peers = {who: records.seconds_to(LEVEL, runs, who) for who in records.contenders(runs) if who != OURS}
    there = [(who, seconds) for who, seconds in peers.items() if seconds is not None]
    return min(there, key=lambda pair: pair[1], default=(NONE, runs[-1]["limit"]))


def liblinear(runs: Runs) -> tuple[float, str]:
    """The faster of LIBLINEAR's solvers: seconds or limit, and how to write it."""
    names = [who for who in records.contenders(runs) if who.startswith("LIBLINEAR")]
    if not names:
        return runs[-1]["limit"], "not run"
    who = min(names, key=lambda name: records.seconds_or_limit(LEVEL, runs, name))
    return records.seconds_or_limit(LEVEL, runs, who), cell(LEVEL, runs, who)


def cell(level: float, runs: Runs, who: str) -> str:
    seconds = records.seconds_to(level, runs, who)
    return f"{seconds:.3f}" if seconds is not None else f"> {records.seconds_or_limit(level, runs, who):.3g}"


def by_problem(problems: dict[Problem, Runs]) -> str:
    ours = [f"maxmargin {level:g}" for level in LEVELS]
    columns = ["data", "loss", "bias", "C", *ours, "fastest peer", f"its {LEVEL:g}", "peer / ours", "LIBLINEAR"]
    rows = [[*problem, *problem_cells(runs)] for problem, runs in problems.items()]
    return f"## Every problem\n\nPeers at {LEVEL:g}.\n\n" + table(columns, rows)


def problem_cells(runs: Runs) -> list[str]:
    who, seconds = fastest(runs)
    ratio = seconds / records.seconds_or_limit(LEVEL, runs, OURS)
    if who == UNKNOWN:
        return [*(cell(level, runs, OURS) for level in LEVELS), who, "?", "?", "?"]
    sign = "> " if who == NONE else ""
    return [
        *(cell(level, runs, OURS) for level in LEVELS),
        who,
        f"{sign}{seconds:.3f}",
        f"{sign}{ratio:.2f}",
        liblinear(runs)[1],
    ]


def by_contender(problems: dict[Problem, Runs]) -> str:
    columns = ["data", "loss", "bias", "C", "contender", *(f"{level:g}" for level in LEVELS), "best reached"]
    rows = [
        [*problem, who, *(cell(level, runs, who) for level in LEVELS), reached(runs, who)]
        for problem, runs in problems.items()
        for who in records.contenders(runs)
    ]
    return "## Every contender\n\n" + table(columns, rows)


def reached(runs: Runs, who: str) -> str:
    """The least suboptimality of its runs, or why there is none."""
    best = records.best_bound(runs)
    least = min((records.above(run, best) for run in records.of(runs, who)), default=None)
    if least is None:
        return next((run["failure"] for run in runs if run["contender"] == who and "failure" in run), "nothing finite")
    return f"{max(least, 0.0):.1e}"


def slower(problems: dict[Problem, Runs]) -> str:
    ours = times(problems, OURS)
    lines = []
    for problem, runs in problems.items():
        who, seconds = fastest(runs)
        ratio = ours[problem] / seconds
        if who not in (NONE, UNKNOWN) and ratio > 1.0:
            lines.append((ratio, f"- {' '.join(problem)}: {who}, {ratio:.2f} times"))
    text = "\n".join(line for _, line in sorted(lines, reverse=True)) or "None."
    return f"## Where a peer is faster\n\nTo {LEVEL:g}, and how many times.\n\n{text}\n"


if __name__ == "__main__":
    main()
