"""maxmargin predict MODEL FILE: predict a label for each row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from maxmargin.cli.options import DataFile, Labels, ModelFile, takes


@takes("threads", "zero_based", "label", "force")
def predict(
    model: ModelFile,
    file: DataFile,
    out: Annotated[Path | None, typer.Argument(metavar="OUT", help="Where to write, as --output.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write.", show_default="the terminal")
    ] = None,
    what: Annotated[str, typer.Option(help="labels, decisions or probabilities, if the model has them.")] = "labels",
    labels: Labels = None,
    **given: Any,
) -> None:
    """Predict the rows of FILE, one line each. An existing output is replaced only if it is a file of predictions."""
    import sys

    from maxmargin.cli.model_first import model_first
    from maxmargin.cli.options import named_once
    from maxmargin.cli.reading import blocks_for
    from maxmargin.data.labels import show
    from maxmargin.data.open_source import files_of
    from maxmargin.errors import FileError, ParameterError
    from maxmargin.models.linear import load
    from maxmargin.system.atomic_files import check_apart, check_writable, replacing
    from maxmargin.system.overwriting import check_replaces, is_predictions

    ways = {"labels": "predict", "decisions": "decide", "probabilities": "probabilities"}
    if what not in ways:
        raise ParameterError(f"--what={what}: choose one of {', '.join(ways)}")
    output = named_once(out, output, "--output")
    output = None if str(output) == "-" else output
    model, file = model_first(model, file)
    if output:
        check_writable(output)
        check_apart(model, *files_of(file), labels, output)
    loaded = load(model)
    force = given.pop("force")
    if output:
        known = {show(one) for one in getattr(loaded, "classes", ())}
        check_replaces(output, "a file of predictions", lambda path: is_predictions(path, known), force)
    decide = getattr(loaded, ways[what])
    lines = (
        as_lines(decide(block.rows, given["threads"])).encode()
        for block in blocks_for(loaded, file, labels, labelled=False, **given)
    )
    if output is None:
        if sys.stdout is None:
            raise FileError("standard output is closed: name a file with --output")
        for text in lines:
            sys.stdout.buffer.write(text)
        sys.stdout.flush()
    else:
        with replacing(output) as stream:
            stream.writelines(lines)


def as_lines(values: Any) -> str:
    """Format one line for each row; several numbers are separated by spaces."""
    from maxmargin.data.labels import show

    if values.ndim == 1:
        return "".join(f"{show(value)}\n" for value in values.tolist())
    return "".join(" ".join(map(str, row)) + "\n" for row in values.tolist())
