"""Options of LIBSVM and LIBLINEAR are understood, with a note, or refused with a remedy; never silently different."""

from pathlib import Path

import numpy as np
import pytest
from problems import overlapping
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, LinearSVC, LinearSVR

import maxmargin
from maxmargin.cli import run
from maxmargin.cli.app import options_with_values
from maxmargin.cli.libsvm_habits import rewritten


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = overlapping(n=120)
    maxmargin.write("data.svm", X, y.astype(int))
    return tmp_path


LINEAR = "(a solver type of LIBLINEAR; svm types of LIBSVM need -t)"
BECOMES = [
    ("-s 0", "--loss logistic --bias none"),
    ("-s 1", "--loss squared_hinge --bias none"),
    ("-s 2 -B 1", "--loss squared_hinge --bias regularised --bias-scale 1"),
    ("-s 2 -B -1", "--loss squared_hinge --bias none"),
    ("-s 3 -B 1 -R", "--loss hinge --bias free"),
    ("-s 3 --bias free", "--loss hinge --bias free"),
    ("-s 7", "--loss logistic --bias none"),
    ("-s 13 -p 0.2", "--task regress --bias none --epsilon 0.2"),
    ("-s 21 -n 0.2", "--task novelty --nu 0.2"),
    ("-t 0", "--kernel linear"),
    ("-t 1 -d 2 -r 1 -g 0.5", "--kernel polynomial --gamma 0.5 --degree 2 --coef0 1"),
    ("-t 2", "--kernel gaussian --gamma auto"),
    ("-t 2 --sigma 2", "--kernel gaussian --sigma 2"),
    ("-t 3 -g 0", "--kernel sigmoid --gamma auto"),
    ("-g 0.5", "--kernel gaussian --gamma 0.5"),
    ("--kernel rbf -g 0.5", "--gamma 0.5 --kernel rbf"),
    ("-s 0 -t 2 -g 1", "--kernel gaussian --gamma 1 --task classify"),
    ("-s 1 -t 0", "--kernel linear --task classify --nu 0.5"),
    ("-s 1 -t 0 -n 0.3", "--kernel linear --task classify --nu 0.3"),
    ("-s 2 -t 0 -n 0.3", "--kernel linear --task novelty --nu 0.3"),
    ("-s 3 -t 0 -p 0.3", "--kernel linear --task regress --epsilon 0.3"),
    ("-s 4 -t 0", "--kernel linear --task regress --nu 0.5"),
    ("-t 0 -m 200 -b 1", "--kernel linear --cache 200 --probability"),
    ("-n 0.3 --task novelty", "--nu 0.3 --task novelty"),
    ("-e 0.01 -b 0", "--tol 0.01"),
    ("-w1 2 -w-1 0.5 -wspam 3", "--class-weight 1=2,-1=0.5,spam=3"),
    ("-w+1 2 -w1.0 4", "--class-weight 1=2,1=4"),
    ("-s 2 -s 3", "--loss hinge --bias none"),
    ("-m model", "-m model"),
    ("--label -s", "--label -s"),
]


@pytest.mark.parametrize(("theirs", "ours"), BECOMES, ids=[theirs for theirs, _ in BECOMES])
def test_each_option_becomes_ours(theirs, ours):
    found, note = rewritten(["train", *theirs.split(), "data.svm"], options_with_values)
    assert found == ["train", *ours.split(), "data.svm"]
    assert bool(note) == (theirs != ours and not theirs.startswith("--label"))


REFUSED = [
    ("-s 4", "Crammer and Singer is not there: take -s 1"),
    ("-s 5", "L1 regularisation is not there: take -s 2"),
    ("-s 6", "L1 regularisation is not there: take -s 2"),
    ("-s 11", "take -s 13"),
    ("-s 12", "take -s 13"),
    ("-s 9", "no solver type of LIBLINEAR"),
    ("-s 7 -t 2", "no svm type of LIBSVM"),
    ("-s 21 -t 2", "no svm type of LIBSVM"),
    ("-t 4", "--kernel precomputed"),
    ("-t 9", "no kernel of LIBSVM"),
    ("-t 2 -s 0 -n 0.3", "take -s 1"),
    ("-t 2 -s 3 -n 0.3", "take -s 4"),
    ("-t 2 -d 2", "degree has no meaning for kernel='gaussian'"),
    ("-s 2 --loss hinge", "--loss is given too"),
    ("-B 1 --bias free", "--bias is given too"),
    ("-R", "-R needs -B 1"),
    ("-C", "maxmargin tune"),
    ("-b 2", "write -b 1"),
    ("-s", "-s needs a value"),
    ("-w 1", "-w1 2"),
    ("-w1 2 --class-weight balanced", "--class-weight does too"),
    ("-w7 2", "the class 7"),
    ("-wa,b 2", "a comma separates classes"),
    ("-m 100", "cache needs a kernel"),
    ("-g x", "gamma='x'"),
]


