"""Training larger than memory: dual cached loops beside its forerunners, in a tenth of the file's size.

    python benchmarks/outofcore/run.py [--names kddb,webspam,ocr,dna,covtype,mnist] [--methods a,b] [--scale 1]
                                       [--folder FOLDER] [--data FOLDER] [--limit SECONDS] [--part 10] [--keep]
                                       [--write FILE.md]

Each method runs in a process of its own, cached_loops after a rehearsal of two seconds in another, and each after a
training on some rows, so that nothing is compiled while it is measured. Its memory is read from outside, ten times a
second, and counted from what it takes when it is ready. The page cache is dropped before and between passes. Hinge, C =
1, bias none, tolerance 1e-3; block methods count the time of splitting the file into blocks.

Runs are kept in FILE.jsonl, and those that are there are not made again. Files of a shape are removed after its last
method, unless they are to be kept: what is on the disk at any time stays below 20 GB.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from methods import BESIDE, OURS
from shapes import REAL, SIZES, options_of, remove, shape
from tables import report

sys.path.insert(0, str(Path(__file__).parents[1]))

from report import append, publish

METHODS = (*OURS, *BESIDE)


def main() -> None:
    options = options_of(__doc__)
    kept = Path(options.write or Path(tempfile.mkdtemp()) / "outofcore.md").with_suffix(".jsonl")
    done = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    for name in (options.names or ",".join([*SIZES, *REAL])).split(","):
        methods = (options.methods or ",".join(METHODS)).split(",")
        title = titled(name, options.scale)
        missing = [one for one in methods if not any((run["data"], run["method"]) == (title, one) for run in done)]
        if not missing:
            continue
        if shape(name, options.folder, options.real, options.scale) is None:
            print(f"{name}: not in {options.real}, left out", file=sys.stderr)
            continue
        for method in missing:
            run = watched(options, name, method)
            print({key: value for key, value in run.items() if key != "history"}, file=sys.stderr, flush=True)
            append(kept, [run])
            done.append(run)
        if not options.keep:
            remove(name, options.folder, options.scale)
    publish(report(done, " ".join(["python benchmarks/outofcore/run.py", *sys.argv[1:]])), options.write)


def titled(name: str, scale: float) -> str:
    """What the tables call a shape: a part of it is not the whole."""
    return name if scale == 1.0 or name in REAL else f"{name} × {scale:g}"


def watched(options, name: str, method: str) -> dict:
    """Run one method, and read its memory from outside."""
    command = [sys.executable, str(Path(__file__).with_name("methods.py")), name, method]
    for option in ("scale", "folder", "limit", "part"):
        command += [f"--{option}", str(getattr(options, option))]
    command += ["--data", str(options.real)]
    if method.startswith("cached_loops"):
        subprocess.run([*command, "--limit", "2"], capture_output=True, check=False)
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    at_start, most, said = None, 0, []
    lines = threading.Thread(target=lambda: said.extend(iter(child.stdout.readline, "")))
    lines.start()
    while child.poll() is None:
        now = resident(child.pid)
        if at_start is None and said:
            at_start = now
        most = max(most, now) if at_start is not None else 0
        time.sleep(0.1)
    lines.join()
    label = {"data": titled(name, options.scale), "method": method, "date": datetime.date.today().isoformat()}
    if len(said) < 1 or child.returncode:
        return {**label, "failure": f"exit code {child.returncode}"}
    return {**label, **json.loads(said[-1]), "start": at_start or 0, "peak": most - (at_start or 0)}


def resident(pid: int) -> int:
    """Bytes in memory, as the system counts them."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)
    except OSError:
        return 0


if __name__ == "__main__":
    main()
