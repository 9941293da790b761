"""Every maxmargin command of the README and the documentation runs, on small files that stand in for those it names."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import maxmargin
from maxmargin.cli import run

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FENCED = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^ {4}(maxmargin (?!.* {2}).*)$", re.MULTILINE)
ELSEWHERE = ("tcp://", "your-data", " FILE ", " MODEL ")  # clusters; no files; the list of commands
TABLES = (".csv", ".parquet")
ENDED = (0, 3)  # exit codes of a run that converged, or that a limit ended


def commands(page):
    """The commands in fenced and indented blocks of a page, without prompts and output."""
    text = page.read_text("utf-8").replace("\\\n", " ")
    blocks = [line.strip() for block in FENCED.findall(text) for line in block.splitlines()]
    lines = [line.removeprefix("$ ") for line in [*blocks, *INDENTED.findall(text)]]
    return [line.partition(" #")[0] for line in lines if line.startswith("maxmargin ")]


def cases():
    for page in PAGES:
        own = [one for one in commands(page) if not any(word in one for word in ELSEWHERE)]
        if own:
            yield pytest.param(own, id=page.relative_to(ROOT).as_posix())


def stand_in(word, label):
    """Write a small file of this name, if it is one of data that is not there yet."""
    path = Path(word.replace("*", "1"))
    if path.exists() or path.suffix in (".safetensors", ".html", ".txt", ".run", ".model", ".png", ".arrow"):
        return
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.where(X @ [1.0, 2.0, 0.0] + 0.3 * rng.normal(size=80) > 0, 1, -1)
    if path.suffix in TABLES:
        frame = pd.DataFrame(X, columns=["p", "q", "r"]).assign(**{label: y})
        frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    else:
        maxmargin.write(path.with_name("plain.svm"), X, y, force=True)
        if path.suffix == ".xz":
            import lzma

            path.write_bytes(lzma.compress(Path("plain.svm").read_bytes()))
        else:
            path.write_bytes(Path("plain.svm").read_bytes())


def model_for(words, label):
    """Train the model that a command reads, if no command before it has."""
    table = any(word.endswith(TABLES) for word in words)
    source = "stand-in.csv" if table else "stand-in.svm"
    for word in words:
        if word.endswith(".safetensors") and not Path(word).exists() and words[1] not in ("train", "tune"):
            stand_in(source, label)
            assert run(["train", source, "-m", word, "-q", *(["--label", label] if table else [])]) == 0


@pytest.mark.parametrize("lines", list(cases()))
def test_every_command_runs(lines, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    labels = [match[1] for line in lines if (match := re.search(r"--label (\w+)", line))]
    label = labels[0] if labels else "label"
    for line in lines:
        words = shlex.split(line)
        if "-" in words:  # standard input
            continue
        for word in words[2:]:
            if re.fullmatch(r"[\w*-]+\.(svm|xz|csv|parquet|t)|[\w*-]+\.t\.xz|heart_scale", word):
                stand_in(word, label)
        model_for(words, label)
        code = run([*words[1:], *(["--force"] if words[1] == "train" and "--checkpoint" in words else [])])
        captured = capsys.readouterr()
        assert code in ENDED, f"{line}: {captured.err}"
