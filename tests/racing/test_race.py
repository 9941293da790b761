"""Races: one problem for all, curves that only improve, a table and a picture, one line for what is wrong."""

import json
import signal
import subprocess
import sys
from math import isfinite
from pathlib import Path

import numpy as np
import pytest
from problems import STORAGES, overlapping
from scipy import sparse

import maxmargin
from maxmargin.cli import run
from maxmargin.cli.summary import finite
from maxmargin.data.take import take
from maxmargin.racing import race as racing
from maxmargin.racing.plot import FLOOR, marks
from maxmargin.racing.race import held_out, picked

QUICK = {"max_epochs": 8, "max_seconds": None}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = overlapping(n=200)
    maxmargin.write("data.svm", X, y.astype(int))
    maxmargin.write("test.svm", X[:50, :4], y[:50].astype(int))
    maxmargin.write("wide.svm", np.hstack([X, X + 1]), y.astype(int))
    Path("pets.svm").write_text("cat 1:1\ndog 2:1\neel 3:1\ncat 1:2\ndog 2:2\neel 3:2\n" * 3)
    return tmp_path


@pytest.fixture(scope="module")
def five():
    X, y = overlapping(n=300, d=8)
    names = ["dual_coordinate", "sgd", ("pegasos", {"batch": 10}), "implicit", "gradient_descent"]
    return maxmargin.race(X, y, solvers=names, bias="none", max_epochs=30, max_seconds=None)


def race(*arguments):
    return run(["race", "data.svm", "--max-epochs", "8", "-q", *arguments])


