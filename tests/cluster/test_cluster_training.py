"""Training on a cluster: the objective of one machine, certified; habits of estimators for Dask."""

import os
import pickle
import signal

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from two_workers import both_back

import maxmargin
from maxmargin.cli import run
from maxmargin.dask import LinearSVC
from maxmargin.loop import saving
from maxmargin.status import Status
from maxmargin.training import cluster_choice, pass_costs

distributed = pytest.importorskip("distributed")
delayed = pytest.importorskip("dask").delayed
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
    both_back(client)


def wide(n=400, d=1500, seed=0):
    """Sparse rows with more features than rows, in 4 partitions."""
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random(n, d, 0.02, format="csr", random_state=seed)
    y = np.where(X @ rng.normal(size=d) + 0.1 * rng.normal(size=n) > 0, 1, -1)
    step = n // 4
    blocks = [(delayed(X[k : k + step]), delayed(y[k : k + step])) for k in range(0, n, step)]
    return X, y, blocks


def test_cocoa_reaches_the_objective_of_one_machine_with_the_same_bits(client):
    X, y, blocks = wide()
    found = [maxmargin.train(blocks, client=client, tol=1e-3, solver="cocoa") for _ in range(2)]
    alone = maxmargin.train(X, y, tol=1e-5)
    assert found[0].status is Status.CONVERGED
    assert found[0].certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-3)
    assert found[0].certificate.dual <= alone.certificate.primal
    assert found[0].model.w.tobytes() == found[1].model.w.tobytes()
    assert found[0].alpha.max() <= 1.0


def test_cocoa_outlives_a_worker_that_is_killed(client):
    X, y, blocks = wide()
    records = []

    def kill(record):
        records.append(record)
        if len(records) == 8:
            os.kill(sorted(client.run(os.getpid).values())[0], signal.SIGKILL)

    found = maxmargin.train(blocks, client=client, tol=1e-3, solver="cocoa", callback=kill)
    both_back(client)
    alone = maxmargin.train(X, y, tol=1e-6)
    assert len(records) > 8
    assert found.status is Status.CONVERGED
    assert found.certificate.dual <= alone.certificate.primal
    assert all(record.certificate.dual <= alone.certificate.primal for record in records)
    assert all(record.certificate.primal >= alone.certificate.dual for record in records)


def test_cocoa_is_resumed_with_its_dual_variables(client, tmp_path):
    _, _, blocks = wide()
    given = {"tol": 1e-3, "client": client, "solver": "cocoa", "checkpoint": tmp_path / "run.ckpt"}
    early = maxmargin.train(blocks, max_epochs=40, **given)
    assert early.status is Status.EPOCH_LIMIT
    done = maxmargin.train(blocks, resume=True, **given)
    assert done.status is Status.CONVERGED
    whole = maxmargin.train(blocks, tol=1e-3, client=client, solver="cocoa")
    assert done.model.w.tobytes() == whole.model.w.tobytes()


def test_auto_takes_dual_steps_where_a_matrix_is_large(client):
    _, _, blocks = wide()
    found = maxmargin.train(blocks, client=client, tol=1e-2)
    assert (found.solver, found.status) == ("cocoa", Status.CONVERGED)
    assert "dual coordinate descent" in found.why


def test_auto_changes_from_slow_dual_steps_to_newton_steps(data, client, monkeypatch):
    monkeypatch.setattr(pass_costs, "COCOA_ROUNDS", (0.0, 0.0))
    for name, value in {"PROBE_ROUNDS": 2.0, "MUCH_SLOWER": 0.0}.items():
        monkeypatch.setattr(cluster_choice, name, value)
    found = maxmargin.train(*arrays(data), C=100.0, tol=1e-6, client=client)
    assert found.status is Status.CONVERGED
    assert "began with cocoa" in found.why
    assert found.parts[0].solvers[1:] in [("second_order",), ("interior_point",)]
    alone = maxmargin.train(*data, C=100.0, tol=1e-7)
    assert found.certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-6)


def test_three_classes_by_cocoa(client):
    X, _, _ = wide()
    y = np.digitize(np.asarray(X[:, :500].sum(axis=1)).ravel(), [4.0, 6.0])
    blocks = [(delayed(X[k : k + 100]), delayed(y[k : k + 100])) for k in range(0, 400, 100)]
    found = maxmargin.train(blocks, client=client, tol=1e-2, solver="cocoa")
    assert found.status is Status.CONVERGED


def test_a_lost_scheduler_is_an_error_and_the_run_is_resumed_with_a_new_cluster(data, client, tmp_path, monkeypatch):
    monkeypatch.setattr(saving, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(saving, "SHARE", 0.0)
    given = {"tol": 1e-6, "checkpoint": tmp_path / "run.ckpt", "timeout": 20.0}
    cluster = distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0")
    other, records = distributed.Client(cluster, set_as_default=False), []

    def lose(record):
        records.append(record)
        if len(records) == 4:
            cluster.close()

    try:
        with pytest.raises(maxmargin.ClusterError, match="resume from the checkpoint"):
            maxmargin.train(*arrays(data), client=other, callback=lose, **given)
    finally:
        other.close()
    done = maxmargin.train(*arrays(data), client=client, resume=True, **given)
    assert done.status is Status.CONVERGED
    assert [record.certificate for record in done.history[:3]] == [record.certificate for record in records[:3]]
    assert done.history[2].seconds == records[2].seconds  # the records of the first run, not of another like it


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
    alone = [maxmargin.train(*arrays(data), C=C, loss=loss, client=client).model.training["rounds"] for C in Cs]
    assert results[0].model.training["rounds"] <= 1.5 * max(alone)


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
    plain = {"encode": "none"}
    for files, named, how in (("part-*.parquet", "heavy", plain), ("part-*.svm", "weights-*.npy", {})):
        found = maxmargin.train(files, weights=named, loss="logistic", client=client, **how)
        assert found.model.training.get("weights_column") == (named if named == "heavy" else None)
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
