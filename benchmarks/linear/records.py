"""The runs of the race: one line of JSON each, the lines of a problem appended together, its optimum last.

What counts as suboptimality is decided here. A peer's is measured from the best bound that anyone proved, maxmargin's
from the bound of that very run, which is what its certificate proves. Where the best bound is not much nearer to the
lowest objective than a level asks, who reached that level is not known: the problem is undecided.
"""

from __future__ import annotations

import json
from pathlib import Path

LEVELS = (1e-3, 1e-4, 1e-6)
OURS = "maxmargin"
OPTIMUM = "optimum"

Problem = tuple[str, str, str, str]
Runs = list[dict]


def read(path: Path) -> dict[Problem, Runs]:
    """The finished problems of a file, in its order."""
    problems: dict[Problem, Runs] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        run = json.loads(line)
        problems.setdefault((run["data"], run["loss"], run["bias"], run["C"]), []).append(run)
    return {problem: runs for problem, runs in problems.items() if runs[-1]["contender"] == OPTIMUM}


def write(path: Path, problems: dict[Problem, Runs]) -> None:
    """All of them, in the place of what was in the file."""
    part = path.with_suffix(".part")
    part.write_text("".join(json.dumps(run) + "\n" for runs in problems.values() for run in runs))
    part.replace(path)


def best_bound(runs: Runs) -> float:
    return max((run["bound"] for run in runs if run["bound"] is not None), default=float("-inf"))


def lowest_primal(runs: Runs) -> float:
    return min((run["primal"] for run in runs if run["primal"] is not None), default=float("inf"))


def bound_gap(runs: Runs) -> float | None:
    """How far the best bound is below the lowest objective that anyone found."""
    bound, lowest = best_bound(runs), lowest_primal(runs)
    return (lowest - bound) / lowest if max(abs(bound), abs(lowest)) < float("inf") else None


def decided(runs: Runs, level: float = LEVELS[-1]) -> bool:
    """Whether the bound is near enough to the optimum to say who came within the level of it."""
    gap = bound_gap(runs)
    return gap is not None and gap <= level / 10


def of(runs: Runs, contender: str) -> Runs:
    """Its runs that came to an end with a finite objective."""
    return [run for run in runs if run["contender"] == contender and run["primal"] is not None]


def contenders(runs: Runs) -> list[str]:
    return [name for name in dict.fromkeys(run["contender"] for run in runs) if name != OPTIMUM]


def above(run: dict, best: float) -> float:
    """Suboptimality as a part of the objective."""
    return (run["primal"] - best) / run["primal"]


def certified(run: dict, best: float) -> float:
    """Suboptimality as far as it is known to the user: by the run's own bound if it has one."""
    return above(run, best if run["bound"] is None else run["bound"])


def seconds_to(level: float, runs: Runs, contender: str) -> float | None:
    """The shortest run that reached the level."""
    best = best_bound(runs)
    return min((run["seconds"] for run in of(runs, contender) if certified(run, best) <= level), default=None)


def seconds_or_limit(level: float, runs: Runs, contender: str) -> float:
    """The same; where no run reached the level, the limit, or the longest run if that was longer."""
    seconds = seconds_to(level, runs, contender)
    return max([runs[-1]["limit"], *(run["seconds"] for run in of(runs, contender))]) if seconds is None else seconds
