"""The whole campaign: python fuzz/run.py --minutes 30 --write benchmarks/results/fuzz.md.

The time is split over the parts. A part with a count of its own (--linear 100000) runs until it has done so many cases,
whatever the time. One case again, with all that is seen of it: python fuzz/run.py --seed-only linear:12345
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # not this folder, whose files have the names of others
sys.path.insert(1, str(ROOT / "benchmarks"))

from report import heading, publish, table  # noqa: E402

from fuzz.certificates import KernelRunner, LinearRunner, streamed_runner  # noqa: E402
from fuzz.concurrency import ConcurrencyRunner  # noqa: E402
from fuzz.files import FileRunner  # noqa: E402
from fuzz.full_disks import CHECKS, DiskRunner  # noqa: E402
from fuzz.invariances import InvarianceRunner  # noqa: E402
from fuzz.kills import KillRunner  # noqa: E402
from fuzz.tally import Tally  # noqa: E402
from fuzz.workers import campaign, quieten  # noqa: E402
from maxmargin.system.compiled import cache_root  # noqa: E402

SHARES = {
    "linear": 0.3,
    "kernel": 0.16,
    "streamed": 0.08,
    "files": 0.26,
    "kills": 0.1,
    "invariances": 0.07,
    "concurrency": 0.03,
}
GROUPS = {"certificates": ["linear", "kernel", "streamed"], "kills": ["disks", "kills"]}
MOST_SECONDS = 6 * 3600.0  # of a part that runs to a count
SHOWN = 5  # findings of a kind
LONGEST = 420  # characters of one


def runner_of(part: str, folder: Path, formats: str | None = None) -> Any:
    """What runs the cases of a part."""
    if part == "files":
        return FileRunner(folder, tuple(formats.split(","))) if formats else FileRunner(folder)
    runners = (
        LinearRunner, KernelRunner, streamed_runner, KillRunner, DiskRunner, InvarianceRunner, ConcurrencyRunner,
    )  # fmt: skip
    return {runner().name: runner for runner in runners}[part]()


def run_part(part: str, folder: Path, count: int | None, seconds: float, asked: argparse.Namespace) -> Tally:
    """One part, to its count or for its time."""
    runner, first, workers = runner_of(part, folder, asked.formats), asked.seed, asked.workers
    if part == "disks":
        count, workers = CHECKS, 1
    try:
        with indices_checked(part == "files"):
            return campaign(runner, *((10**9, seconds) if count is None else (count, MOST_SECONDS)), first, workers)
    finally:
        if part == "files":
            runner.close()


@contextmanager
def indices_checked(wanted: bool) -> Iterator[None]:
    """Compiled code of new processes checks every index: one out of bounds is an error, not a chance of a crash.

    Its machine code is kept apart from that of users.
    """
    if not wanted:
        yield
        return
    before = dict(os.environ)
    os.environ["NUMBA_BOUNDSCHECK"] = "1"
    os.environ["MAXMARGIN_CACHE_DIR"] = str(cache_root() / "checked")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def run_one(case: str, folder: Path, formats: str | None) -> int:
    """One case in this process, and all that is found."""
    part, _, seed = case.partition(":")
    runner, tally = runner_of(part, folder, formats), Tally()
    quieten()
    runner.prepare()
    runner.run(int(seed), tally)
    print(runner.save(int(seed), "run by --seed-only"))
    print(dict(tally.counts))
    for found in tally.findings.values():
        for finding in found:
            print(finding)
    if part == "files":
        runner.close()
    return int(bool(tally.found))


def summary(tallies: dict[str, Tally]) -> str:
    """Counts of each part."""
    lines = []
    for part, tally in tallies.items():
        cases = tally.counts[f"{part} problems"] or tally.counts["files"] or tally.counts["comparisons"]
        cases = cases or tally.counts["kills"] or tally.counts["full disks"] or tally.counts["trainings beside others"]
        rate = cases / max(tally.seconds, 1e-9)
        details = {name: n for name, n in sorted(tally.counts.items()) if name != "time in fits"}
        said = ", ".join(f"{n:,} {name}" for name, n in details.items())
        lines.append([part, f"{cases:,}", f"{tally.seconds:,.0f}", f"{rate:.1f}", f"{tally.found.total():,}", said])
    return table(["part", "cases", "seconds", "cases a second", "findings", "of which"], lines)


def share_of(tallies: dict[str, Tally], status: str) -> str:
    """Which part of all certified fits ended so."""
    fits = sum(tally.counts["fits"] for tally in tallies.values())
    those = sum(tally.counts[status] for tally in tallies.values())
    return f"{those:,} of {fits:,} fits ({100 * those / max(fits, 1):.2f} %) end {status}"


def findings(tallies: dict[str, Tally]) -> str:
    """The worst of each kind, with the seeds to see them again."""
    lines = []
    for part, tally in tallies.items():
        for kind, count in tally.found.most_common():
            lines.append(f"\n### {part}: {kind} ({count:,})\n")
            lines += [f"- {str(finding)[:LONGEST]}" for finding in tally.findings[kind][:SHOWN]]
    return "\n".join(lines) if lines else "None."


def commit() -> str:
    """What was run."""
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=10"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return said.stdout.strip() or "unknown"


def report_of(tallies: dict[str, Tally], command: str, seconds: float) -> str:
    """The whole report."""
    return "\n".join([
        heading("The campaign: exact certificates, mutated files, kills, invariances, concurrency", command),
        f"Commit {commit()}, {seconds / 60:.0f} minutes. What each part claims and checks: `fuzz/README.md`. A case is "
        "run again by `python fuzz/run.py --seed-only PART:SEED`.\n",
        summary(tallies),
        f"{share_of(tallies, 'CONVERGED')}; {share_of(tallies, 'ROUNDING')}.\n",
        f"## Findings\n\n{findings(tallies)}\n",
    ])  # fmt: skip


def parts_of(text: str | None) -> list[str]:
    """The parts that are asked for, in the order in which they run."""
    asked = [*SHARES] if text is None else text.split(",")
    found = [part for name in asked for part in GROUPS.get(name, [name])]
    unknown = [part for part in found if part not in SHARES and part != "disks"]
    if unknown:
        sys.exit(f"no part is called {unknown[0]}: choose from {', '.join([*SHARES, *GROUPS, 'disks'])}")
    return found


def arguments() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0, help="time for the parts without a count")
    parser.add_argument("--parts", help="comma-separated: certificates, linear, kernel, files, kills, ...")
    parser.add_argument("--seed", type=int, default=0, help="the first seed of each part")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--write", help="a file for the report")
    parser.add_argument("--formats", help="comma-separated, of the mutated files: text, csv, arrow, checkpoint, ...")
    parser.add_argument("--seed-only", help="one case, such as linear:12345")
    for part in SHARES:
        parser.add_argument(f"--{part}", type=int, help=f"so many cases of {part}, whatever the time")
    return parser.parse_args()


def main() -> int:
    """Run the parts, publish the report; 1 if anything was found."""
    asked = arguments()
    folder = Path(tempfile.mkdtemp(prefix="maxmargin-campaign-"))
    if asked.seed_only:
        if asked.seed_only.startswith("files:") and "NUMBA_BOUNDSCHECK" not in os.environ:
            with indices_checked(True):
                return subprocess.run([sys.executable, *sys.argv], check=False).returncode
        return run_one(asked.seed_only, folder, asked.formats)
    began, tallies = time.monotonic(), {}
    parts = parts_of(asked.parts)
    counts = {part: getattr(asked, part, None) for part in parts}
    shares = {part: SHARES.get(part, 0.0) for part in parts if counts[part] is None}
    for part in parts:
        seconds = 60.0 * asked.minutes * shares.get(part, 0.0) / (sum(shares.values()) or 1.0)
        tallies[part] = run_part(part, folder, counts[part], seconds, asked)
        print(summary({part: tallies[part]}), file=sys.stderr)
    command = " ".join(["python", "fuzz/run.py", *sys.argv[1:]])
    publish(report_of(tallies, command, time.monotonic() - began), asked.write)
    found = any(tally.found for tally in tallies.values())
    if any((folder / "findings").glob("*")):
        print(f"mutants that were found out: {folder / 'findings'}", file=sys.stderr)
    else:
        shutil.rmtree(folder)
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
