"""The command line as a person meets it: words, files, exit codes, one line for what is wrong."""

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from problems import EVERY_BIAS, EVERY_LOSS, overlapping

import maxmargin
from maxmargin.cli import run
from maxmargin.cli.train import default_model
from maxmargin.system.tensor_file import read_tensors


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = overlapping(n=200)
    maxmargin.write("data.svm", X, y.astype(int))
    return tmp_path


def fails(arguments, capsys):
    """Run a command that must fail: exit code 1 and exactly one line, which is returned."""
    before = set(Path().iterdir())
    assert run(arguments) == 1
    said = capsys.readouterr()
    assert said.out == ""
    lines = said.err.splitlines()
    assert len(lines) == 1, said.err
    assert lines[0].startswith("maxmargin: ")
    assert "Traceback" not in said.err
    assert set(Path().iterdir()) == before
    return lines[0]


def trained(path):
    """Return the bits of a model, and what its file says of it, without the command and the times of its training."""
    tensors, metadata = read_tensors(path, "model")
    training = {key: value for key, value in metadata["training"].items() if key not in ("command", "history")}
    return {name: array.tobytes() for name, array in tensors.items()}, {**metadata, "training": training}


def test_train_score_predict_inspect(here, capsys):
    assert run(["train", "data.svm", "-c", "2", "--model", "m.safetensors"]) == 0
    said = capsys.readouterr().out
    assert "converged" in said
    assert "relative gap" in said
    assert "saved m.safetensors" in said
    assert run(["score", "m.safetensors", "data.svm"]) == 0
    assert "accuracy" in capsys.readouterr().out
    assert run(["predict", "m.safetensors", "data.svm", "-o", "labels.txt"]) == 0
    assert capsys.readouterr().out == ""
    labels = np.loadtxt("labels.txt")
    X, y = maxmargin.read("data.svm")
    assert np.array_equal(labels, maxmargin.train(X, y, C=2.0).model.predict(X))
    assert run(["inspect", "m.safetensors"]) == 0
    assert "small_smo" in capsys.readouterr().out
    assert run(["inspect", "data.svm"]) == 0
    assert "200" in capsys.readouterr().out


def test_train_json_holds_every_figure(here, capsys):
    assert run(["train", "data.svm", "--json", "--quiet"]) == 0
    said = capsys.readouterr()
    figures = json.loads(said.out)
    assert said.err == ""
    wanted = [
        "solver",
        "why",
        "seconds",
        "epochs",
        "primal",
        "dual",
        "gap",
        "relative_gap",
        "status",
        "n",
        "d",
        "nnz",
        "support",
    ]
    assert set(wanted) <= set(figures)
    assert (figures["status"], figures["n"], figures["d"]) == ("CONVERGED", 200, 5)
    assert figures["gap"] == pytest.approx(figures["primal"] - figures["dual"])
    model = maxmargin.load("data.safetensors")
    assert figures["support"] == len(model.support)
    assert figures["primal"] == model.certificate.primal


