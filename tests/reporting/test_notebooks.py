"""What notebooks show: small tables, pictures, weights with names, progress."""

import sys
import types

import numpy as np
import pandas as pd
import polars
import pytest
from subjects import NASTY, table

import maxmargin
from maxmargin.errors import MaxmarginError, ParameterError


@pytest.fixture(scope="module")
def result():
    return maxmargin.train(table(), label="pays", solver="dual_coordinate", tol=1e-6)


def test_a_result_and_its_model_are_shown_as_tables(result):
    for shown in (result._repr_html_(), result.model._repr_html_()):
        assert shown.startswith("<table>")
        assert "no, yes" in shown
        assert "<script" not in shown
        assert len(shown) < 2000
    assert "converged after" in result._repr_html_()


@pytest.mark.parametrize(
    "given", [{"kernel": "gaussian"}, {"kernel": "gaussian", "approx": "nystrom"}, {"max_epochs": 1}]
)
def test_every_model_is_shown_with_its_names_escaped(given):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), np.where(np.arange(80) % 2, NASTY, "b")
    result = maxmargin.train(X, y, **given)
    for shown in (result._repr_html_(), result.model._repr_html_()):
        assert "&lt;script&gt;" in shown
        assert "<script" not in shown


def test_regression_and_novelty_are_shown():
    X = np.random.default_rng(0).normal(size=(40, 2))
    assert "support vectors" in maxmargin.train(X, X[:, 0], task="regress")._repr_html_()
    assert "classes" not in maxmargin.train(X, task="novelty")._repr_html_()


def test_pictures_are_shown_and_saved(result, tmp_path):
    assert result.plot()._repr_svg_().startswith("<svg")
    assert "relative gap" in result.plot("gap-epochs")._repr_svg_()
    assert result.model.plot().figure.name == "weights"
    frame = table(seed=3)
    picture = result.plot("roc", frame)
    assert picture.figure.name == "roc"
    picture.save(tmp_path / "roc.png")
    assert (tmp_path / "roc.png").read_bytes().startswith(b"\x89PNG")
    picture.save(tmp_path / "roc.svg")
    assert (tmp_path / "roc.svg").read_text().startswith("<svg")
    with pytest.raises(ParameterError, match=r"ends in \.svg or \.png"):
        picture.save(tmp_path / "roc.gif")


def test_a_picture_that_is_not_there_names_those_that_are(result):
    with pytest.raises(ParameterError, match="the report has weights, objective-seconds"):
        result.plot("roc")


def test_weights_have_names_and_units(result):
    found = result.weights()
    assert isinstance(found, pd.DataFrame)
    age = found[found.feature == "age"].iloc[0]
    encoded = next(one for one in result.model.training["encoder"]["columns"] if one["name"] == "age")
    assert age.weight == result.model.w[0, 0]
    assert age.in_units == pytest.approx(age.weight / encoded["scale"])
    assert set(found[found.column == "town"].feature) == {"town=Basel", "town=Bern", "town=Chur"}
    assert len(found) == result.model.d


def test_a_unit_more_of_a_column_changes_the_decision_by_its_weight(result):
    found = result.weights().set_index("feature").in_units
    frame = table().drop(columns="pays").head(3)
    frame["age"], more = 40.0, frame.assign(age=41.0)
    assert np.allclose(result.model.decide(more) - result.model.decide(frame), found["age"])


def test_weights_are_a_frame_of_the_library_that_is_used(result, monkeypatch):
    monkeypatch.delitem(sys.modules, "pandas")
    monkeypatch.setitem(sys.modules, "polars", polars)
    assert isinstance(result.weights(), polars.DataFrame)
    monkeypatch.delitem(sys.modules, "polars")
    found = result.weights()
    assert isinstance(found, list)
    assert found[0]._fields == ("column", "feature", "label", "weight", "in_units")


def test_weights_of_several_classes_name_the_class():
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3
    found = maxmargin.train(X, y).weights()
    assert len(found) == 6
    assert found.label.unique().tolist() == ["0", "1", "2"]


def test_weights_of_a_linear_kernel_are_those_of_its_decision():
    X = np.random.default_rng(0).normal(size=(50, 3))
    for given in ({"y": X[:, 0] > 0}, {"y": X[:, 0], "task": "regress"}):
        result = maxmargin.train(X, kernel="linear", **given)
        w = result.weights().weight.to_numpy()
        assert np.allclose(result.model.decide(X) - result.model.decide(np.zeros((1, 3))), X @ w)


def test_models_without_weights_say_so():
    X = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.raises(MaxmarginError, match="no weights for single columns"):
        maxmargin.train(X, X[:, 0] > 0, kernel="gaussian").weights()


def test_progress_prints_lines_outside_of_a_notebook(capsys):
    maxmargin.train(table(), label="pays", callback=maxmargin.progress(1e-3), tol=1e-3)
    said = capsys.readouterr().err
    assert "gap" in said
    assert "epoch" in said


def test_progress_updates_a_bar_in_a_notebook(monkeypatch, capsys):
    shown = []
    handle = types.SimpleNamespace(update=shown.append)
    display = types.SimpleNamespace(display=lambda *_, **__: handle)
    shell = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(kernel=1), display=display)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    maxmargin.train(table(), label="pays", callback=maxmargin.progress(1e-3), tol=1e-3)
    assert capsys.readouterr().err == ""
    assert shown[-1]._repr_html_().startswith('<progress max="1" value="1.000"')


def test_progress_checks_its_tolerance():
    with pytest.raises(ParameterError, match="between 0 and 1"):
        maxmargin.progress(2.0)
