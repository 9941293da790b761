"""Protection of existing files: an output replaces only a file of its own kind.

Empty files, pipes and devices may always be written to.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from maxmargin.errors import FileError
from maxmargin.system.atomic_files import beginning
from maxmargin.system.tensor_file import read_header

HEAD = 1 << 16  # Bytes of a text file that are examined.
PICTURES = (b"\x89PNG", b"%PDF", b"%!PS", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"II*\x00", b"MM\x00*", b"<?xml", b"<svg")
COMPRESSED = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
BEGINNINGS = {
    b"ARROW1": "an Arrow file",
    b"PAR1": "a Parquet file",
    b"\x93NUMPY": "a NumPy array",
    b"svm_type": "a LIBSVM model",
    b"solver_type": "a LIBLINEAR model",
    b"PK\x03\x04": "a ZIP archive",
    **dict.fromkeys(PICTURES, "a picture"),
    **dict.fromkeys(COMPRESSED, "a compressed file"),
}


def check_replaces(path: str | Path, kind: str, is_own: Callable[[Path], bool], force: bool = False) -> None:
    """Raise if `path` has content and `is_own` says that it is of another kind; `force` allows anything."""
    target = Path(path)
    if force or not holds_something(target) or is_own(target):
        return
    raise FileError(
        f"{target}: is {described(target)}, not {kind}: name another file, or replace it with --force (force=True)"
    )


def check_replaces_model(path: str | Path, force: bool = False) -> None:
    """Raise if `path` has content other than a model."""
    check_replaces(path, "a maxmargin model", is_model, force)


def check_replaces_checkpoint(path: str | Path, force: bool = False) -> None:
    """Raise if `path` has content other than a checkpoint."""
    check_replaces(path, "a maxmargin checkpoint", is_checkpoint, force)


def holds_something(path: Path) -> bool:
    """Whether `path` is a file with content."""
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:
        return False


def described(path: Path) -> str:
    """Describe the kind of a file by its first bytes."""
    if kind := kind_of_tensors(path):
        return f"a maxmargin {kind}"
    head = beginning(path, HEAD)
    known = next((name for start, name in BEGINNINGS.items() if head.startswith(start)), None)
    return known or ("a file of another kind" if b"\0" in head else "a text file")


def kind_of_tensors(path: Path) -> str:
    """Return the kind stated in a maxmargin file, "" for other files."""
    header = read_header(path)
    return str(header.get("kind", "")) if header else ""


def is_model(path: Path) -> bool:
    """Whether a file is a maxmargin model: a maxmargin file that is not a checkpoint."""
    return bool(kind_of_tensors(path)) and not is_checkpoint(path)


def is_checkpoint(path: Path) -> bool:
    """Whether a file is a checkpoint of any run."""
    return kind_of_tensors(path).startswith("checkpoint")


def is_picture(path: Path) -> bool:
    """Whether a file is a picture."""
    return beginning(path, 8).startswith(PICTURES)


def is_libsvm_data(path: Path) -> bool:
    """Whether a file is LIBSVM data: labels and index:value pairs, or compressed data with the matching suffix."""
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
    """Whether a line consists of numbers, and their count is one of `counts`."""
    try:
        return len([float(word) for word in line.split()]) in counts
    except ValueError:
        return False


def first_lines(path: Path) -> list[str]:
    """Return the first complete lines of a text file; none if it is not UTF-8 text."""
    head = beginning(path, HEAD)
    if len(head) == HEAD:
        head = head[: head.rfind(b"\n") + 1]
    try:
        return head.decode().splitlines()
    except UnicodeDecodeError:
        return []
