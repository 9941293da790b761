"""The generated table with millions of rows: each contender in a process of its own, its memory read from outside.

    python benchmarks/tables/streamed.py CONTENDER TRAIN TEST MEMORY     (a child of run.py)

The memory is the most that is resident beyond what the process takes after a rehearsal on few rows, which compiles and
imports everything, ten times a second. maxmargin is given a limit: it encodes the rows once, into a temporary file that
it reads in every pass. The others read the file into memory. One that fails, or takes longer than the limit of time
after the rehearsal, is told so.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

from contenders import CLASSIFIERS, ours
from generated import LABEL, write

REHEARSED_ROWS = 20_000
REHEARSED_MEMORY = "8MB"  # with which these rows are streamed
TESTED_ROWS = REHEARSED_ROWS  # so that predicting them takes no more memory than the rehearsal did
SAMPLES_A_SECOND = 10
HEADS = ["rows", "MB", "contender", "limit", "memory, MB", "seconds", "accuracy"]


def streamed(n: int, memory: str, limit: float, folder: Path) -> list[list[str]]:
    """Return the row of each contender."""
    train, test, few = folder / "large.csv", folder / "large-test.csv", folder / "few.csv"
    write(train, n, 1)
    write(test, TESTED_ROWS, 2)
    write(few, REHEARSED_ROWS, 3)
    rows = []
    for contender in CLASSIFIERS:
        found = watched([contender, str(train), str(test), str(few), memory], limit)
        size, allowed = f"{train.stat().st_size / 1e6:,.0f}", memory if contender == "maxmargin" else "none"
        rows.append([f"{n:,}", size, contender, allowed, *told(found)])
        print(*rows[-1], file=sys.stderr, flush=True)
    for path in (train, test, few):
        path.unlink()
    return rows


def told(found: dict) -> list[str]:
    """Return the last cells of a row."""
    if "failed" in found:
        return ["", found["failed"], ""]
    return [f"{found['memory'] / 1e6:,.0f}", f"{found['seconds']:.1f}", f"{found['accuracy']:.4f}"]


def watched(arguments: list[str], limit: float) -> dict:
    """Run one contender, and read its memory from outside."""
    child = subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True)
    said: list[str] = []
    lines = threading.Thread(target=lambda: said.extend(iter(child.stdout.readline, "")))
    lines.start()
    at_start, most, began, late = None, 0, time.monotonic(), False
    while child.poll() is None:
        now = resident(child.pid)
        if at_start is None and said:
            at_start, began = now, time.monotonic()
        most = max(most, now) if said else 0
        if not late and time.monotonic() - began > limit:
            late = True
            child.kill()
        time.sleep(1.0 / SAMPLES_A_SECOND)
    lines.join()
    if child.returncode:
        return {"failed": f"not within {limit:,.0f} s" if late else "failed"}
    return {"memory": most - (at_start or most), **json.loads(said[-1])}


def resident(pid: int) -> int:
    """Return the bytes that a process holds; 0 if it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)


def child(contender: str, train: Path, test: Path, few: Path, memory: str) -> None:
    """Run one contender: a rehearsal, a line, and the result."""
    import pandas as pd

    use = ours(loss="squared_hinge", memory=memory) if contender == "maxmargin" else CLASSIFIERS[contender]
    if contender == "maxmargin":
        ours(loss="squared_hinge", memory=REHEARSED_MEMORY)(few, few, LABEL)  # compiles the passes over files
    use(few, few, LABEL)
    print("ready", flush=True)
    time.sleep(3.0 / SAMPLES_A_SECOND)
    seconds, predicted = use(train, test, LABEL)
    truth = pd.read_csv(test)[LABEL].to_numpy()
    print(json.dumps({"seconds": seconds, "accuracy": float((predicted == truth).mean())}), flush=True)


if __name__ == "__main__":
    child(sys.argv[1], *map(Path, sys.argv[2:5]), sys.argv[5])
