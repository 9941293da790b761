"""What every benchmark shares: where it ran, how a table is written, which data are at hand."""

from __future__ import annotations

import datetime
import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ENDINGS = ("", ".xz", ".bz2", ".gz", ".zst")
ROOT = Path(__file__).parent.parent
DATA = ROOT.parent / "shared" / "data"


def found(name: str, folder: Path) -> Path | None:
    """The file of that name, plain or compressed."""
    return next((folder / (name + ending) for ending in ENDINGS if (folder / (name + ending)).is_file()), None)


def machine() -> str:
    from maxmargin.system.threads import all_cores  # not where another version is measured

    return f"{processor()}, {all_cores()} cores, {platform.system()}, Python {platform.python_version()}"


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def versions(*packages: str) -> str:
    return ", ".join(f"{package} {version(package)}" for package in packages)


def installed(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


def append(path: Path, runs: list[dict]) -> None:
    """Runs as lines of JSON, in a single write, so that an interruption leaves no half of them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab", buffering=0) as file:
        file.write("".join(json.dumps(run) + "\n" for run in runs).encode())


def heading(title: str, command: str, *packages: str) -> str:
    return (
        f"# {title}\n\nMeasured {datetime.date.today().isoformat()} by `{command}` on {machine()}; "
        f"{versions('maxmargin', 'numba', 'numpy', *packages)}.\n"
    )


def table(columns: list[str], rows: list[list[str]]) -> str:
    right = ["---" if place == 0 else "---:" for place in range(len(columns))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (columns, right, *rows)) + "\n"


def publish(text: str, path: str | None) -> None:
    print(text)
    if path:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
        print(f"written to {path}", file=sys.stderr)
