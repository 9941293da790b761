"""Whatever a command is given, it says what is wrong in one line, and leaves no half-written file."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from problems import overlapping

import maxmargin
from maxmargin.cli import run
from maxmargin.cli.output import printable, printable_lines

COMMANDS = {
    "train": ["train", "{}"],
    "train on labels": ["train", "x.npy", "--labels", "{}"],
    "train with weights": ["train", "data.svm", "--weights", "{}"],
    "predict": ["predict", "m.safetensors", "{}", "-o", "out"],
    "predict with": ["predict", "{}", "data.svm", "-o", "out"],
    "score": ["score", "m.safetensors", "{}"],
    "score with": ["score", "{}", "data.svm"],
    "inspect": ["inspect", "{}"],
    "convert": ["convert", "{}", "out.arrow"],
    "race": ["race", "{}", "--solvers", "newton", "--loss", "logistic", "--plot", "out.png"],
    "race with test": ["race", "data.svm", "--solvers", "newton", "--loss", "logistic", "--test", "{}"],
}
INPUTS = {
    "missing": None,
    "folder": None,
    "empty": b"",
    "blank": b"\n\n \n",
    "binary": bytes(range(256)) * 40,
    "zeros": bytes(5000),
    "elf": b"\x7fELF\x02\x01\x01" + bytes(100),
    "zip": b"PK\x03\x04" + bytes(100),
    "pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "tensors": (200).to_bytes(8, "little") + b'{"__metadata__":{"maxmargin":"{}"}}'.ljust(200),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = overlapping(n=60)
    maxmargin.write("data.svm", X, y.astype(int))
    maxmargin.train(X, y.astype(int)).model.save("m.safetensors")
    np.save("x.npy", X)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", INPUTS)
def test_a_file_that_is_no_input_is_one_line(here, capsys, command, kind):
    if kind == "folder":
        Path(kind).mkdir()
    elif INPUTS[kind] is not None:
        Path(kind).write_bytes(INPUTS[kind])
    before = set(here.rglob("*"))
    assert run([word.format(kind) for word in COMMANDS[command]]) == 1
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 1), said.err
    assert said.err.startswith("maxmargin: ")
    assert "internal error" not in said.err
    assert kind in said.err or "weights" in said.err
    assert set(here.rglob("*")) == before


NOWHERE = {
    "a folder": "folder",
    "a missing folder": "no/where",
    "a full disk": "/dev/full",
    "a file as folder": "x.npy/m",
}
WRITING = {
    "train": ["train", "data.svm", "-q", "-m"],
    "train to": ["train", "data.svm", "-q"],
    "checkpoint": ["train", "data.svm", "-q", "-m", "new.safetensors", "--checkpoint"],
    "predict": ["predict", "m.safetensors", "data.svm", "-o"],
    "predict to": ["predict", "m.safetensors", "data.svm"],
    "convert": ["convert", "data.svm", "-q"],
    "race": ["race", "data.svm", "--solvers", "newton", "--loss", "logistic", "-q", "--max-epochs", "2", "--plot"],
    "demo": ["demo", "-m"],
}


@pytest.mark.parametrize("command", WRITING)
@pytest.mark.parametrize("place", NOWHERE)
def test_a_place_that_cannot_be_written_is_one_line(here, capsys, command, place):
    target = NOWHERE[place]
    if target == "/dev/full" and (not Path(target).exists() or command in ("race", "checkpoint", "demo")):
        pytest.skip("needs /dev/full, and a file that may be a device")
    Path("folder").mkdir()
    before = set(here.rglob("*"))
    assert run([*WRITING[command], target]) == 1
    said = capsys.readouterr()
    assert len(said.err.splitlines()) == 1, said.err
    assert said.err.startswith(f"maxmargin: {target}")
    assert "internal error" not in said.err
    assert set(here.rglob("*")) == before


ODD = [
    "<script>alert(1)</script>",
    "it's",
    'say "hi"',
    "two\nlines",
    "bell\x07",
    "red\x1b[31m",
    "left\u202eright",
    "ends\r",
]


@pytest.mark.parametrize("name", ODD)
def test_names_are_shown_escaped(here, capsys, name):
    name = name.replace("/", "_")
    Path("data.svm").rename(name)
    assert run(["train", name, "-q", "-m", f"{name}.model"]) == 0
    assert run(["score", f"{name}.model", name]) == 0
    assert run(["inspect", name]) == 0
    assert run(["convert", name, f"{name}.arrow", "-q"]) == 0
    assert run(["race", name, "--solvers", "newton", "--loss", "logistic", "-q", "--max-epochs", "2"]) == 0
    said = capsys.readouterr()
    assert f"saved {printable(name)}.model\n" in said.out
    assert run(["predict", "missing", name]) == 1
    assert run(["train", f"not {name}"]) == 1
    found = capsys.readouterr().err
    assert printable(name) in found.splitlines()[-1]
    assert len(found.splitlines()) == 2
    assert all(letter.isprintable() or letter == "\n" for letter in said.out + found)


@pytest.mark.parametrize("name", [name for name in ODD if "\r" not in name])
def test_columns_are_shown_escaped(here, capsys, name):
    quoted = '"{}"'.format(name.replace('"', '""'))
    Path("t.csv").write_text(f"{quoted},b,y\n" + "1,2,u\n2,1,v\n3,5,u\n7,2,v\n" * 20, newline="")
    assert run(["train", "t.csv", "-q"]) == 0
    assert run(["inspect", "t.csv"]) == 0
    assert run(["inspect", "t.safetensors"]) == 0
    said = capsys.readouterr()
    assert printable(name)[:20] in said.out
    assert all(letter.isprintable() or letter == "\n" for letter in said.out + said.err)


def test_what_can_be_printed_stays_as_it_is():
    assert printable("größe 漢字 <b>'\"") == "größe 漢字 <b>'\""
    assert printable("a\nb\x1b\x00\udcff") == "a\\nb\\x1b\\x00\\udcff"
    assert printable_lines("a\nb\tc") == "a\nb\\tc"


PRINTING = {
    "train": ["train", "data.svm", "-q", "--force"],
    "score": ["score", "m.safetensors", "data.svm"],
    "predict": ["predict", "m.safetensors", "data.svm"],
    "inspect": ["inspect", "data.svm"],
    "convert": ["convert", "data.svm", "out.arrow", "-q"],
    "race": ["race", "data.svm", "--solvers", "newton", "--loss", "logistic", "-q", "--max-epochs", "2"],
    "version": ["version"],
    "--version": ["--version"],
    "--help": ["train", "--help"],
    "--show-completion": ["--show-completion", "bash"],
}


@pytest.mark.parametrize("command", PRINTING)
@pytest.mark.parametrize("output", ["| true", "> /dev/full", ">&-"])
def test_an_output_that_takes_nothing_is_no_traceback(here, command, output):
    if "full" in output and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    shell = f'"{sys.executable}" -m maxmargin {" ".join(PRINTING[command])} {output}; echo "${{PIPESTATUS[0]}}" >&2'
    done = subprocess.run(["bash", "-c", shell], env=environment, capture_output=True, text=True, check=True)
    *said, code = done.stderr.splitlines()
    full = ["maxmargin: cannot read or write: No space left on device"]
    closed = ["maxmargin: standard output is closed: name a file with --output"] if command == "predict" else []
    expected = {"| true": ([], "1"), "> /dev/full": (full, "1"), ">&-": (closed, "1" if closed else "0")}
    assert (said, code) in [expected[output], *([([], "0")] if output == "| true" else [])]
