"""What a model file tells of its origin, so that a report can be made from it alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from maxmargin.data.files import content_of
from maxmargin.reporting.facts.convergence import curves, stored
from maxmargin.reporting.versions import versions
from maxmargin.results import Result


def origin_of(result: Result, files: Sequence[Path], command: str) -> dict[str, Any]:
    """Return the command, the versions, names and digests of the files, and the course of the training."""
    return {
        "command": command,
        "versions": versions(),
        "data": [{"file": path.name, "digest": content_of(path)} for path in files if path.is_file()],
        "history": stored(curves(result.history)),
    }
