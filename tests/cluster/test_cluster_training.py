"""Training on a cluster: the objective of one machine, certified; habits of estimators for Dask."""

import os
import pickle
import signal

import numpy as np
import pytest
from sklearn.base import clone

import maxmargin
from maxmargin.cli import run
from maxmargin.dask import LinearSVC
from maxmargin.status import Status

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")


def arrays(data, chunk=250):
    X, y = data
    return da.from_array(X, chunks=(chunk, 8)), da.from_array(y, chunks=chunk)


@pytest.mark.parametrize(
    ("loss", "solver"),
    [("hinge", "auto"), ("squared_hinge", "auto"), ("logistic", "auto"), ("hinge", "interior_point"),
     ("logistic", "gradient_descent")],
)  # fmt: skip
def test_the_objective_is_that_of_one_machine(data, client, loss, solver):
    found = maxmargin.train(*arrays(data), loss=loss, solver=solver, client=client)
    alone = maxmargin.train(*data, loss=loss, tol=1e-6)
    assert found.status is Status.CONVERGED
    assert found.certificate.relative_gap <= 1e-4
    assert found.certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-4)
    assert found.model.training["rounds"] > 0


def test_the_same_partitions_give_the_same_bits(data, client):
    models = [maxmargin.train(*arrays(data), loss="logistic").model for _ in range(2)]
    assert models[0].w.tobytes() == models[1].w.tobytes()


def test_an_interrupt_returns_the_best_model(data, client):
    def interrupt(record):
        os.kill(os.getpid(), signal.SIGINT)

    found = maxmargin.train(*arrays(data), tol=1e-12, callback=interrupt, client=client)
    assert found.status is Status.INTERRUPTED
    assert found.certificate.primal > 0.0


def test_a_run_that_ends_early_is_resumed_with_its_dual_variables(data, client, tmp_path):
    given = {"tol": 1e-6, "client": client, "checkpoint": tmp_path / "run.ckpt"}
    early = maxmargin.train(*arrays(data), max_epochs=6, **given)
    assert early.status is Status.EPOCH_LIMIT
    done = maxmargin.train(*arrays(data), resume=True, **given)
    assert done.status is Status.CONVERGED
    assert done.certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("solver", ["auto", "interior_point"])
def test_a_worker_killed_during_training_costs_no_certificate(data, client, solver):
    killed = []

    def kill(record):
        if not killed:
            killed.append(sorted(client.run(os.getpid).values())[0])
            os.kill(killed[0], signal.SIGKILL)

    found = maxmargin.train(*arrays(data), solver=solver, tol=1e-6, callback=kill, client=client)
    assert killed
    assert found.status is Status.CONVERGED
    alone = maxmargin.train(*data, tol=1e-7)
    assert found.certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-6)
    client.wait_for_workers(2, timeout=60)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kernel": "gaussian"}, "kernel is not for a cluster"),
        ({"task": "regress"}, "task='regress' is not for a cluster"),
        ({"C": np.inf}, r"C=inf \(lam=0\) is not for .* a cluster: take a finite C"),
        ({"solver": "dual_coordinate"}, "dual_coordinate is not for a cluster: take solver='auto'"),
    ],
)
def test_what_needs_one_machine_is_refused(data, client, given, message):
    with pytest.raises((maxmargin.RefusedError, maxmargin.ParameterError), match=message):
        maxmargin.train(*arrays(data), client=client, **given)


def test_the_estimator_predicts_lazily_and_goes_home(data, client):
    X, y = data
    svc = LinearSVC(client=client, loss="logistic").fit(*arrays(data))
    assert svc.client_ is client
    later = svc.predict(arrays(data)[0])
    assert isinstance(later, da.Array)
    assert later.dtype == y.dtype
    local = svc.to_local()
    np.testing.assert_array_equal(later.compute(), local.predict(X))
    np.testing.assert_allclose(svc.decision_function(arrays(data)[0]).compute(), local.decision_function(X))
    np.testing.assert_allclose(svc.predict_proba(arrays(data)[0]).compute(), local.predict_proba(X))
    assert clone(svc).client is client
    assert pickle.loads(pickle.dumps(svc)).coef_.tobytes() == svc.coef_.tobytes()


