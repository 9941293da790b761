"""Whether the beginning of a file is LIBSVM text: lines of a label and index:value pairs."""

from __future__ import annotations

import re

LINES = 200  # most lines that are looked at
LINE = re.compile(rb"\S+(?P<pairs>(\s+(\d+|qid):[^\s,;:]+)*)\s*(#.*)?")


def looks_like_libsvm(head: bytes) -> bool:
    """Whether most of the first lines have the form of LIBSVM text, and at least one of them has a pair."""
    lines = [line.strip() for line in head.split(b"\n")[:LINES]]
    lines = [line for line in lines[: max(len(lines) - 1, 1)] if line and not line.startswith(b"#")]
    found = [match for line in lines if (match := LINE.fullmatch(line))]
    return 2 * len(found) >= len(lines) and any(match["pairs"] for match in found)
