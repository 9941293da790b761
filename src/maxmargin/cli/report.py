"""maxmargin report MODEL [DATA]: one HTML page about a model, its certificate and its errors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.options import Labels, ModelFile, takes
from maxmargin.cli.standard_input import saved_input


@takes("threads", "zero_based", "label", "force")
def report(
    model: ModelFile,
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", callback=saved_input, help="Rows to judge the model on, best new ones."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The HTML file to write.", show_default="MODEL.html")
    ] = None,
    png: Annotated[Path | None, typer.Option(help="A folder to write each picture to, as PNG.")] = None,
    projection: Annotated[
        str | None, typer.Option(help="Two columns, the axes of the picture of the boundary: NAME,NAME.")
    ] = None,
    labels: Labels = None,
    **given: Any,
) -> None:
    """Report on a model: one HTML file with its certificate and, with DATA, its errors on these rows.

    Give rows that were not used in training. An existing file is replaced only if it is an HTML page.
    """
    import sys

    from maxmargin.cli.command_line import command_line
    from maxmargin.cli.options import names_in
    from maxmargin.cli.output import printable
    from maxmargin.data.open_source import files_of
    from maxmargin.reporting.report import check_folder, check_page, report
    from maxmargin.system.atomic_files import check_apart

    force, to_terminal = given.pop("force"), str(output) == "-"
    target = output or Path(f"{model.stem}.html")
    if not to_terminal:
        check_page(target, force)
        check_apart(model, *(files_of(data) if data else []), labels, target)
    if png is not None:
        check_folder(png)
    columns = None if projection is None else names_in(projection)
    made = report(model, data, labels, projection=columns, command=command_line(), **given)
    if to_terminal:
        sys.stdout.write(made.html())
        return
    made.save(target, force)
    print(f"{printable(made.verdict.words)}\nsaved {printable(target)}")
    if png is not None:
        print(f"saved {len(made.save_pictures(png, force))} pictures in {printable(png)}")
