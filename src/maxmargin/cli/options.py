"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataFile = Annotated[Path, typer.Argument(metavar="FILE", help="Data in LIBSVM format, plain or .gz .bz2 .xz .zst.")]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model written by `maxmargin train`.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object at the end instead of words.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Threads = Annotated[int | None, typer.Option("--threads", help="Threads to use.", show_default="all cores")]
ZeroBased = Annotated[bool, typer.Option("--zero-based", help="Features are counted from 0 in the file, not from 1.")]
