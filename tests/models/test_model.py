import errno
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
from problems import EVERY_LOSS, overlapping
from safetensors.numpy import save_file
from scipy import sparse

import maxmargin
from maxmargin.errors import DataError, FileError, MaxmarginError
from maxmargin.system import tensor_file as tensorfile


def trained(classes=2, loss="hinge", n=120):
    X, y = overlapping(n=n)
    labels = y.astype(int) if classes == 2 else np.arange(n) % classes
    return X, labels, maxmargin.train(X, labels, loss=loss)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", EVERY_LOSS)
def test_a_model_comes_back_as_it_was(tmp_path, classes, loss):
    X, _, result = trained(classes, loss)
    result.model.save(tmp_path / "model.safetensors")
    loaded = maxmargin.load(tmp_path / "model.safetensors")
    assert np.array_equal(loaded.decide(X), result.model.decide(X))
    assert np.array_equal(loaded.predict(X), result.model.predict(X))
    assert np.array_equal(loaded.support, result.model.support)
    assert np.array_equal(loaded.alphas, result.model.alphas)
    assert loaded.certificate == result.certificate
    assert loaded.training == result.model.training


@pytest.mark.parametrize("labels", [[False, True], ["no", "ja ö"], [1.5, 2.5], [-1, 1], [3, 10**12]])
def test_labels_of_any_kind_survive(tmp_path, labels):
    X, y = overlapping()
    y = np.array(labels)[(y > 0).astype(int)]
    model = maxmargin.train(X, y).model
    model.save(tmp_path / "m")
    back = maxmargin.load(tmp_path / "m")
    assert back.classes.dtype == y.dtype
    assert back.predict(X).tolist() == model.predict(X).tolist()
    assert set(back.predict(X).tolist()) <= set(y.tolist())


def test_support_vectors_and_alphas_rebuild_the_weights():
    X, y, result = trained()
    model = result.model
    np.testing.assert_allclose(model.dual_coef @ X[model.support], model.w, atol=1e-6)
    assert np.array_equal(model.support, np.flatnonzero(result.alpha > 0))
    np.testing.assert_allclose(model.alphas[0], result.alpha[model.support])
    assert np.array_equal(np.sign(model.dual_coef[0]), np.where(y[model.support] == model.classes[1], 1, -1))


def test_same_seed_same_file(tmp_path):
    X, y = overlapping(n=500)
    for name in ("one", "two"):
        maxmargin.train(X, y, seed=1).model.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_threads_do_not_change_the_file(tmp_path):
    X, y = overlapping(n=500)
    for threads in (1, 3):
        maxmargin.train(X, y, threads=threads).model.save(tmp_path / str(threads))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "3").read_bytes()


def test_probabilities_of_a_logistic_model_are_the_sigmoid_of_its_decisions():
    X, _, result = trained(loss="logistic")
    p = result.model.probabilities(X)
    np.testing.assert_allclose(p[:, 1], 1 / (1 + np.exp(-result.model.decide(X))))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    X, _, result = trained(3, loss="logistic")
    np.testing.assert_allclose(result.model.probabilities(X).sum(axis=1), 1.0)


def test_probabilities_of_other_losses_are_refused():
    X, _, result = trained()
    with pytest.raises(MaxmarginError, match="train with loss='logistic'"):
        result.model.probabilities(X)


def test_more_features_than_trained_are_refused_with_both_numbers_and_fewer_are_fine():
    X, _, result = trained()
    with pytest.raises(DataError, match=r"X has 7 features, but the model was trained with 5"):
        result.model.predict(np.ones((2, 7)))
    few = X[:, :3]
    np.testing.assert_allclose(result.model.decide(few), few @ result.model.w[0, :3] + result.model.b[0])
    np.testing.assert_allclose(result.model.decide(sparse.csr_array(few)), result.model.decide(few), rtol=1e-12)


