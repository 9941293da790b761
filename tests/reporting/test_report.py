"""`report` in Python and on the command line: what it says, what it writes, what it refuses."""

import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from problems import overlapping
from sklearn.metrics import roc_auc_score
from subjects import NASTY, report_of, rings, table, tuning

import maxmargin
from maxmargin.cli import run
from maxmargin.errors import DataError, FileError, ParameterError
from maxmargin.models.named_weights import named_weights
from maxmargin.reporting.content import Findings, Table
from maxmargin.reporting.sections.margins import KINDS


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = overlapping(n=200)
    maxmargin.write("data.svm", X, y.astype(int))
    maxmargin.write("new.svm", X[:50], y[:50].astype(int))
    table().to_csv("people.csv", index=False)
    assert run(["train", "data.svm", "-q", "--solver", "dual_coordinate"]) == 0
    return tmp_path


def fails(arguments, capsys):
    """Run a command that must fail: exit code 1, one line, no new file."""
    capsys.readouterr()
    before = set(Path().iterdir())
    assert run(arguments) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1, said.err
    assert said.err.startswith("maxmargin: ")
    assert "internal error" not in said.err
    assert set(Path().iterdir()) == before
    return said.err


def cells(made, section):
    found = next(one for one in made.sections if one.name == section)
    return {row[0]: row[1:] for part in found.parts if isinstance(part, Table) for row in part.rows}


def findings(made):
    found = next(one for one in made.sections if one.name == "findings")
    return [one for part in found.parts if isinstance(part, Findings) for one in part.found]


def test_the_command_writes_one_page_beside_nothing_else(here, capsys):
    capsys.readouterr()
    assert run(["report", "data.safetensors", "new.svm"]) == 0
    said = capsys.readouterr().out
    assert "50 rows of new.svm" in said
    assert "saved data.html" in said
    assert Path("data.html").read_text().startswith("<!doctype html>")
    assert run(["report", "data.safetensors", "new.svm", "-o", "other.html", "--png", "pictures"]) == 0
    pictures = sorted(path.name for path in Path("pictures").iterdir())
    assert {"roc.png", "margins.png", "boundary.png", "gap-seconds.png"} <= set(pictures)
    assert all(Path("pictures", name).read_bytes().startswith(b"\x89PNG") for name in pictures)


def test_a_model_alone_tells_how_it_was_trained(here, capsys):
    made = maxmargin.report("data.safetensors")
    rows = cells(made, "provenance")
    assert rows["trained by"] == ("maxmargin train data.svm -q --solver dual_coordinate",)
    assert rows["trained on"][0].startswith("data.svm, ")
    assert f"maxmargin {maxmargin.__version__}" in rows["versions of the training"][0]
    assert {"gap-seconds", "objective-epochs"} <= {figure.name for figure in made.figures}


def test_rows_of_the_training_are_told_from_new_ones_by_their_digest(here):
    assert any("rows of the training. On new rows" in one.what for one in findings(
        maxmargin.report("data.safetensors", "data.svm")))  # fmt: skip
    assert any("errors are those of new rows" in one.what for one in findings(
        maxmargin.report("data.safetensors", "new.svm")))  # fmt: skip


def test_the_page_goes_to_standard_output(here, capsys):
    capsys.readouterr()
    assert run(["report", "data.safetensors", "-o", "-"]) == 0
    assert capsys.readouterr().out.startswith("<!doctype html>")
    assert not Path("-").exists()


def test_files_and_arrays_tell_the_same(here):
    X, y = maxmargin.read("new.svm")
    one, other = maxmargin.report("data.safetensors", "new.svm"), maxmargin.report("data.safetensors", X, y)
    assert cells(one, "errors") == cells(other, "errors")
    accuracy = np.mean(maxmargin.load("data.safetensors").predict(X) == y)
    assert f"{100 * accuracy:.1f}% of 50 rows" in one.verdict.words


def test_tables_are_reported_by_the_names_of_their_columns(here):
    assert run(["train", "people.csv", "--label", "pays", "-q"]) == 0
    made = maxmargin.report("people.safetensors", "people.csv", projection=("age", "income"))
    assert any(figure.title == "age and income" for figure in made.figures)
    rows = cells(made, "weights")
    model = maxmargin.load("people.safetensors")
    age = next(one for one in model.training["encoder"]["columns"] if one["name"] == "age")
    assert float(rows["age"][2]) == pytest.approx(model.w[0, 0] / age["scale"], rel=1e-3)


def test_race_writes_a_page(here, capsys):
    arguments = ["race", "data.svm", "--solvers", "dual_coordinate,newton", "--max-epochs", "9", "-q"]
    assert run([*arguments, "--report", "race.html"]) == 0
    assert "saved race.html" in capsys.readouterr().out
    text = Path("race.html").read_text()
    assert "refused the problem" in text
    assert "maxmargin race data.svm" in text


