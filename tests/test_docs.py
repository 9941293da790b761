"""The documentation is true: its Python runs and prints what it says, its links lead somewhere, nothing is left out."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import typer

from maxmargin.cli.app import app
from maxmargin.solvers import SOLVERS, STREAMING_SOLVERS

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(
    r"^(?P<skip><!-- not run -->\n)?```python\n(?P<code>.*?)^```$"  # a block of Python
    r"(?:\n+```text\n(?P<output>.*?)^```$)?",  # and, right behind it, what it prints
    re.MULTILINE | re.DOTALL,
)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?://)([^)#\s]+)(?:#[^)\s]*)?\)")


def name(page):
    return page.relative_to(ROOT).as_posix()


def blocks_to_run(page):
    return [found for found in BLOCK.finditer(page.read_text("utf-8")) if not found["skip"]]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_to_run(page)], ids=name)
def test_python_blocks_run_and_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for found in blocks_to_run(page):
        line = found.string.count("\n", 0, found.start("code"))
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile("\n" * line + found["code"], str(page), "exec"), names)
        assert printed.getvalue() == (found["output"] or ""), f"{name(page)}:{line}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_relative_links_resolve(page):
    links = LINK.findall(FENCED.sub("", page.read_text("utf-8")))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("solver", [*SOLVERS, *STREAMING_SOLVERS])
def test_every_solver_has_a_page_that_the_index_links_to(solver):
    folder = ROOT / "docs" / "solvers"
    assert (folder / f"{solver}.md").is_file()
    assert f"({solver}.md)" in (folder / "index.md").read_text("utf-8")


def test_every_option_of_train_is_in_the_manual():
    manual = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    options = [option for parameter in command("train").params for option in parameter.opts if option.startswith("-")]
    assert options
    assert [option for option in options if f"`{option}" not in manual] == []


def test_every_command_is_in_the_manual():
    manual = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    assert [name for name in typer.main.get_command(app).commands if f"## {name}\n" not in manual] == []


def test_lines_are_short_enough_to_read():
    long = [
        f"{name(page)}:{number}"
        for page in PAGES
        for number, line in enumerate(page.read_text("utf-8").splitlines(), 1)
        if len(line) > 120
    ]
    assert long == []


def command(name):
    return typer.main.get_command(app).commands[name]
