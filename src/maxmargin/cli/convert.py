"""maxmargin convert FILE BLOCKS: write rows to a block file, which is read several times faster than text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.options import DataFile, Labels, Quiet, takes


@takes("label", "encode", "columns", "drop", "kinds", "zero_based", "on_bad_line", "force")
def convert(
    file: DataFile,
    blocks: Annotated[Path, typer.Argument(metavar="BLOCKS", help="The block file to write, an Arrow file.")],
    compression: Annotated[str, typer.Option(help="zstd (small), lz4 (quick) or none.")] = "zstd",
    labels: Labels = None,
    quiet: Quiet = False,
    **given: Any,
) -> None:
    """Write the rows of FILE to a block file, for fast passes over data that do not fit in memory.

    An existing file is replaced only if it is a block file.
    """
    from maxmargin.cli.columns import column_lines
    from maxmargin.cli.output import printable
    from maxmargin.cli.progress import counting
    from maxmargin.cli.reading import files_with
    from maxmargin.data.open_source import files_of
    from maxmargin.data.tables.block_file import convert as convert_rows
    from maxmargin.system.atomic_files import check_apart, check_writable
    from maxmargin.system.overwriting import check_replaces

    check_writable(blocks)
    check_apart(*files_of(file), labels, blocks)
    check_replaces(blocks, "a block file", is_block_file, given.pop("force"))
    files = files_with(file, labels, given)
    source = files.source
    with counting(source.size, quiet) as watch:
        facts = convert_rows(source, blocks, compression, watch, files.encoder)
    for line in column_lines(files.encoder) if files.encoder else ():
        print(line)
    print(f"{facts.n:,} rows, {facts.d:,} features, {len(facts.classes)} labels")
    if source.left_out:
        print(f"left out {source.left_out:,} lines that cannot be read; the first: {printable(source.bad[0])}")
    print(f"saved {printable(blocks)} ({blocks.stat().st_size:,} bytes)")


def is_block_file(path: Path) -> bool:
    """Whether the file was written by `convert`."""
    from maxmargin.data.open_source import kind_of
    from maxmargin.data.tables.source import TableSource
    from maxmargin.errors import FileError

    try:
        return kind_of(path) == "arrow" and TableSource(path, "arrow").facts is not None
    except FileError:
        return False