def fails(arguments, capsys):
    before = set(Path().iterdir())
    assert run(["race", *arguments]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1, said.err
    assert said.err.startswith("maxmargin: ")
    assert "internal error" not in said.err
    assert set(Path().iterdir()) == before
    return said.err


# the library


def test_curves_of_the_best_so_far_only_improve(five):
    for lap in five.laps:
        for key, down in (("objective", True), ("bound", False), ("gap", True)):
            values = [getattr(moment, key) for moment in lap.curve]
            assert values == sorted(values, reverse=down), (lap.name, key)
        for key in ("seconds", "epochs"):
            values = [getattr(moment, key) for moment in lap.curve]
            assert values == sorted(values)
        assert all(0.0 <= moment.test_error <= 1.0 for moment in lap.curve)
        assert lap.curve[-1].objective == lap.outcome.certificate.primal
        assert lap.curve[-1].seconds <= lap.outcome.seconds


def test_all_laps_solve_one_problem_so_that_any_bound_bounds_all(five):
    lowest = min(lap.outcome.certificate.primal for lap in five.laps)
    assert five.bound == max(lap.outcome.certificate.dual for lap in five.laps)
    assert five.bound <= lowest * (1 + 1e-12)
    assert [five.above(lap.outcome.certificate.primal) >= 0 for lap in five.laps] == [True] * 5
    assert five.facts["n"] + five.facts["tested"] == 300


def test_a_lap_is_the_run_that_train_makes():
    X, y = overlapping()
    found = maxmargin.race(X, y, solvers=["sgd", "auto"], holdout=0, **QUICK)
    alone = maxmargin.train(X, y, solver="sgd", tol=1e-6, max_epochs=8)
    assert np.array_equal(found.laps[0].outcome.w, alone.model.w[0])
    assert found.laps[1].name == "auto (small_smo)"
    assert found.facts["tested"] == 0
    assert {moment.test_error for lap in found.laps for moment in lap.curve} == {None}


def test_the_test_error_is_that_of_the_best_model():
    X, y = overlapping(n=200)
    labels = np.where(y > 0, "yes", "no")
    found = maxmargin.race(X[:150], labels[:150], solvers=["sgd"], test=(X[150:], labels[150:]), **QUICK)
    outcome = found.laps[0].outcome
    wrong = np.mean((X[150:] @ outcome.w + outcome.b > 0) != (y[150:] > 0))
    assert found.laps[0].curve[-1].test_error == pytest.approx(wrong)
    assert found.facts["tested"] == 50


def test_the_held_out_rows_are_a_part_of_each_class_by_the_seed():
    y = np.array([1.0] * 40 + [-1.0] * 10 + [1.0])
    away = held_out(y, 0.2, seed=3)
    assert (away[y > 0].sum(), away[y < 0].sum()) == (8, 2)
    assert np.array_equal(away, held_out(y, 0.2, seed=3))
    assert not np.array_equal(away, held_out(y, 0.2, seed=4))
    assert not held_out(y, 0.0, seed=3).any()
    assert held_out(np.array([1.0, -1.0, -1.0]), 0.99, seed=0).tolist().count(False) == 2


def test_weights_stay_with_their_rows():
    X, y = overlapping(n=100)
    weights = np.where(np.arange(100) < 60, 1.0, 0.0)
    away = held_out(y, 0.2, seed=0)
    found = maxmargin.race(X, y, solvers=["dual_pairs"], weights=weights, tol=1e-8)
    alone = maxmargin.train(X[~away], y[~away], weights=weights[~away], tol=1e-8, solver="dual_pairs")
    assert found.laps[0].outcome.certificate.primal == alone.certificate.primal
    with pytest.raises(maxmargin.DataError, match="one weight each"):
        maxmargin.race(X, y, solvers=["dual_pairs"], weights=weights[:50])


@pytest.mark.parametrize("storage", STORAGES)
def test_rows_are_picked_as_they_are_stored(storage):
    X, y = overlapping()
    mask = y > 0
    rows, part = take(STORAGES[storage](X)), picked(take(STORAGES[storage](X)), mask)
    assert [field.dtype for field in rows[:3]] == [field.dtype for field in part[:3]]
    dense = part.values if len(part) == 1 else sparse.csr_array(part[:3], shape=(mask.sum(), part.d)).toarray()
    assert np.array_equal(dense, X[mask])


def test_everything_is_compiled_on_a_few_rows_before_the_clock_starts(monkeypatch):
    runs = []

    def seen(problem, solver, limits, **options):
        runs.append((solver.name, problem.n, "watch" in options, type(problem.rows), problem.rows.values.dtype))
        return solve(problem, solver, limits, **options)

    solve = racing.solve
    monkeypatch.setattr(racing, "solve", seen)
    X, y = overlapping(n=300)
    maxmargin.race(X.astype(np.float32), y, solvers=["dual_pairs", "sgd"], holdout=0, **QUICK)
    assert [one[:3] for one in runs] == [
        ("dual_pairs", racing.FEW, False), ("dual_pairs", 300, True), ("sgd", racing.FEW, False), ("sgd", 300, True)
    ]  # fmt: skip
    assert len({one[3:] for one in runs}) == 1


def test_a_batch_larger_than_a_few_rows_is_warmed_up_all_the_same():
    X, y = overlapping(n=300)
    names = [("pegasos", {"batch": 200}), ("pegasos", {"batch": 500})]
    found = maxmargin.race(X, y, solvers=names, bias="none", holdout=0, **QUICK)
    assert [bool(lap.outcome) for lap in found.laps] == [True, False]
    assert found.laps[1].refusal.startswith("pegasos batch=500: batch=500 must be from 1 to 300")


def test_a_callback_ends_the_race():
    X, y = overlapping()
    names = []

    def watch(name, record):
        names.append(name)
        return record.epochs >= 2

    found = maxmargin.race(X, y, solvers=["sgd", "dual_pairs"], callback=watch)
    assert found.interrupted
    assert [lap.name for lap in found.laps] == ["sgd"]
    assert set(names) == {"sgd"}


def test_one_class_races_against_the_rest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = np.argmax(X[:, :3], axis=1)
    found = maxmargin.race(X, y, solvers=["dual_pairs"], positive=2, holdout=0)
    alone = maxmargin.train(X, y == 2, tol=1e-6, solver="dual_pairs")
    assert found.laps[0].outcome.certificate.primal == alone.certificate.primal
    assert found.facts["positive"] == "2"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"solvers": []}, "solvers is empty"),
        ({"solvers": [3]}, "a pair of a name and its options"),
        ({"solvers": ["sdg"]}, "choose auto or one of dual_coordinate"),
        ({"solvers": [("sgd", {"steps": 1})]}, "sgd has no option 'steps'"),
        ({"solvers": [("auto", {"steps": 1})]}, "small_smo has no option 'steps'"),
        ({"holdout": 1}, "holdout=1 must be"),
        ({"holdout": True}, "holdout=True must be"),
        ({"test": 3}, "a pair"),
        ({"test": ([[1.0] * 9], [1])}, "test has 9 features, but the training data have 5"),
        ({"test": ([[1.0] * 5], [7])}, "test has the label 7, the training data only -1, 1"),
        ({"test": (np.zeros((0, 5)), [])}, "nothing to test on"),
        ({"positive": 5}, "positive=5 is no class of y: choose one of -1, 1"),
        ({"loss": "l1"}, "choose one of hinge"),
        ({"max_seconds": 0}, "must be a number above 0"),
    ],
)
def test_what_cannot_be_raced_is_said(options, words):
    X, y = overlapping()
    with pytest.raises(maxmargin.MaxmarginError) as caught:
        maxmargin.race(X, y, **{"solvers": ["dual_pairs"], **options})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