def test_tune_writes_a_page_with_its_table(here, capsys):
    assert run(["tune", "data.svm", "--Cs", "0.1,1,10", "--folds", "3", "-q", "--report", "tuned.html"]) == 0
    assert "saved tuned.html" in capsys.readouterr().out
    made = maxmargin.report("data.safetensors")
    assert {"tuning"} <= {figure.name for figure in made.figures}
    assert cells(made, "provenance")["trained by"][0].startswith("maxmargin tune data.svm")
    assert len(next(one for one in made.sections if one.name == "tuning").parts[-1].rows) == 3


def found_of(tuned):
    """Return what a report finds out about a search, and what to do."""
    result = maxmargin.train([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    result.model.training["tuning"] = tuned.saved()
    return {
        one.what: (one.good, one.remedy) for one in findings(maxmargin.report(result)) if "The training" not in one.what
    }


def test_the_end_of_a_grid_is_a_finding_with_what_to_add():
    found = found_of(tuning())
    assert found == {
        "The best gamma, 0.1, is at the end of the grid. Values beyond it may be better.": (
            False, "Tune again, and add smaller values to gammas.",
        ),
    }  # fmt: skip


def test_a_best_value_inside_of_the_grid_needs_nothing():
    tuned = tuning()
    tuned.candidates = [one for one in tuned.candidates if one.gamma == 0.1]
    assert found_of(tuned) == {
        "The grid of C is wide enough: the best and the chosen value are not both at an end.": (True, ""),
    }


def test_a_search_of_one_setting_has_no_end():
    tuned = tuning()
    tuned.candidates = tuned.candidates[2:3]
    assert found_of(tuned) == {}


def test_settings_that_were_dropped_are_drawn_apart_without_a_standard_error():
    tuned = tuning()
    tuned.candidates[0].scores[2], tuned.candidates[0].dropped = None, "at most 0.8, less than C=1"
    result = maxmargin.train([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    result.model.training["tuning"] = tuned.saved()
    made = maxmargin.report(result)
    errors, line, complete, dropped, *_ = next(one for one in made.figures if one.name == "tuning").spec["layer"]
    every = {(C, f"γ = {gamma:g}") for C in (0.1, 1.0, 10.0) for gamma in (0.1, 1.0)}
    for layer, wanted in [(errors, every - {(0.1, "γ = 0.1")}), (line, every), (complete, every - {(0.1, "γ = 0.1")}),
                          (dropped, {(0.1, "γ = 0.1")})]:  # fmt: skip
        assert {(row["C"], row["group"]) for row in layer["data"]["values"]} == wanted
    assert "Open circles" in section(made, "tuning").parts[0].words


def test_a_search_that_ended_early_is_a_finding():
    tuned = tuning()
    tuned.ended = "time limit"
    assert "The search ended early (time limit): the choice is among what it had tried." in found_of(tuned)


def test_weights_and_the_boundary_of_a_scaled_model_are_those_of_its_rows():
    X, y = overlapping(n=120)
    X = X * np.array([100.0, 1.0, 0.01, 1.0, 5.0])[: X.shape[1]]
    model = maxmargin.train(X, y, scale=True).model
    w = np.array([one.weight for one in named_weights(model).itertuples()])
    assert np.allclose(model.decide(X) - model.decide(X[:1] * 0), X @ w)
    made = maxmargin.report(model, X, y)
    accuracy = np.mean(model.predict(X) == y)
    assert f"{100 * accuracy:.1f}% of 120 rows" in made.verdict.words
    spec = next(figure.spec for figure in made.figures if figure.name == "boundary")
    points = {int(one["note"].split(",")[0]): one["x"] for one in spec["layer"][-1]["data"]["values"]}
    assert np.allclose([points[k] for k in range(120)], model.decide(X), atol=1e-4)


def test_inspect_leaves_the_history_out(here, capsys):
    capsys.readouterr()
    assert run(["inspect", "data.safetensors"]) == 0
    assert "history" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.safetensors"], "nothing.safetensors"),
        (["data.svm"], "not a maxmargin model"),
        (["data.safetensors", "nothing.svm"], "nothing.svm"),
        (["data.safetensors", "people.csv"], "people.csv"),
        (["data.safetensors", "-o", "data.svm"], "is a text file, not an HTML page"),
        (["data.safetensors", "data.svm", "-o", "no/folder.html"], "does not exist"),
        (["data.safetensors", "-o", "data.safetensors"], "not an HTML page"),
        (["data.safetensors", "--projection", "a,b"], "projection needs rows"),
        (["data.safetensors", "data.svm", "--projection", "a"], "two different columns"),
        (["data.safetensors", "data.svm", "--projection", "a,b"], "is no column of the model"),
    ],
)
def test_what_cannot_be_reported_is_refused_in_one_line(here, capsys, arguments, words):
    assert words in fails(["report", *arguments], capsys)


def test_another_files_labels_are_refused(here, capsys):
    Path("pets.svm").write_text("cat 1:1\ndog 2:1\n" * 20)
    assert "none of the model's classes" in fails(["report", "data.safetensors", "pets.svm"], capsys)


def test_without_the_extra_one_line_says_what_to_install(here, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert "pip install 'maxmargin[report]'" in fails(["report", "data.safetensors"], capsys)


def test_a_folder_for_pictures_that_is_a_file_is_refused(here, capsys):
    with pytest.raises(FileError, match="cannot make this folder"):
        maxmargin.report("data.safetensors").save_pictures("data.svm")


def test_a_bad_folder_for_pictures_is_noticed_before_the_page_is_written(here, capsys):
    assert "cannot make this folder" in fails(["report", "data.safetensors", "--png", "data.svm"], capsys)


def test_a_projection_that_cannot_be_drawn_is_not_ignored():
    X = np.random.default_rng(0).normal(size=(100, 2))
    result = maxmargin.train(X, np.arange(100) % 10)
    with pytest.raises(ParameterError, match="no picture of its boundary"):
        maxmargin.report(result, X, np.arange(100) % 10, projection=("feature 1", "feature 2"))


def test_arguments_that_do_not_fit_together_are_refused():
    X, y = overlapping(n=60)
    result = maxmargin.train(X, y)
    with pytest.raises(ParameterError, match="takes a result of train"):
        maxmargin.report(3)
    with pytest.raises(ParameterError, match="X no rows"):
        maxmargin.report(result, y=y)
    with pytest.raises(DataError, match="y is missing"):
        maxmargin.report(result, X)
    with pytest.raises(DataError, match="features"):
        maxmargin.report(result, np.hstack([X, X]), y)
    with pytest.raises(DataError, match="0 rows"):
        maxmargin.report(result, X[:0], y[:0])


def test_findings_name_what_is_wrong_and_what_to_do():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * [1.0, 1.0, 1e4]
    X = np.vstack([X, X[:40]])
    y = np.where(np.arange(340) % 34 == 0, "rare", "usual")
    made = maxmargin.report(maxmargin.train(X, y, max_epochs=1, solver="sgd", tol=1e-9), X, y)
    wrong = {one.what: one.remedy for one in findings(made) if one.good is False}
    for words, remedy in {
        "did not reach the gap": "max_epochs",
        "very different scales": "--scale",
        "repeat an earlier one": "one side",
        "classes are rare": "--class-weight balanced",
    }.items():
        assert any(words in what and remedy in told for what, told in wrong.items()), words


def test_labels_that_the_model_does_not_know_are_left_out_and_named():
    X, y = overlapping(n=80)
    result = maxmargin.train(X, y)
    strange = y.copy()
    strange[:7] = 5
    made = maxmargin.report(result, X, strange)
    assert any("7 rows have labels" in one.what and "“5”" in one.what for one in findings(made))


@pytest.mark.parametrize("keep", [1, 2, 5])
def test_few_rows_or_one_class_are_reported(keep):
    X, y = overlapping(n=80)
    result = maxmargin.train(X, y)
    order = np.argsort(y, kind="stable")[:keep]
    assert maxmargin.report(result, X[order], y[order]).html()


@pytest.mark.parametrize("given", [{"loss": "logistic"}, {"kernel": "gaussian", "approx": "nystrom", "components": 20},
                                   {"expand": "poly2"}, {"C": np.inf, "max_epochs": 2}])  # fmt: skip
def test_every_kind_of_model_has_a_report(given):
    X, y = overlapping(n=90)
    assert maxmargin.report(maxmargin.train(X, y, **given), X, y).html()


@pytest.mark.parametrize("estimator", [maxmargin.LinearSVC(), maxmargin.SVC()])
def test_a_fitted_estimator_has_a_report(estimator):
    X, y = overlapping(n=90)
    names = np.where(y > 0, "up", "down")
    made = maxmargin.report(estimator.fit(X, names), X, names)
    assert f"{100 * estimator.score(X, names):.1f}% of 90 rows" in made.verdict.words
    assert cells(made, "errors")["up"][0] == f"{np.count_nonzero(y > 0)}"


@pytest.mark.parametrize("kind", ["libsvm", "liblinear"])
def test_models_of_other_programs_have_a_report(kind, tmp_path):
    X, y = overlapping(n=90)
    model = maxmargin.train(X, y, kernel="gaussian" if kind == "libsvm" else None).model
    {"libsvm": maxmargin.write_libsvm_model, "liblinear": maxmargin.write_liblinear_model}[kind](model, tmp_path / "m")
    made = maxmargin.report(tmp_path / "m", X, y)
    assert "no certificate" in made.verdict.words
    assert any("not trained by maxmargin" in one.what for one in findings(made))
    assert made.html()


def test_the_areas_of_several_classes_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = rng.normal(size=(200, 2)) + np.column_stack([y == 1, y == 2])
    model = maxmargin.train(X, y).model
    rows = cells(maxmargin.report(model, X, y), "ranking")
    for k, name in enumerate("012"):
        assert float(rows[name][1]) == pytest.approx(roc_auc_score(y == k, model.decide(X)[:, k]), abs=1e-4)


def test_a_precomputed_kernel_has_a_report():
    X, y = overlapping(n=60)
    K = X @ X.T
    made = maxmargin.report(maxmargin.train(K, y, kernel="precomputed"), K, y)
    assert "boundary" not in {figure.name for figure in made.figures}


def test_sparse_rows_with_many_columns_have_a_report():
    from scipy import sparse

    X = sparse.random_array((200, 50_000), density=1e-3, rng=np.random.default_rng(0), format="csr")
    y = np.arange(200) % 2
    made = maxmargin.report(maxmargin.train(X, y), X, y)
    assert len(made.html()) < 3_000_000
    assert any("50,000 features" in one.what for one in findings(made))


ODD = [None, "x", NASTY, -1, [1], {"a": 1}, np.inf, 1e300, 10**30]


@pytest.mark.parametrize("key", ["task", "tol", "epochs", "nu", "epsilon", "C", "loss", "command", "versions", "data",
                                 "status", "solver", "history", "tuning"])  # fmt: skip
def test_what_a_model_file_says_of_itself_is_not_trusted(key):
    X, y = overlapping(n=60)
    models = [maxmargin.train(X, y).model, maxmargin.train(X, X[:, 0], task="regress", tol=1e-2).model]
    for model, labels in zip(models, (y, X[:, 0]), strict=True):
        known = dict(model.training)
        for value in ODD:
            model.training = {**known, key: value}
            with suppress(FileError):  # one clear line
                assert "<script>window.hacked" not in maxmargin.report(model, X, labels).html()


def section(made, name):
    return next(one for one in made.sections if one.name == name)


def test_classes_are_calibrated_one_against_the_rest():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 300)]
    X = rng.normal(size=(300, 2)) + np.column_stack([y == "b", y == "c"])
    model = maxmargin.train(X, y, probability=True).model
    made, chances = maxmargin.report(model, X, y), model.probabilities(X)
    rows = cells(made, "calibration")
    for k, name in enumerate("abc"):
        assert rows[name][:2] == (f"{100 * chances[:, k].mean():.1f}%", f"{100 * np.mean(y == name):.1f}%")
    said = section(made, "calibration").parts[0].words
    right = np.mean(model.predict(X) == y)
    assert f"{100 * right:.1f}% of the predictions are right" in said
    told = next(one for one in made.figures if one.name == "class-calibration").alternative
    assert all(f"“{name}”, mean distance" in told for name in "abc")


def test_only_the_worst_of_many_classes_are_drawn():
    made = report_of("many classes")
    rows = cells(made, "calibration")
    assert len(rows) == 8
    assert "Of 10 classes, the 8" in section(made, "calibration").parts[-1].words


def test_classes_without_probabilities_have_no_calibration():
    made = report_of("multiclass")
    assert "calibration" not in {one.name for one in made.sections}


def test_margins_of_a_kernel_model_of_several_classes_are_counted_by_class():
    made = report_of("kernel of classes")
    X, y = rings(3)
    model = maxmargin.train(X, y, kernel="gaussian").model
    by_class = [part for part in section(made, "margins").parts if isinstance(part, Table)][-1]
    assert [row[0] for row in by_class.rows] == model.classes.tolist()
    assert [sum(map(int, row[1:4])) for row in by_class.rows] == [np.sum(y == name) for name in model.classes]
    assert [int(row[4]) for row in by_class.rows] == model.n_support.tolist()
    wrong = np.count_nonzero(model.predict(X) != y)
    assert sum(int(row[3]) for row in by_class.rows) == wrong
    support = cells(made, "margins")
    assert sum(int(support[name][2]) for name in KINDS) == len(model.support)
    assert support[KINDS[2]][2] == f"{wrong}"


def test_columns_of_different_scales_are_found_unless_the_model_scales_them():
    X, y = overlapping(n=120)
    X = X * np.array([1.0, 1.0, 1e4, 1.0, 1.0])
    for scale, found in ((False, True), (True, False)):
        made = findings(maxmargin.report(maxmargin.train(X, y, scale=scale, max_epochs=50), X, y))
        assert any("very different scales" in one.what for one in made) == found
        assert any("--scale" in one.remedy for one in made) == found
