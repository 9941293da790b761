"""--config: options in a TOML file, which the command line overrules, and which are refused as options are."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from problems import overlapping

import maxmargin
from maxmargin.cli import run


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = overlapping(n=120)
    maxmargin.write("data.svm", X, y.astype(int))
    return tmp_path


CONFIG = """
C = 10
loss = "logistic"
bias = "regularised"
solver = "lbfgs"
quiet = true
class_weight = {1 = 2.0, -1 = 0.5}
model = "m"

[options]
memory = 5
"""


def test_a_file_holds_options_and_the_command_line_counts_more(here, capsys):
    Path("train.toml").write_text(CONFIG)
    assert run(["train", "data.svm", "--config", "train.toml", "--bias", "none"]) == 0
    assert capsys.readouterr().err == ""
    training = maxmargin.load("m").training
    assert (training["C"], training["loss"], training["bias"]) == (10.0, "logistic", "none")
    assert training["options"] == {"memory": 5}
    expected = maxmargin.train(
        "data.svm", C=10.0, loss="logistic", bias="none", solver="lbfgs", options={"memory": 5},
        class_weight={1: 2.0, -1: 0.5},
    )  # fmt: skip
    assert maxmargin.load("m").certificate.primal == expected.certificate.primal


def test_lists_and_tables_are_those_of_python(here, capsys):
    Path("t.csv").write_text("a,b,zip,y\n" + "1,2,3,u\n2,1,4,v\n" * 20)
    Path("train.toml").write_text('label = "y"\ncolumns = ["a", "zip"]\nkinds = {zip = "category"}\n')
    assert run(["train", "t.csv", "--config", "train.toml", "-q"]) == 0
    encoder = maxmargin.load("t.safetensors").training["encoder"]
    assert {one["name"]: one["kind"] for one in encoder["columns"]} == {
        "a": "number",
        "zip": "category",
        "b": "left out",
    }


def test_a_race_takes_the_same_file(here, capsys):
    Path("race.toml").write_text('solvers = ["newton", "lbfgs"]\nloss = "logistic"\nquiet = true\n')
    assert run(["race", "data.svm", "--config", "race.toml", "--json"]) == 0
    assert [lap["name"] for lap in json.loads(capsys.readouterr().out)["laps"]] == ["newton", "lbfgs"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('los = "hinge"', "los is not known: do you mean loss?"),
        ("max-seconds = 3", "do you mean max_seconds?"),
        ("xyzzy = 3", "keys are options"),
        ("C = true", "C = true must be a number"),
        ('C = "abc"', "'-c'"),
        ("quiet = 1", "quiet = 1 must be true or false"),
        ("threads = 1.5", "'--threads'"),
        ("loss = 3", "loss='3'"),
        ("kinds = 'a'", "kinds = a must be a table"),
        ("C = {a = 1}", "must be a number"),
        ("C = [1, 2]", "must be a number"),
        ("C = 1 2", "is not TOML"),
        ("tol = 0", "tol=0.0 must be"),
        ('file = "x"', "file is not known"),
        ("\x00", "is not TOML"),
    ],
)
def test_what_is_wrong_in_the_file_is_one_line(here, capsys, text, words):
    Path("train.toml").write_text(text)
    assert run(["train", "data.svm", "--config", "train.toml"]) == 1
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 1)
    assert words in said.err


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_a_file_that_cannot_be_read_is_one_line(here, capsys, name):
    assert run(["train", "data.svm", "--config", name]) == 1
    assert f"{name}: cannot be read" in capsys.readouterr().err


def test_version_names_what_a_bug_report_needs(capsys):
    assert run(["version"]) == 0
    said = capsys.readouterr().out
    assert all(
        name in said for name in (maxmargin.__version__, "numpy", "numba", "scikit-learn", "cores", "cache folder")
    )
    assert run(["version", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["maxmargin"] == maxmargin.__version__


def completed(words, here):
    """Return what the completion of bash is offered for the last of the words."""
    environment = {
        **os.environ, "_MAXMARGIN_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }  # fmt: skip
    command = [sys.executable, "-c", "import sys; sys.argv = ['maxmargin']; from maxmargin.cli import main; main()"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


def test_the_shell_completes_commands_and_options(here):
    assert {"train", "predict", "race", "version"} <= set(completed(["maxmargin", ""], here))
    assert "--max-seconds" in completed(["maxmargin", "train", "--max-s"], here)


def test_the_script_of_the_completion_is_printed(monkeypatch, capsys):
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))  # it asks the parent process, if any
    assert run(["--show-completion", "bash"]) == 0
    assert "_MAXMARGIN_COMPLETE" in capsys.readouterr().out
