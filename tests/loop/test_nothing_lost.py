"""Nothing a user had is lost: not a file, not a model, not a finished training."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from problems import overlapping
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

import maxmargin
from maxmargin import FileError, RefusedError, Status
from maxmargin.cli import run
from maxmargin.system.tensor_file import read_header, read_tensors, write_tensors

STREAMED = {"solver": "cached_loops", "memory": "20MB", "threads": 1, "C": 0.1}
ESTIMATORS = [
    maxmargin.LinearSVC(solver="sgd"), maxmargin.SVC(), maxmargin.NuSVC(), maxmargin.SVR(), maxmargin.NuSVR(),
    maxmargin.OneClassSVM(),
]  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = overlapping(n=300)
    maxmargin.write("data.svm", X, y.astype(int))
    maxmargin.write("other.svm", X[:50], y[:50].astype(int))
    maxmargin.write("three.svm", X, np.digitize(X[:, 0], [-0.5, 0.5]))
    return tmp_path


def refused(arguments, capsys):
    """What the command says on standard error: one line, exit code 1."""
    assert run(arguments) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1, said
    return said


def trained(name="model", **options):
    X, y = overlapping(n=300)
    maxmargin.train(X, y, **options).model.save(name)


# Outputs replace only their own kind


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "data.svm", "--checkpoint", "other.svm"],
        ["train", "data.svm", "--model", "other.svm"],
        [
            "train",
            "data.svm",
            "--solver",
            "cached_loops",
            "--checkpoint",
            "other.svm",
            "--threads",
            "1",
            "--tol",
            "0.1",
        ],
        ["convert", "data.svm", "other.svm"],
        ["predict", "model", "data.svm", "--output", "other.svm"],
        ["predict", "model", "data.svm", "--output", "run"],
        ["race", "data.svm", "--solvers", "sgd", "--plot", "other.png"],
    ],
    ids=" ".join,
)
def test_an_output_never_replaces_a_file_of_another_kind(here, capsys, arguments):
    trained()
    maxmargin.train(*overlapping(), checkpoint="run")
    Path("other.png").write_bytes(Path("other.svm").read_bytes())
    before = {path: path.read_bytes() for path in Path().iterdir()}
    assert "replace it with --force" in refused(arguments, capsys)
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
    assert run([*arguments, "--force", "--max-seconds=1"] if arguments[0] == "race" else [*arguments, "--force"]) == 0


def test_an_output_replaces_its_own_kind(here):
    for _ in range(2):
        assert run(["train", "data.svm", "--model", "model", "--checkpoint", "run", "-q"]) == 0
        assert run(["predict", "model", "data.svm", "--output", "labels.txt"]) == 0
        assert run(["predict", "model", "data.svm", "--output", "labels.txt", "--what", "decisions"]) == 0
        assert run(["convert", "data.svm", "data.arrow", "-q"]) == 0
        maxmargin.write("data.svm", *maxmargin.read("data.svm"))


def test_numbered_checkpoints_replace_only_checkpoints_before_any_class_is_trained(here):
    Path("run.2").write_text("mine")
    with pytest.raises(FileError, match=r"run\.2: is a text file, not a maxmargin checkpoint"):
        maxmargin.train("three.svm", checkpoint="run")
    assert not Path("run.0").exists()
    with pytest.raises(FileError, match=r"run\.2: is a text file, not a maxmargin checkpoint"):
        maxmargin.train("three.svm", checkpoint="run", **STREAMED)
    with pytest.raises(FileError, match=r"run\.2: is a text file, not a maxmargin checkpoint"):
        maxmargin.train("three.svm", checkpoint="run", kernel="gaussian")
    assert Path("run.2").read_text() == "mine"


@pytest.mark.parametrize("options", [{}, STREAMED], ids=["in memory", "streamed"])
def test_a_checkpoint_replaces_only_one_of_the_same_run(here, options):
    maxmargin.train("data.svm", checkpoint="run", **options)
    before = Path("run").read_bytes()
    with pytest.raises(FileError, match="of another run: C was"):
        maxmargin.train("data.svm", checkpoint="run", **{**options, "C": 7.0})
    assert Path("run").read_bytes() == before
    maxmargin.train("data.svm", checkpoint="run", **options)
    assert maxmargin.train("data.svm", checkpoint="run", force=True, **{**options, "C": 7.0}).model.training["C"] == 7.0


def test_a_model_is_saved_only_over_a_model(here):
    model = maxmargin.train("data.svm").model
    with pytest.raises(FileError, match=r"other\.svm: is a text file, not a maxmargin model"):
        model.save("other.svm")
    Path("empty").touch()
    model.save("empty")
    model.save("empty")
    model.save("other.svm", force=True)
    with pytest.raises(FileError, match=r"other\.svm: is a maxmargin model, not a LIBSVM file"):
        maxmargin.write("other.svm", [[1.0]], [1])


# A checkpoint that cannot be written


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("options", [[], ["--solver", "cached_loops"]], ids=["in memory", "streamed"])
def test_a_full_disk_for_the_checkpoint_costs_no_model(here, capsys, options):
    assert run(["train", "data.svm", "--checkpoint", "/dev/full", "-m", "model", "-q", *options]) == 0
    said = capsys.readouterr().err
    assert said.startswith("maxmargin: warning: /dev/full: cannot write: No space left on device")
    assert said.count("\n") == 1
    assert maxmargin.load("model").certificate.relative_gap <= 1e-4


def test_a_folder_that_vanishes_costs_no_model(here, monkeypatch):
    monkeypatch.setattr("maxmargin.loop.saving.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("maxmargin.loop.saving.SHARE", 0.0)
    Path("folder").mkdir()

    def vanish(record):
        shutil.rmtree("folder", ignore_errors=True)

    with pytest.warns(maxmargin.CheckpointWarning, match="cannot write") as caught:
        result = maxmargin.train("data.svm", checkpoint="folder/run", callback=vanish)
    assert result.status is Status.CONVERGED
    assert len(caught) == 1


# A better model stays


def test_an_unproved_model_does_not_replace_a_proved_one(here, capsys):
    streamed = ["train", "data.svm", "--solver", "cached_loops", "-m", "model.st", "-q"]
    assert run(streamed) == 0
    before = Path("model.st").read_bytes()
    capsys.readouterr()
    assert run([*streamed, "--max-seconds", "1e-9"]) == 3
    assert "model.st: holds a better model, which stays; this one is saved as model.new.st" in capsys.readouterr().err
    assert run([*streamed, "--max-seconds", "1e-9", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["model"] == "model.new2.st"
    assert Path("model.st").read_bytes() == before
    assert not np.isfinite(maxmargin.load("model.new.st").certificate.gap)
    assert run([*streamed, "--max-seconds", "1e-9", "--force"]) == 3
    assert Path("model.st").read_bytes() != before


def test_a_worse_model_of_the_same_problem_is_saved_beside(here):
    common = ["train", "data.svm", "-m", "model.st", "-q"]
    assert run(common) == 0
    assert run([*common, "--max-epochs", "1", "--solver", "sgd"]) == 3
    assert maxmargin.load("model.st").certificate.relative_gap <= 1e-4
    assert maxmargin.load("model.new.st").certificate.relative_gap > 1e-4
    assert run([*common, "--solver", "dual_pairs"]) == 0  # as good, by the tolerance that was asked for
    assert maxmargin.load("model.st").training["solver"] == "dual_pairs"
    assert run([*common, "--max-epochs", "1", "--solver", "sgd", "-c", "2"]) == 3  # another problem
    assert maxmargin.load("model.st").training["C"] == 2.0


# Signals


def kill_at(record_number, number):
    """A callback that sends this process a signal, once."""
    seen = []

    def callback(record):
        seen.append(record)
        if len(seen) == record_number:
            os.kill(os.getpid(), number)

    return callback


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_ctrl_c_in_an_estimator_keeps_the_model_and_raises(estimator):
    X, y = overlapping(n=400)
    slow = {"tol": 1e-15, "callback": kill_at(1, signal.SIGINT), "max_seconds": 30}
    estimator = estimator.set_params(**slow)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, y)
    assert estimator.result_.status in (Status.INTERRUPTED, Status.CONVERGED)
    assert len(estimator.predict(X)) == len(X)
    estimator.set_params(on_interrupt="return", callback=kill_at(1, signal.SIGINT))
    assert estimator.fit(X, y) is estimator
    with pytest.raises(maxmargin.ParameterError, match="on_interrupt='quit' is not known"):
        estimator.set_params(on_interrupt="quit").fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ctrl_c_ends_a_cross_validation():
    X, y = overlapping(n=400)
    estimator = maxmargin.LinearSVC(solver="sgd", tol=1e-15, max_seconds=30, callback=kill_at(1, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        cross_val_score(estimator, X, y, cv=3)


def test_a_callback_that_stops_an_estimator_raises_nothing():
    with pytest.warns(ConvergenceWarning, match="Stopped on request"):
        maxmargin.LinearSVC(solver="sgd", tol=1e-15, callback=lambda record: True).fit(*overlapping(n=400))


SCRIPT = """
import numpy as np, maxmargin, os, signal, sys
r = np.random.default_rng(0)
X = r.normal(size=(500, 5)); y = np.where(X[:, 0] + r.normal(size=500) > 0, 1, -1)
def callback(record):
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
for fit in range(3):
    print("fit", fit, flush=True)
    {train}
    print("returned", flush=True)
