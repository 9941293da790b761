"""The application with all commands."""

from __future__ import annotations

import typer

from maxmargin.cli import convert, demo, inspect, predict, race, report, score, train, tune, versions

app = typer.Typer(
    name="maxmargin",
    help="Train support vector machines, and prove how good they are.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    train.train, tune.tune, predict.predict, score.score, inspect.inspect, convert.convert, race.race, report.report,
    demo.demo, versions.version,
):  # fmt: skip
    app.command()(command)


@app.callback(invoke_without_command=True)
def show_version(show: bool = typer.Option(False, "--version", help="Print the version and leave.")) -> None:
    """Train support vector machines, and prove how good they are."""
    if show:
        from maxmargin import __version__

        print(f"maxmargin {__version__}")
        raise typer.Exit


def options_with_values(command: str) -> set[str]:
    """Return the options of a command that take a value."""
    parameters = typer.main.get_command(app).commands[command].params  # type: ignore[attr-defined]
    return {name for one in parameters if not getattr(one, "is_flag", True) for name in one.opts}