# the picture


@pytest.mark.parametrize("name", ["race.png", "race.SVG", "race.pdf"])
def test_a_picture_is_written_in_the_format_of_its_ending(five, here, name):
    five.draw(name)
    opening = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[name[-3:].lower()]
    assert Path(name).read_bytes().startswith(opening)
    assert [path for path in here.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    "moment",
    [
        {"gap": 0.0, "bound": 1.0, "objective": 1.0},
        {"gap": -1e-17, "bound": 1.0, "objective": 1.0},
        {"gap": float("nan"), "bound": -np.inf, "objective": np.inf},
        {"gap": np.inf, "bound": 0.0, "objective": 1.0},
    ],
)
def test_no_number_breaks_the_picture(five, here, moment):
    odd = racing.Moment(seconds=0.0, epochs=0.0, test_error=0.5, **moment)
    lap = racing.Lap("$x_1$ 鰻", "sgd", {}, five.laps[0].outcome, [odd, *five.laps[0].curve])
    racing.Race([lap], {**five.facts, "data": "$^_ 鰻.svm"}).draw("odd.png")
    alone = racing.Lap("sgd", "sgd", {}, five.laps[0].outcome, [odd])
    racing.Race([alone], {**five.facts, "tested": 0}).draw("alone.png")
    assert Path("alone.png").exists()


def test_markers_are_few_and_the_last_point_has_one():
    assert marks(1, 5) == [0]
    assert marks(5, 3) == [0, 1, 2, 3, 4]
    assert marks(100, 1)[-1] == 99
    assert len(marks(1000, 2)) < 20
    assert FLOOR > 0


def test_nothing_of_matplotlib_is_changed_or_needed_before_a_picture_is_drawn(here):
    code = "import sys; from maxmargin.cli import run; " \
           "run(['race', 'data.svm', '--solvers', 'sgd', '--max-epochs', '2', '-q']); " \
           "print('matplotlib' in sys.modules); " \
           "run(['race', 'data.svm', '--solvers', 'sgd', '--max-epochs', '2', '-q', '--plot', 'out.png']); " \
           "print('matplotlib.pyplot' in sys.modules)"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [line for line in done.stdout.splitlines() if line in {"True", "False"}] == ["False", "False"]
    assert done.stderr == ""


# the command


def test_the_table_shows_every_solver_and_fits_a_narrow_page(here, capsys):
    names = "dual_coordinate,sgd:schedule=over_sqrt_t:step=0.1,sgd,pegasos:batch=32,gradient_descent,dual_pairs"
    assert race("--solvers", names, "--bias", "none") == 0
    said = capsys.readouterr()
    assert said.err == ""
    lines = said.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "data.svm: 160 × 5, hinge loss, bias none, C = 1"
    assert "error: on 40 rows" in said.out
    first = [line.split(" ")[0] for line in lines]
    for name in ("dual_coordinate", "sgd", "pegasos", "gradient_descent"):
        assert name in first
    assert "sgd schedule=over_sqrt_t step=0.1" in said.out
    assert "refused: dual_pairs keeps Σ αy at 0" in said.out
    assert "seconds until the gap was at most" in said.out
    assert "\x1b" not in said.out


def test_json_holds_every_curve(here, capsys):
    assert race("--solvers", "dual_pairs,sgd:step=0.5:schedule=constant,newton", "--json", "--test", "test.svm") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n"], found["d"], found["tested"]) == (200, 5, 50)
    assert [lap["status"] for lap in found["laps"]] == ["EPOCH_LIMIT", "EPOCH_LIMIT", "REFUSED"]
    assert found["laps"][1]["options"] == {"step": 0.5, "schedule": "constant"}
    assert "smooth" in found["laps"][2]["refusal"]
    for lap in found["laps"][:2]:
        assert set(lap["curve"]) == {"seconds", "epochs", "objective", "bound", "gap", "test_error"}
        assert len({len(column) for column in lap["curve"].values()}) == 1
        assert lap["curve"]["objective"][-1] == lap["primal"]
        assert lap["curve"]["test_error"][-1] == lap["test_error"]


def test_numbers_that_json_lacks_become_text():
    given = {"a": [np.inf, -np.inf, float("nan"), 1.5, None, "x"], "b": {"c": True}}
    assert finite(given) == {"a": ["inf", "-inf", "nan", 1.5, None, "x"], "b": {"c": True}}