"""
FITS = {
    "train": 'maxmargin.train(X, y, solver="sgd", tol=1e-15, callback=callback, checkpoint=sys.argv[2])',
    "path": 'maxmargin.path(X, y, Cs=[1.0, 2.0], solver="sgd", tol=1e-15, callback=callback, threads=1)',
    "estimator": 'maxmargin.LinearSVC(solver="sgd", tol=1e-15, callback=callback).fit(X, y)',
}


@pytest.mark.parametrize("fit", FITS)
def test_sigterm_ends_a_script_after_the_fit_under_way(tmp_path, fit):
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT.replace("{train}", FITS[fit]), "SIGTERM", "run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "fit 0\n"), done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "run").exists() == (fit == "train")


def test_ctrl_c_returns_from_train_and_the_script_goes_on(tmp_path):
    command = [sys.executable, "-c", SCRIPT.replace("{train}", FITS["train"]), "SIGINT", "run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout.count("returned")) == (0, 3), done.stderr


@pytest.mark.parametrize("delay", [0.05, 0.15, 0.3, 0.6])
def test_an_early_ctrl_c_leaves_no_traceback(here, delay):
    process = subprocess.Popen(
        [sys.executable, "-m", "maxmargin", "train", "data.svm", "--tol", "1e-15", "-q"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said or "maxmargin" not in said, said  # before our code has run Python itself answers


# Identity and content of checkpoints


def test_a_streamed_run_is_known_by_the_content_of_its_file(here):
    first = maxmargin.train("data.svm", max_epochs=1, tol=1e-12, checkpoint="run", **STREAMED)
    assert first.status is Status.EPOCH_LIMIT
    Path("data.svm").rename("renamed.svm")
    again = maxmargin.train("renamed.svm", tol=1e-2, checkpoint="run", resume=True, **STREAMED)
    assert again.status is Status.CONVERGED
    lines = Path("renamed.svm").read_text().splitlines(keepends=True)
    Path("renamed.svm").write_text("".join(lines[::-1]))
    with pytest.raises(FileError, match="of another run: file was"):
        maxmargin.train("renamed.svm", tol=1e-2, checkpoint="run", resume=True, **STREAMED)


def crafted(words, tensors):
    """Contents that no run has, each with a name."""
    yield "no identity", {key: value for key, value in words.items() if key != "identity"}, tensors
    yield "history", {**words, "history": [{"problem": 3}]}, tensors
    yield "history of text", {**words, "history": "none"}, tensors
    yield "random numbers", {**words, "rng": {"bit_generator": "MT19937"}}, tensors
    yield "loop", {**words, "loop": {**words["loop"], "ended": "never"}}, tensors
    for name, array in tensors.items():
        yield f"{name} is gone", words, {key: value for key, value in tensors.items() if key != name}
        yield f"{name} is short", words, {**tensors, name: array[:-1]}
        yield f"{name} has another type", words, {**tensors, name: array.astype(np.float32)}
        if array.dtype.kind == "f":
            yield f"{name} is not finite", words, {**tensors, name: np.full_like(array, np.nan)}
        elif array.dtype.kind == "i":
            yield f"{name} names no rows", words, {**tensors, name: array + 10**6}
    if "best" in words:
        yield "outside the box", words, {**tensors, "best.alpha": tensors["best.alpha"] + 1e9}
        lie = {**words["best"], "certificate": {**words["best"]["certificate"], "primal": 0.0, "dual": 0.0}}
        yield "a false certificate", {**words, "best": lie}, tensors
        yield "position", {**words, "state": {**words["state"], "position": 10**6}}, tensors
        amid = {"position": 1, "kept": len(tensors["state.order"])}
        yield "more kept than visited", {**words, "state": {**words["state"], **amid}}, tensors
    else:
        yield "outside the box", words, {**tensors, "state.alpha": tensors["state.alpha"] + 1e9}
        yield "passes", {**words, "state": {**words["state"], "passes": -1}}, tensors
        yield "seen", {**words, "state": {**words["state"], "seen": [1, 2, 3]}}, tensors


@pytest.mark.parametrize("options", [{"solver": "dual_pairs", "threads": 1}, STREAMED], ids=["in memory", "streamed"])
def test_a_crafted_checkpoint_is_refused_in_one_line(here, options):
    options = {**options, "tol": 1e-12, "checkpoint": "run"}
    maxmargin.train("data.svm", max_epochs=3, **options)
    kind = read_header("run")["kind"]
    tensors, words = read_tensors("run", kind)
    for name, false_words, false_tensors in crafted(words, tensors):
        write_tensors("run", kind, false_tensors, false_words)
        with pytest.raises(FileError, match=r"^run: ") as caught:
            maxmargin.train("data.svm", max_epochs=3, resume=True, **options)
        assert "\n" not in str(caught.value), name
    write_tensors("run", kind, tensors, words)
    maxmargin.train("data.svm", max_epochs=3, resume=True, **options)


# Leftovers of killed processes


def dead_process():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_temporary_files_of_the_dead_are_removed_and_those_of_the_living_stay(here):
    dead, mine, own = dead_process(), Path(f".maxmargin-{os.getpid()}-abcdefgh.part"), Path(".maxmargin-notes.part")
    left = Path(f".maxmargin-{dead}-abcdefgh.part")
    for path in (left, mine, own):
        path.write_bytes(b"half")
    trained("model")
    assert not left.exists()
    assert mine.exists()
    assert own.exists()


def test_a_killed_writer_leaves_nothing_that_a_later_run_does_not_remove(here):
    script = (
        "import os, signal\nfrom maxmargin.system.atomic_files import replacing\n"
        "with replacing('model') as stream:\n    stream.write(b'half'); stream.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGKILL
    assert len(list(Path().glob(".maxmargin-*.part"))) == 1
    trained("model")
    assert not list(Path().glob(".maxmargin-*.part"))


def test_temporary_folders_of_the_dead_are_removed(here, monkeypatch):
    (here / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(here / "tmp"))
    left, mine = (here / "tmp" / f"maxmargin-{number}-abcdefgh" for number in (dead_process(), os.getpid()))
    for folder in (left, mine):
        folder.mkdir()
        (folder / "blocks.arrow").write_bytes(b"half")
    maxmargin.train("data.svm", solver="block_minimization", tol=1e-2)
    assert list((here / "tmp").iterdir()) == [mine]


# Limits and refusals


@pytest.mark.parametrize("limit", [3, 20, 100])
@pytest.mark.parametrize("solver", ["dual_coordinate", "dual_pairs", "gradient_descent", "sgd", "lbfgs"])
def test_an_epoch_limit_is_a_limit(solver, limit):
    X, y = overlapping(n=500, d=20)
    loss = "squared_hinge" if solver == "lbfgs" else "hinge"
    result = maxmargin.train(X, y, C=100.0, loss=loss, solver=solver, max_epochs=limit, tol=1e-15)
    assert 0 < result.epochs <= limit


@pytest.mark.parametrize("limit", [3, 8, 20])
@pytest.mark.parametrize("solver", ["second_order", "interior_point"])
def test_an_epoch_limit_cuts_a_long_first_step_short(here, solver, limit):
    X, y = overlapping(n=3000, d=10)
    settings = {"C": 100.0, "solver": solver, "tol": 1e-9, "checkpoint": "run.checkpoint", "resume": True}
    first = maxmargin.train(X, y, max_epochs=limit, **settings)
    assert 0 < first.epochs <= limit
    assert np.isfinite(first.certificate.gap)
    resumed, whole = maxmargin.train(X, y, **settings), maxmargin.train(X, y, C=100.0, solver=solver, tol=1e-9)
    assert np.array_equal(resumed.model.w, whole.model.w)


def test_an_epoch_limit_is_a_limit_for_streamed_rows(here):
    result = maxmargin.train("data.svm", max_epochs=3, tol=1e-12, **STREAMED)
    assert result.status is Status.EPOCH_LIMIT
    assert result.epochs <= 3
    assert np.isfinite(result.certificate.gap)


@pytest.mark.parametrize("solver", ["cached_loops", "block_minimization", "selective_blocks"])
def test_streaming_solvers_are_refused_by_race_and_path(here, capsys, solver):
    assert f"{solver} reads its rows from files" in refused(["race", "data.svm", "--solvers", solver], capsys)
    laps = maxmargin.race("data.svm", solvers=[solver, "dual_pairs"], tol=1e-3).laps
    assert [bool(lap.refusal) for lap in laps] == [True, False]
    with pytest.raises(RefusedError, match=f"{solver} trains for one C at a time: take solver='auto'"):
        maxmargin.path("data.svm", solver=solver)
