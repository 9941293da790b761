"""Small fits beside scikit-learn: single fits, grid searches, the first fit in a process, example programs.

    python benchmarks/small/run.py [--tables fits,grids,startup,examples] [--budget SECONDS] [--repeat N]
                                   [--programs a,b] [--share PART] [--quick] [--write FILE.md]

Both packages run in one process and take turns, fit by fit, with their defaults, threads included. Compilation and
other costs of a first call are off the clock. A cell is repeated for about `--budget` seconds; its median is reported,
and its best time beside it. `--share 0.1` runs a tenth of the repetitions of the example programs: trials,
permutations, splits. `--quick` is for development: a budget of 0.1 seconds, one process, a share of 0.05.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import examples
import first_fits
import fits
import grids
from programs import PROGRAMS
from report import heading, publish

TABLES = {
    "fits": lambda options: fits.report(options.budget),
    "grids": lambda options: grids.report(options.budget),
    "startup": lambda options: first_fits.report(options.repeat),
    "examples": lambda options: examples.report(options.share, options.programs.split(",")),
}
QUICK = {"budget": 0.1, "repeat": 1, "share": 0.05}


def main() -> None:
    options = given()
    command = " ".join(["python benchmarks/small/run.py", *sys.argv[1:]])
    title = heading("Small fits beside scikit-learn", command, "scikit-learn", "scipy", "joblib")
    texts = [TABLES[name](options) for name in options.tables.split(",")]
    publish("\n".join([title, *texts]), options.write)


def given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--budget", type=float, default=0.5)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write")
    if "--quick" in sys.argv:
        parser.set_defaults(**QUICK)
    return parser.parse_args()


if __name__ == "__main__":
    main()