def test_holdout_zero_leaves_the_error_out(here, capsys):
    assert race("--solvers", "dual_pairs", "--holdout", "0", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n"], found["tested"], found["laps"][0]["test_error"]) == (200, 0, None)
    assert race("--solvers", "dual_pairs", "--holdout", "0", "--plot", "out.png") == 0
    said = capsys.readouterr().out
    assert "error: on" not in said
    assert said.endswith("drew out.png\n")


def test_a_class_can_be_named_as_it_is_written(here, capsys):
    for file, label in (("pets.svm", "dog"), ("data.svm", "+1"), ("data.svm", "-1")):
        assert run(["race", file, "--solvers", "dual_pairs", "--positive", label, "--json", "-q"]) == 0
        assert isfinite(json.loads(capsys.readouterr().out)["laps"][0]["primal"])


def test_progress_names_the_solver(here, capsys, monkeypatch):
    monkeypatch.setattr("maxmargin.cli.progress.SECONDS_BETWEEN_LINES", 0.0)
    assert run(["race", "data.svm", "--solvers", "sgd,dual_pairs", "--max-epochs", "3"]) == 0
    heads = {line.split(":")[0] for line in capsys.readouterr().err.splitlines()}
    assert heads == {"sgd", "dual_pairs"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["data.svm"], "--solvers"),
        (["missing.svm", "--solvers", "dual_pairs"], "missing.svm"),
        (["missing.svm", "--solvers", "dual_pairs,sdg"], "solver='sdg' is not known: choose auto or one of dual_coord"),
        (["missing.svm", "--solvers", "dual_pairs,"], "solver='' is not known"),
        (["missing.svm", "--solvers", "sgd:step"], "--solvers sgd: step: write NAME=VALUE"),
        (["missing.svm", "--solvers", "sgd:size=2"], "sgd has no option 'size'"),
        (["missing.svm", "--solvers", "sgd:step=-2"], "step=-2 must be"),
        (["missing.svm", "--solvers", "sgd", "--plot", "out.bmpp"], "ends in one of"),
        (["missing.svm", "--solvers", "sgd", "--plot", "out"], ".png"),
        (["missing.svm", "--solvers", "sgd", "--plot", "no/where/out.png"], "does not exist"),
        (["missing.svm", "--solvers", "sgd", "--holdout", "1.5"], "holdout=1.5 must be"),
        (["data.png", "--solvers", "sgd", "--plot", "./data.png"], "a name of its own"),
        (["data.svm", "--solvers", "sgd", "--test", "data.png", "--plot", "data.png"], "a name of its own"),
        (["data.svm", "--solvers", "sgd", "--test", "wide.svm"], "wide.svm has 10 features, but the training data"),
        (["data.svm", "--solvers", "sgd", "--test", "missing.svm"], "missing.svm"),
        (["data.svm", "--solvers", "sgd", "--test", "pets.svm"], "pets.svm has the label cat"),
        (["pets.svm", "--solvers", "sgd"], "holds 3 classes (cat, dog, eel)"),
        (["pets.svm", "--solvers", "sgd", "--positive", "cow"], "positive=cow is no class"),
        (["data.svm", "--solvers", "newton,pegasos"], "no solver takes this problem: newton needs a smooth loss"),
        (["data.svm", "--solvers", "sgd", "--max-seconds", "0"], "max_seconds=0.0 must be"),
        (["data.svm", "--solvers", "sgd", "--tol", "0"], "tol=0.0 must be"),
    ],
    ids=" ".join,
)
def test_what_is_wrong_is_said_in_one_line(here, capsys, arguments, words):
    Path("data.png").write_text(Path("data.svm").read_text())
    assert words in fails(arguments, capsys)


def test_a_missing_matplotlib_is_said_before_anything_is_read(here, capsys, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    said = fails(["missing.svm", "--solvers", "sgd", "--plot", "out.png"], capsys)
    assert said == "maxmargin: --plot needs matplotlib: pip install 'maxmargin[plot]'\n"


def test_ctrl_c_ends_the_race_and_shows_what_was_run(here):
    X, y = overlapping(n=20000, d=30, flip=0.3)
    maxmargin.write("slow.svm", X, y.astype(int))
    command = ["race", "slow.svm", "-c", "1e6", "--solvers", "dual_pairs,sgd", "--json", "--max-seconds", "100"]
    process = subprocess.Popen(
        [sys.executable, "-m", "maxmargin", *command, "--tol", "1e-12", "--plot", "slow.png"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr.readline().startswith("dual_pairs: epoch ")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    found = json.loads(out)
    assert found["interrupted"]
    assert [lap["status"] for lap in found["laps"]] == ["INTERRUPTED"]
    assert Path("slow.png").read_bytes().startswith(b"\x89PNG")
