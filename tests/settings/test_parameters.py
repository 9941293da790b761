"""Every parameter is declared once, checked wherever it is given, and never silently ignored."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import typer
from problems import overlapping

import maxmargin
from maxmargin import ParameterError
from maxmargin.cli import run
from maxmargin.cli.train import train as command
from maxmargin.estimators.base import NEEDS, OWN, TRANSLATION, unchanged
from maxmargin.settings.checks import CHECKS
from maxmargin.settings.parameters import IN_A_RACE, PARAMETERS, is_given
from maxmargin.settings.rules import RULES

ONLY_PYTHON = {"callback", "warm"}
ESTIMATORS = [
    maxmargin.LinearSVC, maxmargin.SVC, maxmargin.NuSVC, maxmargin.SVR, maxmargin.NuSVR, maxmargin.OneClassSVM,
]  # fmt: skip
ONLY_COMMAND = {"file", "out", "labels", "model", "folds", "quiet", "json", "config"}
WRONG = {
    "task": "cluster", "nu": 2.0, "epsilon": -0.1, "class_weight": "heavy",
    "loss": "huber", "C": -1.0, "lam": -1.0, "bias": "maybe", "bias_scale": -1.0, "weights": [1.0], "expand": "poly9",
    "gamma": -3, "sigma": 0.0, "degree": 0, "coef0": "one", "cache": -1, "probability": "yes",
    "approx": "taylor", "components": -1, "landmarks": "nearest", "solver": "magic", "options": [1], "tol": 0.0,
    "max_seconds": -1.0, "max_epochs": 0, "seed": -1, "threads": 0, "callback": 3, "resume": 1, "force": "no",
    "warm": 3, "memory": "lots", "label": 3, "encode": "maybe", "columns": "a", "drop": 3,
    "kinds": {"a": "word"}, "scale": "yes", "zero_based": 1, "on_bad_line": "nonsense", "kernel": "magic",
    "checkpoint": "no/checkpoint/here", "client": "nowhere", "timeout": -1.0,
}  # fmt: skip
MISPLACED = [
    ({"gamma": 0.5}, "gamma needs a kernel: add kernel='gaussian'"),
    ({"sigma": 0.5}, "sigma needs a kernel: add kernel='gaussian'"),
    ({"degree": 2}, "degree needs a kernel: add kernel='polynomial'"),
    ({"coef0": 1.0}, "coef0 needs a kernel: add kernel='polynomial'"),
    ({"cache": 100}, "cache needs a kernel: add kernel='gaussian'"),
    ({"degree": 2, "kernel": "gaussian"}, "degree has no meaning for kernel='gaussian'"),
    ({"gamma": 0.5, "kernel": "linear"}, "gamma has no meaning for kernel='linear'"),
    ({"gamma": 0.5, "kernel": lambda X, Z: X @ Z.T}, "gamma has no meaning for kernel=a function"),
    ({"gamma": 0.5, "sigma": 1.0, "kernel": "rbf"}, "sigma and gamma say the same thing"),
    ({"cache": 100, "kernel": "rbf", "approx": "fourier"}, "cache has no meaning for approx='fourier'"),
    ({"components": 100}, "components needs approx='nystrom' or 'fourier'"),
    ({"components": 100, "kernel": "rbf"}, "components needs approx='nystrom' or 'fourier'"),
    ({"landmarks": "kmeans", "kernel": "rbf", "approx": "fourier"}, "landmarks needs approx='nystrom'"),
    ({"approx": "fourier"}, "approx needs a kernel: add kernel='gaussian'"),
    ({"probability": True, "loss": "logistic"}, "probability has no effect for loss='logistic'"),
    ({"probability": True, "task": "regress"}, "probability has no meaning for task='regress'"),
    ({"nu": 0.5}, "nu needs a kernel: add kernel='gaussian'"),
    ({"nu": 0.5, "kernel": "rbf", "C": 2.0}, "C has no meaning beside nu"),
    ({"nu": 0.5, "kernel": "rbf", "approx": "fourier"}, "nu has no meaning for approx='fourier'"),
    ({"nu": 0.5, "kernel": "rbf", "bias": "none"}, "bias has no meaning beside nu"),
    ({"epsilon": 0.5}, "epsilon has no meaning for task='classify': leave it out, or take task='regress'"),
    ({"epsilon": 0.5, "nu": 0.5, "task": "regress"}, "epsilon has no meaning beside nu"),
    ({"task": "regress", "loss": "logistic"}, "loss has no meaning for task='regress'"),
    ({"task": "novelty", "C": 2.0}, "C has no meaning for task='novelty'"),
    ({"task": "novelty", "bias": "none"}, "bias has no meaning for task='novelty'"),
    ({"task": "regress", "class_weight": "balanced"}, "class_weight has no meaning for task='regress'"),
    ({"task": "regress", "approx": "fourier", "kernel": "rbf"}, "approx has no meaning for task='regress'"),
    ({"task": "regress", "expand": "poly2"}, "expand has no meaning for task='regress'"),
    ({"task": "regress", "C": float("inf")}, "C=inf is not for kernels"),
    ({"bias_scale": 2.0}, "bias_scale needs bias='regularised'"),
    ({"options": {"batch": 2}}, "options needs a solver by name"),
    ({"force": True}, "force needs checkpoint=PATH"),
    ({"resume": True}, "resume needs checkpoint=PATH"),
    ({"timeout": 10.0}, "timeout is for a cluster: add client= (--cluster)"),
    ({"scale": True, "kernel": "precomputed"}, "scale has no meaning for kernel='precomputed'"),
    ({"memory": "1GB"}, "memory is for files, and X is none"),
    ({"label": "y"}, "label is for tables, and X is none"),
    ({"encode": "none"}, "encode is for tables, and X is none"),
    ({"columns": ["a"]}, "columns is for tables, and X is none"),
    ({"zero_based": True}, "zero_based is for files, and X is none"),
    ({"on_bad_line": "skip"}, "on_bad_line is for files, and X is none"),
]


def named(item):
    """An id that is the same in every process."""
    return item if isinstance(item, str) else " ".join(item)


def test_the_signature_of_train_is_the_declaration():
    found = {name: item.default for name, item in inspect.signature(maxmargin.train).parameters.items()}
    del found["X"], found["y"]
    assert found == {name: parameter.default for name, parameter in PARAMETERS.items()}


def test_the_command_line_has_every_parameter_with_its_default():
    found = dict(inspect.signature(command).parameters)
    assert set(found) - ONLY_COMMAND == set(PARAMETERS) - ONLY_PYTHON
    for name in set(found) - ONLY_COMMAND:
        assert found[name].default == PARAMETERS[name].default, name


def test_the_command_line_says_the_declared_sentence():
    for name, item in inspect.signature(command, eval_str=True).parameters.items():
        if name not in ONLY_COMMAND:
            option = next(one for one in item.annotation.__metadata__ if isinstance(one, typer.models.OptionInfo))
            assert option.help == PARAMETERS[name].help


def test_the_page_of_train_lists_every_parameter():
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
    table = page[page.index("| parameter |") : page.index("Every value is checked")]
    assert set(re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in table.splitlines() if line))) == {
        "X", "y", *PARAMETERS,
    }  # fmt: skip


def test_rules_and_checks_are_of_parameters():
    assert set(CHECKS) | set(RULES) | set(IN_A_RACE) | set(NEEDS) <= set(PARAMETERS)
    assert set(WRONG) == set(PARAMETERS)
    assert {parameter.group for parameter in PARAMETERS.values()} == {"problem", "kernel", "run", "files"}


def race(X, y, **given):
    return maxmargin.race(X, y, solvers=["dual_coordinate"], **given)


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("door", [maxmargin.train, maxmargin.path, race])
def test_a_wrong_value_is_refused_whether_it_is_used_or_not(name, door):
    X, y = overlapping()
    with pytest.raises(maxmargin.MaxmarginError, match=name) as caught:
        door(X, y, **{name: WRONG[name]})
    assert "\n" not in str(caught.value)


def parameters_of(estimator):
    """The parameters of an estimator that `train` has too, with their names there and their defaults translated."""
    found = {}
    for name, item in inspect.signature(estimator).parameters.items():
        known, translated = TRANSLATION.get(name, (name, unchanged))
        if name not in OWN:
            found[name] = (known, translated(item.default))
    return found


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_parameters_of_estimators_are_those_of_train(estimator):
    for name, (known, default) in parameters_of(estimator).items():
        expected = {"kernel": "rbf", "nu": 0.5, "loss": "squared_hinge"}.get(known, PARAMETERS[known].default)
        assert default == expected, name


@pytest.mark.parametrize(
    ("estimator", "name"), [(one, name) for one in ESTIMATORS for name in parameters_of(one) if name != "checkpoint"],
    ids=lambda item: item if isinstance(item, str) else item.__name__,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
def test_estimators_refuse_wrong_values_in_one_line(estimator, name):
    X, y = overlapping()
    known, _ = parameters_of(estimator)[name]
    with pytest.raises(maxmargin.MaxmarginError, match=name) as caught:
        estimator(**{name: 0 if name == "max_iter" else WRONG[known]}).fit(X, y)
    assert "\n" not in str(caught.value)


WRONG_OPTIONS = {
    "options": "batch", "class_weight": "heavy", "coef0": None, "degree": "0", "label": None, "probability": None,
    "encode": "maybe", "columns": None, "drop": None, "kinds": "a=word",
    "resume": None, "force": None, "zero_based": None, "scale": None, "C": "-1", "checkpoint": "no/checkpoint/here",
}  # values as they are typed; None: the option parser takes no wrong one  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(WRONG) - ONLY_PYTHON))
def test_the_command_line_refuses_wrong_values_in_one_line(name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = overlapping()
    maxmargin.write("t.svm", X, y)
    value = WRONG_OPTIONS.get(name, str(WRONG[name]))
    if value is None:
        pytest.skip("every value that the option parser takes is fine")
    flag = (PARAMETERS[name].flags or (f"--{name.replace('_', '-')}",))[-1]
    assert run(["train", "t.svm", f"{flag}={value}"]) == 1
    said = capsys.readouterr().err.strip()
    assert name.replace("_", "-") in said.replace("_", "-")
    assert "\n" not in said


@pytest.mark.parametrize(
    ("given", "reason"), MISPLACED, ids=lambda item: item if isinstance(item, str) else " ".join(item)
)
def test_a_parameter_without_meaning_is_refused_with_the_reason(given, reason):
    X, y = overlapping()
    with pytest.raises(ParameterError, match=re.escape(reason)):
        maxmargin.train(X, y, **given)


@pytest.mark.parametrize(
    ("given", "reason"),
    [pair for pair in MISPLACED if "resume" not in pair[0]],
    ids=lambda item: item if isinstance(item, str) else " ".join(item),
)
def test_a_path_refuses_the_same(given, reason):
    X, y = overlapping()
    reason = next((f"path takes no {name}" for name in ("C", "force") if name in given), reason)
    with pytest.raises(ParameterError, match=re.escape(reason)):
        maxmargin.path(X, y, **given)


@pytest.mark.parametrize("value", [np.float32(0.5), np.float64(0.5), np.int64(1), 1])
def test_numbers_of_numpy_are_numbers(value):
    X, y = overlapping()
    assert maxmargin.train(X, y, C=value, tol=np.float32(1e-3)).certificate.relative_gap <= 1e-3
    assert maxmargin.train(X, y, kernel="gaussian", gamma=value).certificate.relative_gap <= 1e-4


@pytest.mark.parametrize(
    "name", ["C", "lam", "tol", "gamma", "sigma", "coef0", "cache", "seed", "threads", "max_epochs"]
)
def test_a_truth_value_is_no_number(name):
    X, y = overlapping()
    with pytest.raises(ParameterError, match=name):
        maxmargin.train(X, y, **{name: True})


def table_file(path):
    X, y = overlapping()
    lines = ["a,b,c,d,e,outcome", *(",".join(map(str, [*row, label])) for row, label in zip(X, y, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_path_reads_a_table_as_train_does(tmp_path):
    file = table_file(tmp_path / "t.csv")
    results = maxmargin.path(file, label="outcome", Cs=[0.1, 1.0])
    assert [result.model.d for result in results] == [5, 5]
    assert results[1].certificate.primal == pytest.approx(
        maxmargin.train(file, label="outcome").certificate.primal, rel=1e-3
    )


def test_what_a_file_has_no_use_for_is_refused(tmp_path):
    X, y = overlapping()
    maxmargin.write(tmp_path / "t.svm", X, y)
    with pytest.raises(ParameterError, match="label='outcome' names a column of a table"):
        maxmargin.train(tmp_path / "t.svm", label="outcome")
    with pytest.raises(ParameterError, match="zero_based is for rows that name their columns"):
        maxmargin.train(table_file(tmp_path / "t.csv"), label="outcome", zero_based=True)


def test_the_command_line_refuses_in_one_line(tmp_path, capsys):
    X, y = overlapping()
    maxmargin.write(tmp_path / "t.svm", X, y)
    assert run(["train", str(tmp_path / "t.svm"), "--gamma", "0.5", "-m", str(tmp_path / "m")]) == 1
    assert "gamma needs a kernel: add kernel='gaussian'" in capsys.readouterr().err


def test_an_unknown_name_is_an_unexpected_argument():
    X, y = overlapping()
    for door in (maxmargin.train, maxmargin.path, race):
        with pytest.raises(TypeError, match="unexpected keyword argument 'gama'"):
            door(X, y, gama=1.0)


@pytest.mark.parametrize("given", [
    {"bias_scale": np.float64(1.0)}, {"zero_based": np.False_}, {"force": np.False_}, {"options": {}},
    {"kernel": "gaussian", "degree": np.int64(3), "coef0": np.float64(0.0), "gamma": np.str_("scale")},
    {"components": np.int64(500)},
], ids=named)  # fmt: skip
def test_a_default_of_numpy_counts_as_not_given(given):
    X, y = overlapping()
    assert maxmargin.train(X, y, **given).certificate.relative_gap <= 1e-4


@pytest.mark.parametrize(
    "name", ["landmarks", "on_bad_line", "approx", "bias", "loss", "zero_based", "solver", "kernel"]
)
def test_an_array_is_refused_in_one_line_where_it_is_no_value(name):
    X, y = overlapping()
    with pytest.raises(ParameterError, match=name):
        maxmargin.train(X, y, **{name: np.arange(3)})


def test_a_grid_over_intercepts_may_have_scales_for_all_of_them():
    X, y = overlapping()
    assert maxmargin.LinearSVC(fit_intercept=False, intercept_scaling=10.0).fit(X, y).certificate_.relative_gap <= 1e-4


@pytest.mark.parametrize("d", ["a", 9.5, -1, True])
def test_read_refuses_what_is_no_number_of_features(tmp_path, d):
    with pytest.raises(ParameterError, match="d="):
        maxmargin.read(table_file(tmp_path / "t.csv"), label="outcome", d=d)


def test_read_refuses_what_is_no_truth_value(tmp_path):
    with pytest.raises(ParameterError, match="zero_based='no' must be True or False"):
        maxmargin.read(table_file(tmp_path / "t.csv"), label="outcome", zero_based="no")


def test_a_path_needs_features_for_a_kernel():
    X, y = overlapping()
    with pytest.raises(ParameterError, match="path is for linear models"):
        maxmargin.path(X, y, kernel="gaussian")
    assert len(maxmargin.path(X, y, kernel="gaussian", approx="nystrom", Cs=[0.1, 1.0])) == 2


def test_a_default_counts_as_not_given():
    assert not is_given("gamma", "scale")
    assert not is_given("C", 1)
    assert is_given("gamma", 1.0)
    assert is_given("zero_based", True)


def test_read_opens_what_train_opens(tmp_path):
    X, y = overlapping()
    found, labels = maxmargin.read(table_file(tmp_path / "t.csv"), label="outcome", encode="none")
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, y)
    np.save(tmp_path / "a.npy", X)
    found, labels = maxmargin.read(tmp_path / "a.npy", y)
    np.testing.assert_array_equal(found, X)
    maxmargin.write(tmp_path / "t.svm", X, y)
    found, labels = maxmargin.read(tmp_path / "t.svm", d=7)
    assert found.shape == (len(X), 7)
    found.data[0] = 3.0  # what is read belongs to the caller
    with pytest.raises(maxmargin.DataError, match="5 features: more than d=4"):
        maxmargin.read(tmp_path / "t.csv", label="outcome", d=4, encode="none")


def test_inspect_opens_what_train_opens(tmp_path, capsys):
    assert run(["inspect", str(table_file(tmp_path / "t.csv")), "--label", "outcome"]) == 0
    said = capsys.readouterr().out
    assert "rows             60" in said
    assert "features         5" in said


@pytest.mark.parametrize(("solver", "name"), [("gradient_descent", "step"), ("lbfgs", "memory"), ("sgd", "step")])
def test_options_of_solvers_are_numbers_and_no_truth_values(solver, name):
    X, y = overlapping()
    with pytest.raises(ParameterError, match=f"{name}=True"):
        maxmargin.train(X, y, solver=solver, loss="logistic", options={name: True})


def test_options_of_solvers_may_be_numbers_of_numpy():
    X, y = overlapping()
    for solver, options in (("gradient_descent", {"step": np.float32(0.5)}), ("lbfgs", {"memory": np.int64(5)})):
        result = maxmargin.train(X, y, solver=solver, loss="logistic", options=options, max_epochs=200)
        assert result.certificate.relative_gap < 0.5
