"""The application with all commands."""

from __future__ import annotations

import typer

from maxmargin.cli import convert, demo, inspect, predict, race, report, score, train

app = typer.Typer(
    name="maxmargin",
    help="Train support vector machines, and prove how good they are.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    train.train, predict.predict, score.score, inspect.inspect, convert.convert, race.race,
    report.report, demo.demo,
):  # fmt: skip
    app.command()(command)


@app.callback(invoke_without_command=True)
def version(show: bool = typer.Option(False, "--version", help="Print the version and leave.")) -> None:
    """Train support vector machines, and prove how good they are."""
    if show:
        from maxmargin import __version__

        print(f"maxmargin {__version__}")
        raise typer.Exit