def test_three_classes_of_a_data_frame(data, client):
    X, _ = data
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    table = dd.from_pandas(pd.DataFrame(X, columns=list("pqrstuvw")).assign(kind=labels), npartitions=3)
    svc = LinearSVC(tol=1e-2).fit(table, "kind")
    features = table.drop(columns=["kind"])
    assert svc.predict(features).compute().tolist() == svc.to_local().predict(X).tolist()
    values = svc.decision_function(features)
    assert list(values.columns) == ["a", "b", "c"]
    assert values.compute().shape == (1000, 3)


def test_an_array_in_this_process_is_refused(data, client):
    with pytest.raises(maxmargin.DataError, match=r"take maxmargin\.LinearSVC"):
        LinearSVC(client=client).fit(*data)


def test_the_command_line_trains_on_a_cluster(data, client, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = data
    for part in range(2):
        maxmargin.write(f"part-{part}.svm", X[part::2], y[part::2])
    address = client.scheduler.address
    assert run(["train", "part-*.svm", "--cluster", address, "--loss", "logistic", "-m", "m.safetensors", "-q"]) == 0
    assert "saved m.safetensors" in capsys.readouterr().out
    assert maxmargin.load("m.safetensors").training["partitions"] == 2


def test_the_command_line_starts_and_stops_processes_of_its_own(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    maxmargin.write("t.svm", *data)
    assert run(["train", "t.svm", "--cluster", "local:1", "--loss", "squared_hinge", "-q"]) == 0
    assert run(["train", "none.svm", "--cluster", "local:1", "-m", "n", "-q"]) == 1
    assert "none.svm" in capsys.readouterr().err


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_path_over_c_takes_the_rounds_of_one(data, client, loss):
    Cs = [1.0, 0.01, 0.1]
    results = maxmargin.path(*arrays(data), Cs=Cs, loss=loss, client=client)
    assert [result.model.training["C"] for result in results] == Cs
    for C, result in zip(Cs, results, strict=True):
        alone = maxmargin.train(*data, C=C, loss=loss, tol=1e-6)
        assert result.status is Status.CONVERGED
        assert result.certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-4)
    assert results[0].model.training["rounds"] <= 2 * max(len(result.history) for result in results) + 2


def test_files_on_a_cluster_have_weights_in_a_column_or_in_files(data, client, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = data
    weights = np.random.default_rng(1).uniform(0.0, 2.0, len(y))
    alone = maxmargin.train(X, y, weights=weights, loss="logistic", tol=1e-6)
    for part in range(2):
        own = slice(500 * part, 500 * part + 500)
        table = pd.DataFrame(X[own], columns=list("pqrstuvw")).assign(heavy=weights[own], label=y[own])
        table.to_parquet(f"part-{part}.parquet")
        maxmargin.write(f"part-{part}.svm", X[own], y[own])
        np.save(f"weights-{part}.npy", weights[own])
    for files, named in (("part-*.parquet", "heavy"), ("part-*.svm", "weights-*.npy")):
        found = maxmargin.train(files, weights=named, loss="logistic", client=client)
        assert found.model.d == 8
        assert found.certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-4)
    with pytest.raises(maxmargin.DataError, match=r"partition 0: weights='light' is neither a column of .* nor a file"):
        maxmargin.train("part-*.parquet", weights="light", client=client)


def test_probabilities_are_calibrated_on_the_workers(data, client):
    given = {"loss": "squared_hinge", "probability": True}
    found = maxmargin.train(*arrays(data), client=client, **given)
    alone = maxmargin.train(*data, **given)
    assert found.status is Status.CONVERGED
    here, there = found.model.probabilities(data[0]), alone.model.probabilities(data[0])
    assert np.mean(np.abs(here - there)) < 0.03  # the folds differ
