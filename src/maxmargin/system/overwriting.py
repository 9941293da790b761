"""What an output may replace: a file of its own kind, never one of another kind.

An empty file, a pipe or a device holds nothing that could be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from maxmargin.errors import FileError
from maxmargin.system.atomic_files import beginning
from maxmargin.system.tensor_file import read_header

HEAD = 1 << 16  # bytes of a text that are looked at
PICTURES = (b"\x89PNG", b"%PDF", b"%!PS", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"II*\x00", b"MM\x00*", b"<?xml", b"<svg")
COMPRESSED = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
BEGINNINGS = {
    b"ARROW1": "an Arrow file",
    b"PAR1": "a Parquet file",
    b"\x93NUMPY": "a NumPy array",
    b"svm_type": "a LIBSVM model",
    b"PK\x03\x04": "a ZIP archive",
    **dict.fromkeys(PICTURES, "a picture"),
    **dict.fromkeys(COMPRESSED, "a compressed file"),
}


def check_replaces(path: str | Path, kind: str, is_own: Callable[[Path], bool], force: bool = False) -> None:
    """Refuse to write over a file that is not of that kind, as `is_own` tells; `force` replaces anything."""
    target = Path(path)
    if force or not holds_something(target) or is_own(target):
        return
    raise FileError(
        f"{target}: is {described(target)}, not {kind}: name another file, or replace it with --force (force=True)"
    )


def check_replaces_model(path: str | Path, force: bool = False) -> None:
    """Refuse to write a model over anything but a model."""
    check_replaces(path, "a maxmargin model", is_model, force)


def check_replaces_checkpoint(path: str | Path, force: bool = False) -> None:
    """Refuse to write a checkpoint over anything but a checkpoint."""
    check_replaces(path, "a maxmargin checkpoint", is_checkpoint, force)


def holds_something(path: Path) -> bool:
    """Whether there is a file with content."""
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:
        return False


def described(path: Path) -> str:
    """What a file is, by its first bytes."""
    if kind := kind_of_tensors(path):
        return f"a maxmargin {kind}"
    head = beginning(path, HEAD)
    known = next((name for start, name in BEGINNINGS.items() if head.startswith(start)), None)
    return known or ("a file of another kind" if b"\0" in head else "a text file")


def kind_of_tensors(path: Path) -> str:
    """The kind that a file of maxmargin's states, "" for other files."""
    header = read_header(path)
    return str(header.get("kind", "")) if header else ""


def is_model(path: Path) -> bool:
    """Whether it is a model of maxmargin's: all of its files are models or checkpoints."""
    return bool(kind_of_tensors(path)) and not is_checkpoint(path)


def is_checkpoint(path: Path) -> bool:
    """Whether it is a checkpoint of any run."""
    return kind_of_tensors(path).startswith("checkpoint")


def is_picture(path: Path) -> bool:
    """Whether it is a picture."""
    return beginning(path, 8).startswith(PICTURES)


def is_libsvm_data(path: Path) -> bool:
    """Whether it is LIBSVM data: lines of a label and index:value pairs; compressed text is told by its first bytes."""
    head = beginning(path, 8)
    if compressed := next((ending for start, ending in COMPRESSED.items() if head.startswith(start)), None):
        return path.suffix == compressed
    rows = [line.partition("#")[0].split() for line in first_lines(path)]
    return any(rows) and all(":" in pair for row in rows for pair in row[1:])


def is_predictions(path: Path, labels: set[str]) -> bool:
    """Whether every line is one of the labels, a number, or as many numbers as there are labels."""
    lines = first_lines(path)
    return bool(lines) and all(line in labels or has_numbers(line, (1, len(labels))) for line in lines)


def has_numbers(line: str, counts: tuple[int, ...]) -> bool:
    """Whether a line holds that many numbers, and nothing else."""
    try:
        return len([float(word) for word in line.split()]) in counts
    except ValueError:
        return False


def first_lines(path: Path) -> list[str]:
    """The first whole lines of a text; none if it is not a text."""
    head = beginning(path, HEAD)
    if len(head) == HEAD:
        head = head[: head.rfind(b"\n") + 1]
    try:
        return head.decode().splitlines()
    except UnicodeDecodeError:
        return []