def test_text_models_of_liblinear_and_libsvm_are_scored_predicted_and_inspected(here, capsys):
    X, y = maxmargin.read("data.svm")
    maxmargin.write_liblinear_model(maxmargin.train(X, y, loss="logistic").model, "linear.model")
    maxmargin.write_libsvm_model(maxmargin.train(X, y, kernel="linear", probability=True).model, "kernel.model")
    for name, kind in (("linear.model", "linear model"), ("kernel.model", "kernel model")):
        model = maxmargin.load(name)
        assert run(["score", name, "data.svm", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["correct"] == int((model.predict(X) == y).sum())
        assert run(["predict", name, "data.svm", "--what", "probabilities"]) == 0
        assert np.loadtxt(capsys.readouterr().out.splitlines()) == pytest.approx(model.probabilities(X))
        assert run(["inspect", name, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["kind"], told["features"], told["relative_gap"]) == (kind, X.shape[1], "inf")


def test_score_and_inspect_json(here, capsys):
    run(["train", "data.svm", "--quiet"])
    capsys.readouterr()
    assert run(["score", "data.safetensors", "data.svm", "--json"]) == 0
    score = json.loads(capsys.readouterr().out)
    X, y = maxmargin.read("data.svm")
    assert score["accuracy"] == np.mean(maxmargin.load("data.safetensors").predict(X) == y)
    for file, kind in (("data.svm", "data"), ("data.safetensors", "linear model")):
        assert run(["inspect", file, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["kind"] == kind


def test_every_loss_and_bias_is_reachable(here, capsys):
    for loss in EVERY_LOSS:
        for bias in EVERY_BIAS:
            assert run(["train", "data.svm", "--loss", loss, "--bias", bias, "--json", "-q"]) == 0
            assert json.loads(capsys.readouterr().out)["relative_gap"] <= 1e-4
    assert run(["train", "data.svm", "--loss", "logistic", "-q", "--force"]) == 0
    capsys.readouterr()
    assert run(["predict", "data.safetensors", "data.svm", "--what", "probabilities"]) == 0
    first = capsys.readouterr().out.splitlines()[0].split()
    assert sum(map(float, first)) == pytest.approx(1.0)
    assert run(["predict", "data.safetensors", "data.svm", "--what", "decisions"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 200


def test_lam_is_C_in_other_words(here, capsys):
    run(["train", "data.svm", "--lam", "0.01", "--json", "-q"])
    by_lam = json.loads(capsys.readouterr().out)["primal"]
    run(["train", "data.svm", "-c", "0.5", "--json", "-q"])
    assert json.loads(capsys.readouterr().out)["primal"] == pytest.approx(by_lam)


def test_same_seed_same_file(here):
    for name in ("one", "two"):
        assert run(["train", "data.svm", "--seed", "4", "--model", name, "-q"]) == 0
    assert trained("one") == trained("two")


def test_stopping_early_saves_the_model_and_says_so(here, capsys):
    assert run(["train", "data.svm", "-c", "1000", "--tol", "1e-12", "--max-epochs", "1", "-q"]) == 3
    said = capsys.readouterr().out
    assert "epoch limit" in said
    assert "Raise max_epochs" in said
    assert maxmargin.load("data.safetensors").d == 5


def test_a_run_can_be_resumed(here, capsys):
    common = ["train", "data.svm", "--tol", "1e-8", "--json", "-q"]
    run([*common, "--model", "whole"])
    assert run([*common, "--checkpoint", "run", "--max-epochs", "1", "--model", "part"]) == 3
    assert run([*common, "--checkpoint", "run", "--resume", "--model", "resumed"]) == 0
    assert trained("whole") == trained("resumed")
    capsys.readouterr()


def test_named_labels_and_several_classes_work(here, capsys):
    Path("pets.svm").write_text("cat 1:1\ndog 2:1\neel 3:1\ncat 1:2\ndog 2:2\neel 3:2\n")
    assert run(["train", "pets.svm", "-q", "-c", "100"]) == 0
    capsys.readouterr()
    assert run(["predict", "pets.safetensors", "pets.svm"]) == 0
    assert capsys.readouterr().out.split() == ["cat", "dog", "eel"] * 2
    assert run(["score", "pets.safetensors", "pets.svm"]) == 0
    assert "100.0000%" in capsys.readouterr().out


def test_progress_without_a_terminal_is_quiet_lines(here, capsys, monkeypatch):
    monkeypatch.setattr("maxmargin.cli.progress.SECONDS_BETWEEN_LINES", 0.0)
    assert run(["train", "data.svm"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert all(line.startswith("epoch ") for line in lines)
    assert run(["train", "data.svm", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_model_is_named_after_its_data():
    assert default_model(Path("folder/a9a.svm.xz")) == Path("a9a.safetensors")
    assert default_model(Path("rows.csv.gz")) == default_model(Path("rows.npy")) == Path("rows.safetensors")
    assert default_model(Path("covtype.binary.scale.xz")) == Path("covtype.binary.scale.safetensors")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "missing.svm"], "missing.svm"),
        (["train", "."], "."),
        (["train", "empty.svm"], "empty.svm"),
        (["train", "one.svm"], "one.svm holds 1 class only"),
        (["train", "nolabel.svm"], "nolabel.svm:2"),
        (["train", "nan.svm"], "nan.svm:2"),
        (["train", "cut.gz"], "cut short"),
        (["train", "zero.svm"], "--zero-based"),
        (["train", "data.svm", "-c", "-1"], "C=-1.0 must be"),
        (["train", "data.svm", "-c", "x"], "'-c'"),
        (["train", "data.svm", "--lam", "-1"], "lam=-1.0 must be"),
        (["train", "data.svm", "--tol", "0"], "tol=0.0 must be"),
        (["train", "data.svm", "--tol", "-1"], "tol=-1.0 must be"),
        (["train", "data.svm", "--max-seconds", "0"], "max_seconds=0.0 must be"),
        (["train", "data.svm", "--loss", "l1"], "choose one of hinge"),
        (["train", "data.svm", "--bias", "maybe"], "choose one of none"),
        (["train", "data.svm", "--solver", "libsvm"], "choose auto or one of"),
        (["train", "data.svm", "--solver", "pegasos"], "use solver='dual_coordinate'"),
        (["train", "data.svm", "--seed", "-3"], "seed=-3 must be"),
        (["train", "data.svm", "--threads", "0"], "threads=0 must be"),
        (["train", "data.svm", "--resume"], "needs checkpoint"),
        (["train", "data.svm", "--model", "no/where/model"], "does not exist"),
        (["train", "data.svm", "--model", "."], "is a folder"),
        (["train", "data.svm", "--frobnicate"], "--frobnicate"),
        (["train"], "FILE"),
        (["frobnicate"], "frobnicate"),
        (["predict", "missing", "data.svm"], "missing"),
        (["predict", "data.svm", "data.svm"], "is not a maxmargin model"),
        (["predict", "narrow.safetensors", "data.svm"], "has 5 features, but the model was trained with 2"),
        (["predict", "narrow.safetensors", "narrow.svm", "--what", "scores"], "choose one of labels"),
        (["predict", "narrow.safetensors", "narrow.svm", "--what", "probabilities"], "loss='logistic'"),
        (["predict", "narrow.safetensors", "missing.svm"], "missing.svm"),
        (["score", "narrow.safetensors", "data.svm"], "has 5 features"),
        (["score", "cut.safetensors", "data.svm"], "cut short"),
        (["inspect", "missing"], "missing"),
        (["inspect", "cut.safetensors"], "cut short"),
    ],
    ids=" ".join,
)
def test_what_is_wrong_is_said_in_one_line(here, capsys, arguments, words):
    Path("empty.svm").write_text("")
    Path("one.svm").write_text("1 1:2\n1 2:3\n")
    Path("nolabel.svm").write_text("1 1:2\n1:3 2:4\n")
    Path("nan.svm").write_text("1 1:2\n-1 2:nan\n")
    Path("zero.svm").write_text("1 0:2\n-1 2:3\n")
    whole = gzip.compress(Path("data.svm").read_bytes())
    Path("cut.gz").write_bytes(whole[:-20])
    Path("narrow.svm").write_text("1 1:2\n-1 2:3\n")
    model = maxmargin.train("narrow.svm").model
    model.save("narrow.safetensors")
    Path("cut.safetensors").write_bytes(Path("narrow.safetensors").read_bytes()[:-5])
    assert words in fails(arguments, capsys)


def test_a_full_disk_keeps_the_old_model(here, capsys, monkeypatch):
    assert run(["train", "data.svm", "-q"]) == 0
    before = Path("data.safetensors").read_bytes()
    capsys.readouterr()
    monkeypatch.setattr(
        "maxmargin.system.atomic_files.os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left"))
    )
    assert "No space left" in fails(["train", "data.svm", "-c", "3", "-q"], capsys)
    assert Path("data.safetensors").read_bytes() == before


def test_a_bug_of_ours_is_one_line_too(here, capsys, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("boom")

    monkeypatch.setattr("maxmargin.train", broken)
    assert "internal error, RuntimeError: boom" in fails(["train", "data.svm"], capsys)


def test_help_and_version(capsys):
    assert run(["--help"]) == 0
    assert "train" in capsys.readouterr().out
    assert run(["--version"]) == 0
    assert maxmargin.__version__ in capsys.readouterr().out
    assert run(["train", "--help"]) == 0
    said = capsys.readouterr().out
    assert "--max-seconds" in said
    assert "all cores" in said


def test_no_command_shows_the_help_and_nothing_else(capsys):
    assert run([]) == 1
    said = capsys.readouterr()
    assert "Commands" in said.out + said.err
    assert "maxmargin:" not in said.err


def test_the_demo_trains_certifies_scores_and_saves(here, capsys):
    assert run(["demo"]) == 0
    said = capsys.readouterr().out
    assert "relative gap" in said
    assert "accuracy" in said
    assert maxmargin.load("demo-model.safetensors").certificate.relative_gap <= 1e-6


def start(arguments, **options):
    return subprocess.Popen([sys.executable, "-m", "maxmargin", *arguments], **options)


def test_ctrl_c_saves_the_best_model_so_far(here):
    X, y = overlapping(n=20000, d=30, flip=0.3)
    maxmargin.write("slow.svm", X, y.astype(int))
    command = ["train", "slow.svm", "--solver", "sgd", "--tol", "1e-12", "--json"]
    process = start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline().startswith("epoch ")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 3, err
    assert json.loads(out)["status"] == "INTERRUPTED"
    assert maxmargin.load("slow.safetensors").certificate.primal == json.loads(out)["primal"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "data.svm", "--checkpoint", "data.svm"],
        ["train", "data.svm", "--model", "./data.svm"],
        ["train", "data.svm", "--model", "one", "--checkpoint", "one"],
        ["predict", "data.safetensors", "data.svm", "-o", "data.svm"],
        ["predict", "data.safetensors", "data.svm", "-o", "data.safetensors"],
    ],
    ids=" ".join,
)
def test_no_output_is_written_over_what_is_needed(here, capsys, arguments):
    run(["train", "data.svm", "-q"])
    capsys.readouterr()
    before = Path("data.svm").read_bytes()
    assert "a name of its own" in fails(arguments, capsys)
    assert Path("data.svm").read_bytes() == before


def test_inspecting_a_pipe_loses_nothing(here):
    command = f"{sys.executable} -m maxmargin inspect <(cat data.svm) --json"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["rows"] == 200


def test_a_full_disk_behind_standard_output_is_one_line(here):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    run(["train", "data.svm", "-q"])
    command = f"{sys.executable} -m maxmargin predict data.safetensors data.svm > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr


def test_options_reach_the_solver(here, capsys):
    common = ["train", "data.svm", "--bias", "none", "--solver", "pegasos", "--tol", "0.05", "-q"]
    assert run([*common, "--options", "batch=10", "--options", "project=true"]) == 0
    assert maxmargin.load("data.safetensors").training["options"] == {"batch": 10, "project": True}
    capsys.readouterr()
    assert "write NAME=VALUE" in fails([*common, "--options", "batch", "--model", "other"], capsys)
    assert "its options are batch, project" in fails([*common, "--options", "size=2", "--model", "other"], capsys)


def test_ctrl_c_while_reading_is_one_line(here):
    os.mkfifo("endless.svm")
    process = start(["train", "endless.svm"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with Path("endless.svm").open("w") as pipe:  # opens when the reader has
        pipe.write("1 1:1\n")
        pipe.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (1, "", "maxmargin: interrupted\n")


def test_a_closed_pipe_ends_quietly(here):
    assert run(["train", "data.svm", "-q"]) == 0
    command = f"{sys.executable} -m maxmargin predict data.safetensors data.svm | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in {"-1", "1"}
    assert done.stderr == ""


def test_score_names_a_label_that_the_model_does_not_know(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"{k},{'high' if k > 20 else 'low'}" for k in range(40)]
    Path("rows.csv").write_text("\n".join(["size,label", *rows]))
    Path("others.csv").write_text("\n".join(["size,label", *rows]).replace("high", "hihg"))
    assert run(["train", "rows.csv"]) == 0
    capsys.readouterr()
    assert run(["score", "rows.safetensors", "others.csv"]) == 0
    assert "19 of 40 rows have a label that is no class of the model, 'hihg' say" in capsys.readouterr().err


def test_inspect_counts_many_labels_and_does_not_list_them(tmp_path, capsys):
    table = tmp_path / "prices.csv"
    table.write_text("\n".join(["size,price", *(f"{k % 7},{k + 0.5}" for k in range(100))]))
    assert run(["inspect", str(table), "--label", "price"]) == 0
    assert "labels           100 different ones, from 0.5 to 99.5" in capsys.readouterr().out
