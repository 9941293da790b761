"""On a terminal of any width the gap is visible while a run goes on, and after Ctrl-C the screen is clean."""

import os
import re

import pytest
from problems import overlapping
from rich.console import Console
from terminal import Screen, Terminal

import maxmargin
from maxmargin.cli.fitting_table import fitting_table
from maxmargin.cli.live_line import FREE_COLUMNS, fraction, line
from maxmargin.cli.race import DROPPED_FIRST, HEADINGS
from maxmargin.loop.record import Reading, Record
from maxmargin.problems.certificate import Certificate

COMMANDS = {
    "linear": ["train", "data.svm", "--solver", "sgd", "--tol", "1e-13"],
    "streamed": ["train", "data.svm", "--solver", "block_minimization", "-c", "1000", "--tol", "1e-13"],
    "kernel": ["train", "data.svm", "--kernel", "rbf", "--solver", "smo_simple", "-c", "1000", "--tol", "1e-13"],
    "race": [
        "race",
        "data.svm",
        "--solvers",
        "sgd,pegasos",
        "--bias",
        "none",
        "--tol",
        "1e-13",
        "--max-seconds",
        "1000",
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("terminal")
    X, y = overlapping(n=3000, d=20, flip=0.3)
    maxmargin.write(where / "data.svm", X, y.astype(int))
    return where


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_gap_is_visible_and_ctrl_c_leaves_a_clean_screen(folder, monkeypatch, command, columns):
    monkeypatch.chdir(folder)
    terminal = Terminal([*COMMANDS[command], *(["--force"] if command != "race" else [])], columns)
    terminal.read_until(r"gap \d\.\de[+-]\d+")
    terminal.press_ctrl_c()
    assert terminal.end() == 3
    screen = terminal.screen
    assert screen.cursor
    assert screen.column == 0
    assert not [text for text in screen.shown if re.search(r"[⠁-⣿]|\^C|━|preparing|epoch \d+, obj", text)]
    for frame in terminal.frames:
        live = [text for text in frame if re.match("[⠁-⣿]", text)]
        assert len(live) <= 1
        assert all("gap" in text or "prep" in text for text in live)
        assert all(len(text.removesuffix("^C")) <= columns - FREE_COLUMNS for text in live)
    said = " ".join(screen.shown)
    assert re.search("relative gap +[0-9i]" if command != "race" else "solver.* gap", said)
    assert command != "race" or any(text.startswith("sgd ") for text in screen.shown)


@pytest.mark.parametrize("columns", [40, 200])
def test_ctrl_c_while_reading_leaves_one_line(folder, monkeypatch, columns):
    monkeypatch.chdir(folder)
    pipe = folder / f"endless-{columns}.svm"
    os.mkfifo(pipe)
    terminal = Terminal(["train", pipe.name], columns)
    with pipe.open("w") as stream:  # opens when the reader has
        stream.write("1 1:1\n")
        stream.flush()
        terminal.read_until("preparing")
        terminal.press_ctrl_c()
        assert terminal.end() == 1
    assert terminal.screen.cursor
    assert terminal.screen.shown == ["maxmargin: interrupted"]


RECORD = Record("dual_coordinate", 12.0, 3.0, Certificate(3.0, 2.0), Certificate(3.0, 2.0))
STREAMED = Record("", 12.0, 3.0, Certificate(3.0, 2.0), Certificate(3.0, 2.0), reading=Reading(5, 10, 3, 0.5, 7, 1e6))


@pytest.mark.parametrize("columns", [1, 20, 40, 59, 60, 80, 200])
@pytest.mark.parametrize("record", [None, RECORD, STREAMED])
def test_the_line_fits_and_begins_with_the_gap(record, columns):
    found = line(record, 1e-4, 75.0, "*", columns)
    assert found.cell_len <= max(columns - FREE_COLUMNS, 1)
    if record is not None and columns >= 40:
        assert found.plain.startswith("* gap 3.3e-01 ")
        assert "0:01:15" in found.plain


def test_a_pass_is_complete_at_its_end():
    assert "pass 4 50% of" in line(STREAMED, 1e-4, 0.0, "*", 200).plain
    ended = STREAMED.reading.__class__(10, 10, 4, 0.5, 7, 1e6)
    assert "pass 4 100% of" in line(Record(**{**vars(STREAMED), "reading": ended}), 1e-4, 0.0, "*", 200).plain


ROWS = [
    ["dual_coordinate", "13073.2", "1.6e-01", "1.4e-01", "34.20%", "117", "100.49", "interrupted"],
    ["pegasos batch=100,project=true", "—", "—", "—", "—", "—", "—", "refused"],
]


@pytest.mark.parametrize(
    ("columns", "left_out"),
    [
        (200, []),
        (79, ["epochs"]),
        (60, ["objective", "above", "epochs"]),
        (40, ["objective", "above", "error", "epochs", "status"]),
        (10, ["objective", "above", "error", "epochs", "seconds", "status"]),
    ],
)
def test_a_table_leaves_out_columns_and_cuts_none(columns, left_out):
    made, found = fitting_table(HEADINGS, ROWS, DROPPED_FIRST, columns)
    assert found == left_out
    console = Console(width=columns)
    with console.capture() as captured:
        console.print(made)
    if columns >= 40:
        assert "…" not in captured.get()
        assert "1.4e-01" in captured.get()
        assert "dual_coordinate" in captured.get()


def test_a_table_without_rows_is_its_heading():
    assert fitting_table(["solver", "1e-01"], [], [], 40)[1] == []


def test_the_bar_measures_orders_of_magnitude():
    assert fraction(1.0, 1e-4) == 0.0
    assert fraction(1e-2, 1e-4) == pytest.approx(0.5)
    assert fraction(1e-9, 1e-4) == 1.0
    assert fraction(-1e-17, 1e-4) == 1.0
    assert fraction(3.0, 1e-4) == 0.0


def test_the_screen_of_the_tests_wraps_and_redraws():
    screen = Screen(4)
    screen.feed("abcdef\r\n\x1b[?25lgh\r\x1b[2Kij\x1b[1A\r\x1b[2Kk")
    assert (screen.shown, screen.cursor) == (["abcd", "k", "ij"], False)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_a_search_shows_its_table_and_ctrl_c_trains_with_the_best_so_far(folder, monkeypatch, columns):
    monkeypatch.chdir(folder)
    terminal = Terminal(["tune", "data.svm", "--kernel", "gaussian", "--threads", "1", "--force"], columns)
    terminal.read_until(r"^[1-9]\d* of 125 fits")
    terminal.press_ctrl_c()
    assert terminal.end() == 3
    screen = terminal.screen
    assert screen.cursor
    assert screen.column == 0
    assert not [text for text in screen.shown if re.search(r"of 125 fits|\^C|preparing", text)]
    assert all(len(text) <= columns for frame in terminal.frames for text in frame)
    assert "relative gap" in " ".join(screen.shown)
    assert any(text.startswith("chosen (*)") for text in screen.shown)
    assert any("ended early (interrupted)" in text for text in screen.shown) or columns == 40
