"""How long a user waits before anything happens: imports, --help, the first and the second `train`.

    python benchmarks/startup.py [--repeat N] [--write FILE]

Each figure is the median wall time of whole processes. "first" means with an empty cache of compiled code.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report import heading, publish, table

SMALL = "".join(f"{1 - 2 * (i % 2)} {1 + i % 7}:{i % 5}.5 {9 + i % 3}:{1 - 2 * (i % 2)}.25\n" for i in range(500))


def seconds(arguments: list[str], repeat: int, prepare=lambda: {}) -> float:
    times = []
    for _ in range(repeat):
        environment = {**os.environ, **prepare()}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what Python keeps for users, it keeps here
        began = time.perf_counter()
        subprocess.run(arguments, check=True, capture_output=True, env=environment)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--write")
    options = parser.parse_args()
    python, maxmargin = sys.executable, str(Path(sys.executable).parent / "maxmargin")
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder, "small.svm"), str(Path(folder, "small.safetensors"))
        data.write_text(SMALL)
        train = [maxmargin, "train", str(data), "--model", model, "--quiet"]

        def empty_cache() -> dict[str, str]:
            return {"MAXMARGIN_CACHE_DIR": tempfile.mkdtemp(dir=folder)}

        warm = empty_cache()
        subprocess.run(train, check=True, capture_output=True, env={**os.environ, **warm})
        numpy = seconds([python, "-c", "import numpy"], options.repeat)
        rows = [
            ["import numpy", numpy, ""],
            ["import maxmargin, beyond importing numpy",
             seconds([python, "-c", "import numpy, maxmargin"], options.repeat) - numpy, "0.35"],
            ["from maxmargin import train, beyond importing numpy",
             seconds([python, "-c", "import numpy; from maxmargin import train"], options.repeat) - numpy, ""],
            ["from maxmargin import LinearSVC, beyond importing numpy",
             seconds([python, "-c", "import numpy; from maxmargin import LinearSVC"], options.repeat) - numpy, ""],
            ["maxmargin --help", seconds([maxmargin, "--help"], options.repeat), "0.5"],
            ["first maxmargin train of a small file, nothing compiled",
             seconds(train, max(3, options.repeat // 2), empty_cache), "6"],
            ["second maxmargin train of a small file", seconds(train, options.repeat, lambda: warm), "1.5"],
        ]  # fmt: skip
    cells = [[name, f"{time:.3f}", target] for name, time, target in rows]
    text = heading("Start-up", "make bench-startup", "scikit-learn", "typer") + "\n"
    text += table(["what", "seconds", "target: under"], cells)
    publish(text, options.write)


if __name__ == "__main__":
    main()