def test_a_file_cut_short_anywhere_is_refused_in_one_line(tmp_path):
    _, _, result = trained()
    result.model.save(tmp_path / "whole")
    content = (tmp_path / "whole").read_bytes()
    for length in (0, 1, 7, 8, 9, 100, len(content) // 2, len(content) - 1):
        (tmp_path / "cut").write_bytes(content[:length])
        with pytest.raises(FileError, match="cut") as caught:
            maxmargin.load(tmp_path / "cut")
        assert "\n" not in str(caught.value)


def test_foreign_files_are_refused(tmp_path):
    save_file({"w": np.ones(3)}, tmp_path / "other.safetensors")
    with pytest.raises(FileError, match="not one of maxmargin's"):
        maxmargin.load(tmp_path / "other.safetensors")
    (tmp_path / "evil.pkl").write_bytes(pickle.dumps(Path("x")))
    (tmp_path / "text").write_text("+1 1:0.5\n" * 10)
    for name in ("evil.pkl", "text"):
        with pytest.raises(FileError, match="is not a maxmargin model"):
            maxmargin.load(tmp_path / name)
    with pytest.raises(FileError, match="no such file"):
        maxmargin.load(tmp_path / "missing")
    with pytest.raises(FileError, match="folder"):
        maxmargin.load(tmp_path)


def test_a_checkpoint_is_not_a_model(tmp_path):
    maxmargin.train(*overlapping(), checkpoint=tmp_path / "run")
    with pytest.raises(FileError, match="is a maxmargin checkpoint, not a model"):
        maxmargin.load(tmp_path / "run")


def test_a_newer_version_is_refused_by_number(tmp_path, monkeypatch):
    _, _, result = trained()
    monkeypatch.setattr(tensorfile, "VERSION", 7)
    result.model.save(tmp_path / "new")
    monkeypatch.undo()
    with pytest.raises(FileError, match="format 7 is not the format 1"):
        maxmargin.load(tmp_path / "new")


def test_a_model_with_parts_that_do_not_fit_is_refused(tmp_path):
    _, _, result = trained()
    result.model.b = np.zeros(4)
    result.model.save(tmp_path / "odd")
    with pytest.raises(FileError, match="do not fit together"):
        maxmargin.load(tmp_path / "odd")


def test_a_full_disk_leaves_the_old_model(tmp_path, monkeypatch):
    _, _, result = trained()
    path = tmp_path / "model"
    result.model.save(path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("maxmargin.system.atomic_files.os.fsync", full)
    with pytest.raises(FileError, match="No space left on device"):
        result.model.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_that_is_full_is_an_error():
    _, _, result = trained()
    with pytest.raises(FileError, match="No space left"):
        result.model.save("/dev/full")


def test_saving_keeps_the_permissions_and_the_link(tmp_path):
    _, _, result = trained()
    target = tmp_path / "model"
    result.model.save(target)
    target.chmod(0o640)
    (tmp_path / "link").symlink_to(target)
    result.model.save(tmp_path / "link")
    assert target.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link").is_symlink()
    shutil.copy(target, tmp_path / "copy")
    assert maxmargin.load(tmp_path / "copy").d == 5


def test_a_bit_that_flips_is_noticed(tmp_path):
    _, _, result = trained()
    result.model.save(tmp_path / "model")
    content = bytearray((tmp_path / "model").read_bytes())
    content[-9] ^= 1
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(FileError, match="damaged"):
        maxmargin.load(tmp_path / "model")


def test_a_bit_that_flips_in_a_checkpoint_is_noticed(tmp_path):
    X, y = overlapping()
    maxmargin.train(X, y, checkpoint=tmp_path / "run")
    content = bytearray((tmp_path / "run").read_bytes())
    content[-9] ^= 1
    (tmp_path / "run").write_bytes(content)
    with pytest.raises(FileError, match="damaged"):
        maxmargin.train(X, y, checkpoint=tmp_path / "run", resume=True)
    (tmp_path / "run").write_bytes(b"not a checkpoint")
    with pytest.raises(FileError, match="not a maxmargin checkpoint"):
        maxmargin.train(X, y, checkpoint=tmp_path / "run", resume=True)


@pytest.mark.parametrize("number", [np.float32(1e-3), np.float64(1e-3)])
def test_parameters_of_numpy_types_can_be_saved(tmp_path, number):
    maxmargin.train(*overlapping(), tol=number, bias="regularised", bias_scale=np.int64(2)).model.save(tmp_path / "m")
    assert maxmargin.load(tmp_path / "m").training["bias_scale"] == 2.0
