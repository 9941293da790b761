"""docs/migrating.md and the docstrings name every parameter, beside those of scikit-learn's classes."""

import inspect
import re
from pathlib import Path

import pytest
import sklearn.svm

import maxmargin

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "migrating.md").read_text("utf-8")
NAMES = ("LinearSVC", "SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
HERE = ("same", "different", "not there", "added")
estimators = pytest.mark.parametrize("name", NAMES)


def parameters(module, name):
    return inspect.signature(getattr(module, name)).parameters


def table(name):
    """The rows of an estimator's table: parameter, word."""
    section = PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| ([\w ]+) \|", section, re.MULTILINE))


def theirs_of(name):
    theirs = parameters(sklearn.svm, name)
    if not set(theirs) <= set(table(name)):
        pytest.skip(f"scikit-learn {sklearn.__version__} has other parameters than 1.9")
    return theirs


@estimators
def test_scikit_learns_parameters_come_first_and_in_its_order(name):
    theirs, ours = theirs_of(name), parameters(maxmargin, name)
    assert [(key, ours[key].kind) for key in list(ours)[: len(theirs)]] == [(key, theirs[key].kind) for key in theirs]
    assert all(ours[key].kind is inspect.Parameter.KEYWORD_ONLY for key in set(ours) - set(theirs))


@estimators
def test_the_table_has_every_parameter(name):
    theirs, ours, found = theirs_of(name), parameters(maxmargin, name), table(name)
    assert list(found) == list(ours)
    assert set(found.values()) <= set(HERE)
    assert {key for key, word in found.items() if word == "added"} == set(ours) - set(theirs)


@estimators
def test_what_is_called_the_same_has_the_same_default(name):
    theirs, ours = theirs_of(name), parameters(maxmargin, name)
    for key, word in table(name).items():
        if word == "same" and key in theirs:
            if key == "probability" and theirs[key].default is False:
                continue  # before scikit-learn 1.9
            assert ours[key].default == theirs[key].default, key


@estimators
def test_the_docstring_has_every_parameter_with_its_default(name):
    text = inspect.getdoc(getattr(maxmargin, name)).split("Parameters\n")[1].split("Attributes\n")[0]
    found = dict(re.findall(r"^(\w+) : .*default=(.+)$", text, re.MULTILINE))
    expected = {key: one.default for key, one in parameters(maxmargin, name).items()}
    assert {key: eval(value) for key, value in found.items()} == expected


@estimators
def test_the_docstring_has_every_attribute(name):
    rows = [[0.0], [1.0], [2.0], [3.0]]
    fitted = getattr(maxmargin, name)().fit(rows, [0, 0, 1, 1])
    text = inspect.getdoc(type(fitted)).split("Attributes\n")[1].split("Examples\n")[0]
    public = {key for key in vars(fitted) if key.endswith("_") and not key.startswith("_")}
    assert {key for key in public if not re.search(rf"\b{key}\b", text)} == set()