@pytest.mark.parametrize(("theirs", "reason"), REFUSED, ids=[theirs for theirs, _ in REFUSED])
def test_what_is_not_there_is_refused_in_one_line(here, capsys, theirs, reason):
    assert run(["train", "data.svm", *theirs.split()]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    *notes, error = said.err.splitlines()
    assert all(line.startswith("maxmargin: note: ") for line in notes)
    assert len(notes) <= 1
    assert reason in error
    assert [path.name for path in here.iterdir()] == ["data.svm"]


def test_the_note_says_what_each_option_became(here, capsys):
    assert run(["train", "-s", "2", "-e", "0.01", "-q", "data.svm"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"maxmargin: note: -s 2 is --loss squared_hinge --bias none {LINEAR}; "
        "-e 0.01 is --tol 0.01 (here the relative duality gap, another stopping rule)"
    ]


LIBLINEAR = {
    "-s 0": LogisticRegression(solver="liblinear", C=2.0, fit_intercept=False, tol=1e-9),
    "-s 0 -B 1": LogisticRegression(solver="liblinear", C=2.0, tol=1e-9),
    "-s 1 -w1 3": LinearSVC(C=2.0, fit_intercept=False, class_weight={1: 3.0}, tol=1e-9, max_iter=10**5),
    "-s 2 -B 1 -w1 3": LinearSVC(C=2.0, dual=False, class_weight={1: 3.0}, tol=1e-9),
    "-s 2 -B 5": LinearSVC(C=2.0, dual=False, intercept_scaling=5.0, tol=1e-9),
    "-s 3": LinearSVC(C=2.0, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=10**6),
    "-s 13 -p 0.3": LinearSVR(C=2.0, epsilon=0.3, fit_intercept=False, tol=1e-9, max_iter=10**6),
}


@pytest.mark.parametrize("options", LIBLINEAR)
def test_the_model_is_that_of_liblinear(here, options):
    assert run(["train", *options.split(), "-c", "2", "-e", "1e-10", "-q", "data.svm", "ours"]) == 0
    X, y = maxmargin.read("data.svm")
    theirs = LIBLINEAR[options].fit(X, y)
    expected = theirs.predict(X) if isinstance(theirs, LinearSVR) else theirs.decision_function(X)
    np.testing.assert_allclose(maxmargin.load("ours").decide(X), expected, rtol=1e-3, atol=1e-4)


def test_the_model_is_that_of_libsvm(here):
    assert run(["train", "-t", "2", "-c", "2", "-w1", "3", "-e", "1e-9", "-q", "data.svm", "ours"]) == 0
    X, y = maxmargin.read("data.svm")
    theirs = SVC(C=2.0, gamma=1.0 / X.shape[1], class_weight={1: 3.0}, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(maxmargin.load("ours").decide(X), theirs.decision_function(X), rtol=1e-3, atol=1e-4)


def test_predict_takes_its_files_in_the_order_of_liblinear(here, capsys):
    assert run(["train", "-s", "0", "-q", "data.svm", "m"]) == 0
    assert run(["predict", "m", "data.svm", "-b", "1"]) == 0
    usual = capsys.readouterr().out.splitlines()[-120:]
    assert run(["predict", "-b", "1", "-q", "data.svm", "m", "out.txt"]) == 0
    said = capsys.readouterr()
    assert (
        said.err.splitlines()[-1]
        == "maxmargin: note: m is the model and data.svm the data: the usual order is MODEL FILE"
    )
    assert Path("out.txt").read_text().splitlines() == usual
    assert run(["score", "data.svm", "m"]) == 0
    assert "accuracy" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["predict", "m", "m"], "is a model"),
        (["predict", "data.svm", "data.svm"], "is not a maxmargin model"),
        (["predict", "m", "data.svm", "a", "-o", "b"], "both name the file to write"),
        (["train", "data.svm", "a", "-m", "b"], "both name the file to write"),
        (["train", "data.svm", "data.svm"], "a name of its own"),
    ],
    ids=" ".join,
)
def test_files_that_do_not_go_together_are_one_line(here, capsys, arguments, words):
    run(["train", "-q", "data.svm", "m"])
    capsys.readouterr()
    assert run(arguments) == 1
    assert words in capsys.readouterr().err
