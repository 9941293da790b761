"""Tables that are streamed are encoded once, into a temporary block file that never stays behind."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import maxmargin
from maxmargin.errors import MaxmarginError
from maxmargin.status import Status
from maxmargin.training import encoded_copy

HOW = {"label": "sold", "loss": "squared_hinge", "memory": "8MB", "threads": 1}
STOPPED_BY_SIGTERM = """
import os, signal, maxmargin
import maxmargin.data.files
maxmargin.data.files.COPIES = 1e6
maxmargin.train("shop.csv", label="sold", memory="8MB", callback=lambda _: os.kill(os.getpid(), signal.SIGTERM))
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table that is streamed, and a folder of temporary files in it."""
    rng = np.random.default_rng(0)
    n = 4000
    price, colour = np.round(rng.gamma(2.0, 10.0, n), 2), rng.choice(["red", "green", "dark, blue"], n)
    score = 0.1 * (price - 20.0) + 2.0 * (colour == "red") - 1.0 + 0.5 * rng.normal(size=n)
    weight = rng.integers(1, 4, n)
    table = pd.DataFrame({"price": price, "colour": colour, "weight": weight, "sold": np.where(score > 0, "yes", "no")})
    table.loc[rng.random(n) < 0.1, "price"] = np.nan
    table.to_csv(tmp_path / "shop.csv", index=False)
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr("maxmargin.data.files.COPIES", 1e6)
    return tmp_path


def copies(here):
    """The temporary block files that there are."""
    return list((here / "temporary").rglob("*.arrow"))


def without_copy(monkeypatch):
    monkeypatch.setattr(encoded_copy, "folder_with_room", lambda size: None)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_a_copy_of_the_encoded_rows_gives_the_same_bits(solver, here, monkeypatch):
    seen = []
    found = maxmargin.train("shop.csv", solver=solver, callback=lambda _: seen.extend(copies(here)), **HOW)
    assert seen
    assert copies(here) == []
    without_copy(monkeypatch)
    known = maxmargin.train("shop.csv", solver=solver, callback=lambda _: seen.clear(), **HOW)
    assert not seen
    np.testing.assert_array_equal(found.model.w, known.model.w)
    assert found.certificate == known.certificate


def test_a_copy_suits_dual_steps_and_keeps_the_encoder(here):
    known = maxmargin.train("shop.csv", solver="newton", tol=1e-8, **HOW)
    found = maxmargin.train("shop.csv", solver="cached_loops", **HOW)
    assert found.status is Status.CONVERGED
    assert found.certificate.primal == pytest.approx(known.certificate.primal, rel=2e-4)
    assert found.model.training["encoder"] == known.model.training["encoder"]
    table = pd.read_csv("shop.csv")
    assert np.mean(found.model.predict(table) == known.model.predict(table)) > 0.99


def test_a_copy_keeps_the_column_of_weights(here, monkeypatch):
    found = maxmargin.train("shop.csv", solver="newton", weights="weight", **HOW)
    without_copy(monkeypatch)
    known = maxmargin.train("shop.csv", solver="newton", weights="weight", **HOW)
    np.testing.assert_array_equal(found.model.w, known.model.w)
    assert found.model.d == maxmargin.train("shop.csv", solver="newton", drop=["weight"], **HOW).model.d


def test_several_c_share_one_copy(here):
    results = maxmargin.path("shop.csv", Cs=[0.1, 1.0], **HOW)
    assert [result.status for result in results] == [Status.CONVERGED] * 2
    assert copies(here) == []


def test_labels_that_are_numbers_stay_whole(here):
    table = pd.read_csv("shop.csv")
    table["sold"] = (table["sold"] == "yes").astype(int) + 1
    table.to_csv("shop.csv", index=False)
    assert maxmargin.train("shop.csv", solver="newton", **HOW).model.classes.tolist() == [1, 2]


@pytest.mark.parametrize("solver", ["newton", "cached_loops"])
def test_ctrl_c_removes_the_copy(solver, here):
    result = maxmargin.train(
        "shop.csv", solver=solver, tol=1e-12, callback=lambda _: os.kill(os.getpid(), signal.SIGINT), **HOW
    )
    assert result.status is Status.INTERRUPTED
    assert copies(here) == []


def test_ctrl_c_while_rows_are_copied_ends_the_run(here, monkeypatch):
    write = encoded_copy.write

    def interrupted(*args, **given):
        os.kill(os.getpid(), signal.SIGINT)
        return write(*args, **given)

    monkeypatch.setattr(encoded_copy, "write", interrupted)
    with pytest.raises(MaxmarginError, match="stopped before all rows were read"):
        maxmargin.train("shop.csv", solver="newton", **HOW)
    assert list((here / "temporary").iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_sigterm_removes_the_copy_before_it_ends_the_process(here):
    environment = {**os.environ, "TMPDIR": str(here / "temporary")}
    ended = subprocess.run([sys.executable, "-c", STOPPED_BY_SIGTERM], env=environment, check=False)
    assert ended.returncode == -signal.SIGTERM
    assert list((here / "temporary").iterdir()) == []


def test_an_error_removes_the_copy(here):
    def fail(_):
        assert copies(here)
        raise RuntimeError("of the callback")

    with pytest.raises(RuntimeError, match="of the callback"):
        maxmargin.train("shop.csv", callback=fail, **HOW)
    assert list((here / "temporary").iterdir()) == []


def test_a_disk_that_fills_up_leaves_the_table_to_every_pass(here, monkeypatch):
    def full(*args, **given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(encoded_copy, "write", full)
    assert maxmargin.train("shop.csv", **HOW).status is Status.CONVERGED
    assert list((here / "temporary").iterdir()) == []


@pytest.mark.parametrize("reason", ["time", "room"])
def test_copying_is_given_up_when_it_takes_too_much(reason, here, monkeypatch):
    if reason == "time":
        monkeypatch.setattr(encoded_copy, "TIME_SHARE", 0.0)
    else:
        monkeypatch.setattr(encoded_copy, "room_in", lambda folder: 10.0)
    seen = []
    result = maxmargin.train("shop.csv", max_seconds=60.0, callback=lambda _: seen.extend(copies(here)), **HOW)
    assert result.status is Status.CONVERGED
    assert not seen


def test_a_faulty_row_is_named_by_its_table(here):
    with Path("shop.csv").open("a") as stream:
        stream.write("1.5,red,1\n")
    with pytest.raises(MaxmarginError, match=r"shop\.csv"):
        maxmargin.train("shop.csv", **HOW)
    assert list((here / "temporary").iterdir()) == []


def test_a_checkpoint_goes_on_with_a_new_copy(here):
    def stop_after(record):
        return record.epochs >= 2

    keep = {"checkpoint": "run.checkpoint", "solver": "cached_loops", "tol": 1e-6}
    first = maxmargin.train("shop.csv", callback=stop_after, **keep, **HOW)
    assert first.status is not Status.CONVERGED
    second = maxmargin.train("shop.csv", resume=True, **keep, **HOW)
    assert second.status is Status.CONVERGED
    assert copies(here) == []
