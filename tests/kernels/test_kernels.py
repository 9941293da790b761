"""Kernels against their definitions, and the rows of them that are held against rows computed one by one."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import maxmargin
from maxmargin.data.rows import Csr, Dense
from maxmargin.data.take import take
from maxmargin.errors import DataError, ParameterError
from maxmargin.kernels import tiles as kernel_blocks
from maxmargin.kernels.exponential import gaussian, gaussian_32
from maxmargin.kernels.functions import (
    KERNELS,
    Custom,
    Gaussian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    find_kernel,
    kernel_metadata,
    register,
)
from maxmargin.kernels.held_rows import KernelRows
from maxmargin.kernels.points import points_of
from maxmargin.kernels.tiles import combination, rows_of_kernel
from maxmargin.testing import check_kernel
from maxmargin.testing.kernels import check_diagonal, check_error, check_metadata, check_tiles, examples

rng = np.random.default_rng(0)
X, Z = examples()


def product(A, B):
    return np.asarray((A @ B.T).todense() if sparse.issparse(A) else A @ B.T)


DEFINED = {
    "linear": (Linear(), lambda X, Z: X @ Z.T),
    "exactly 3": (Polynomial(3, 0.5, 0.0), lambda X, Z: (0.5 * X @ Z.T) ** 3),
    "up to 2": (Polynomial(2, 0.7, 1.0), lambda X, Z: (0.7 * X @ Z.T + 1.0) ** 2),
    "gaussian": (Gaussian(0.3), lambda X, Z: np.exp(-0.3 * ((X[:, None] - Z) ** 2).sum(axis=2))),
    "sigmoid": (Sigmoid(0.2, -0.1), lambda X, Z: np.tanh(0.2 * X @ Z.T - 0.1)),
    "precomputed": (Precomputed(), lambda K, _: K),
    "function": (Custom(product), lambda X, Z: X @ Z.T),
}


@pytest.mark.parametrize("name", DEFINED)
def test_every_kernel_keeps_the_contract(name):
    check_kernel(*DEFINED[name])


def test_the_table_of_definitions_is_of_all_kernels():
    assert {kernel.name for kernel, _ in DEFINED.values()} == {*KERNELS, "custom"}


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [name for name in DEFINED if name != "precomputed"])
def test_kernels_are_what_they_say(monkeypatch, name, dtype, storage):
    monkeypatch.setattr(kernel_blocks, "MANY_PER_TILE", 8)
    monkeypatch.setattr(kernel_blocks, "FEW_PER_TILE", 4)
    kernel, definition = DEFINED[name]
    check_tiles(kernel, definition(X, Z), storage(X), storage(Z), dtype)


@pytest.mark.parametrize("name", [name for name in DEFINED if name != "precomputed"])
def test_the_diagonal_is_a_kernel_of_each_with_itself(name):
    check_diagonal(DEFINED[name][0], X)


@dataclass(frozen=True)
class Lopsided(Linear):
    def fill(self, many, few, out):
        super().fill(many, few, out)
        out += np.arange(len(many))[:, None]


@dataclass(frozen=True)
class Indefinite(Linear):
    def fill(self, many, few, out):
        super().fill(many, few, out)
        out *= -1.0


@dataclass(frozen=True)
class Careless(Linear):
    def error(self, x, z, c, sizes, longest):
        return np.zeros_like(x)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [(Lopsided(), "not symmetric"), (Indefinite(), "an eigenvalue"), (Careless(), "comes back from a file as Linear")],
)
def test_a_wrong_kernel_does_not_pass(kernel, words):
    with pytest.raises(AssertionError, match=words):
        check_kernel(kernel, DEFINED["linear"][1])


def test_a_bound_below_the_rounding_errors_does_not_pass():
    with pytest.raises(AssertionError, match="above the bound"):
        check_error(Careless(), DEFINED["linear"][1], X, Z)


@pytest.mark.parametrize("piece", ["name", "by_products", "definite", "fill", "diagonal", "error"])
def test_a_kernel_that_lacks_a_piece_is_refused_by_the_name_of_the_piece(piece):
    pieces = {name: getattr(Linear, name) for name in vars(Linear) if not name.startswith("__") and name != piece}
    with pytest.raises(ParameterError, match=f"lacks {piece}"):
        register(dataclass(frozen=True)(type("Incomplete", (), pieces)))


def test_a_kernel_has_parameters_that_users_can_give_and_a_name_of_its_own():
    @dataclass(frozen=True)
    class Wavelet(Linear):
        name = "wavelet"
        length: float = 1.0

    @dataclass(frozen=True)
    class Another(Linear):
        pass

    with pytest.raises(ParameterError, match="wavelet has the parameter length"):
        register(Wavelet)
    with pytest.raises(ParameterError, match="linear is taken by Linear"):
        register(Another)


def test_a_registered_kernel_is_found_by_its_names_and_saved(tmp_path):
    @dataclass(frozen=True)
    class Shifted(Polynomial):
        name = "shifted"

    register(Shifted, aliases=("moved",))
    y = np.where(np.arange(len(X)) % 2, 1, -1)
    result = maxmargin.train(X, y, kernel="moved", tol=1e-6)
    assert result.model.kernel.name == "shifted"
    result.model.save(tmp_path / "model")
    loaded = maxmargin.load(tmp_path / "model")
    assert np.array_equal(loaded.decide(X), result.model.decide(X))
    with pytest.raises(ParameterError, match=r"shifted \(moved\) or a function"):
        find_kernel("cubic", take(X))


def test_a_precomputed_kernel_is_looked_up():
    K = X @ X.T
    points = points_of(take(K))
    out = np.empty((3, 37))
    rows_of_kernel(Precomputed(), points.pick(np.array([5, 0, 9])), points, out)
    assert np.array_equal(out, K[[5, 0, 9]])
    assert np.array_equal(Precomputed().diagonal(points), np.diag(K))


@pytest.mark.parametrize("sign", [1.0, 1e-3, 50.0])
@pytest.mark.parametrize(
    ("function", "dtype", "most"), [(gaussian, np.float64, 4e-16), (gaussian_32, np.float32, 3e-7)]
)
def test_the_exponential_is_right_to_the_last_digits(function, dtype, most, sign):
    t = (-sign * rng.random(5000)).astype(dtype)
    values = t[None, :].copy()
    function(values, np.zeros(1, dtype), np.zeros(5000, dtype), dtype(1.0))
    assert np.max(np.abs(values[0] / np.exp(t.astype(np.float64)) - 1.0)) <= most


@pytest.mark.parametrize(("function", "dtype"), [(gaussian, np.float64), (gaussian_32, np.float32)])
def test_the_exponential_at_its_ends(function, dtype):
    values = np.array([[0.0, 1e-3, -1e4, -1e30]], dtype)
    function(values, np.zeros(1, dtype), np.zeros(4, dtype), dtype(1.0))
    assert values[0, :2].tolist() == [1.0, 1.0]
    assert np.all((values[0, 2:] >= 0.0) & (values[0, 2:] < 1e-37))


@settings(max_examples=40, deadline=None)
@given(budget=st.integers(0, 40), picks=st.lists(st.lists(st.integers(0, 36), max_size=20, unique=True), max_size=12))
def test_held_rows_are_the_rows(budget, picks):
    points = points_of(take(X))
    whole = np.empty((37, 37))
    rows_of_kernel(Gaussian(0.3), points, points, whole)
    held = KernelRows(Gaussian(0.3), points, np.float64, budget * 37 * 8, threads=1)
    for pick in picks:
        wanted = np.array(pick, dtype=np.intp)
        assert np.allclose(held.values[held.take(wanted)], whole[wanted], rtol=0, atol=1e-14)


def test_rows_are_given_up_narrowed_and_had_again(monkeypatch):
    monkeypatch.setattr("maxmargin.kernels.held_rows.FEWEST", 5)
    monkeypatch.setattr("maxmargin.kernels.held_rows.AT_FIRST", 4)
    points = points_of(take(X))
    whole = np.empty((37, 37))
    rows_of_kernel(Gaussian(0.3), points, points, whole)
    held = KernelRows(Gaussian(0.3), points, np.float64, 0, threads=1)
    assert (held.room, held.open) == (5, 4)
    for _ in range(4):
        for start in range(0, 36, 3):
            wanted = np.arange(start, start + 3)
            assert np.allclose(held.values[held.take(wanted)], whole[wanted], rtol=0, atol=1e-14)
    assert held.open == 5
    columns = np.array([1, 4, 7, 20, 30, 36])
    held.narrow(columns)
    assert held.room == 30
    for wanted in (np.array([33, 34, 35]), np.array([0, 36, 2]), np.array([33, 0, 12])):
        assert np.allclose(held.values[held.take(wanted)], whole[wanted][:, columns], rtol=0, atol=1e-14)
    assert held.column(np.array([7, 36])).tolist() == [2, 5]
    held.use_all()
    assert np.allclose(held.values[held.take(np.array([3]))], whole[[3]], rtol=0, atol=1e-14)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 0.5, 1.0), Gaussian(0.1), Sigmoid(0.3, 0.2), Precomputed()])
def test_a_kernel_comes_back_from_its_words(kernel):
    check_metadata(kernel)


def test_a_function_cannot_be_written_down():
    with pytest.raises(ParameterError, match="no file holds code"):
        kernel_metadata(Custom(np.dot))


def test_gamma_is_scikit_learns():
    rows = take(X)
    assert find_kernel("rbf", rows) == Gaussian(pytest.approx(1.0 / (6 * X.var())))
    assert find_kernel("rbf", take(sparse.csr_matrix(X))) == Gaussian(pytest.approx(1.0 / (6 * X.var())))
    assert find_kernel("gaussian", rows, gamma="auto") == Gaussian(1.0 / 6)
    assert find_kernel("gaussian", rows, sigma=2.0) == Gaussian(0.125)
    assert find_kernel("poly", rows, gamma=0.5, degree=2.0, coef0=1) == Polynomial(2, 0.5, 1.0)


@pytest.mark.parametrize(
    ("kernel", "settings", "words"),
    [
        ("rbf", {"gamma": 0}, "gamma=0 must be above 0"),
        ("rbf", {"gamma": -1.0}, "above 0"),
        ("rbf", {"gamma": "big"}, '"scale" or "auto"'),
        ("rbf", {"gamma": np.nan}, "finite"),
        ("gaussian", {"sigma": 0.0}, "sigma=0.0 must be above 0"),
        ("poly", {"degree": 0}, "degree=0 must be 1 or above"),
        ("poly", {"degree": 2.5}, "whole number"),
        ("poly", {"degree": np.inf}, "finite"),
        ("rbf", {"sigma": 1e-170}, "1e±100"),
        ("sigmoid", {"coef0": np.inf}, "coef0=inf"),
        ("cubic", {}, "kernel='cubic' is not known"),
        (3, {}, "kernel=3 is not known"),
    ],
)
def test_settings_that_make_no_kernel_are_refused(kernel, settings, words):
    with pytest.raises(ParameterError, match=words):
        find_kernel(kernel, take(X), **settings)


def test_a_precomputed_kernel_must_be_square_and_symmetric():
    with pytest.raises(DataError, match="square"):
        find_kernel("precomputed", take(X))
    K = X @ X.T
    K[3, 20] += 0.1
    for storage in (np.asarray, sparse.csr_matrix):
        with pytest.raises(DataError, match=r"K\[3, 20\]"):
            find_kernel("precomputed", take(storage(K)))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda A, B: np.ones((len(A), len(B) + 1)), "shape"),
        (lambda A, B: np.full((len(A), len(B)), np.nan), "no finite number"),
        (lambda A, B: np.full((len(A), len(B)), "a"), "no finite number"),
    ],
)
def test_a_function_that_returns_no_kernel_is_refused(function, words):
    points = points_of(take(X), as_given=True)
    with pytest.raises(DataError, match=words):
        rows_of_kernel(Custom(function), points, points, np.empty((37, 37)))


def test_float32_noise_in_a_precomputed_kernel_is_no_asymmetry():
    A = rng.normal(size=(200, 30)).astype(np.float32)
    K = (A @ A.T).astype(np.float64)
    K += 1e-7 * rng.normal(size=K.shape) * np.sqrt(np.outer(np.diag(K), np.diag(K)))
    assert find_kernel("precomputed", take(K)) == Precomputed()


@pytest.mark.parametrize("width", [5, 3000])
@pytest.mark.parametrize("kind", [Csr, Dense])
def test_no_support_vectors_and_no_rows_are_no_trouble(kind, width):
    """Narrow and wide sparse rows go different ways; nothing comes of nothing on both."""
    rows = take(np.ones((7, width)) if kind is Dense else sparse.csr_matrix(np.eye(7, width)))
    every, none = points_of(rows), points_of(rows, np.zeros(0, dtype=np.intp))
    assert isinstance(every.rows, kind)
    assert combination(Gaussian(1.0), every, none, np.zeros((0, 2)), 2).tolist() == np.zeros((7, 2)).tolist()
    assert combination(Gaussian(1.0), none, every, np.ones((7, 1)), 2).shape == (0, 1)
    rows_of_kernel(Gaussian(1.0), none, every, np.zeros((0, 7)), 2)


@pytest.mark.parametrize("width", [5, 3000])
@pytest.mark.parametrize("density", [0.1, 0.6])
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_go_to_their_places(width, density, threads, monkeypatch):
    monkeypatch.setattr(kernel_blocks, "ONE_THREAD_WORK", 0)
    monkeypatch.setattr(kernel_blocks, "MANY_PER_TILE", 16)
    rng = np.random.default_rng(0)
    X = sparse.random(50, width, density, format="csr", random_state=0)
    points, places = points_of(take(X)), rng.permutation(50)[:20]
    out, exact = np.zeros((50, 50)), np.exp(-0.1 * ((X.toarray()[:20, None] - X.toarray()[None]) ** 2).sum(axis=2))
    rows_of_kernel(Gaussian(0.1), points.pick(np.arange(20)), points, out, threads, places)
    assert out[places] == pytest.approx(exact, abs=1e-12)
    assert not out[np.setdiff1d(np.arange(50), places)].any()


def test_rows_that_were_never_computed_are_not_held():
    """A kernel that fails leaves nothing behind that could be taken for its rows."""
    calls = []

    def moody(A, B):
        calls.append(1)
        if len(calls) == 2:
            raise ZeroDivisionError
        return A @ B.T

    points = points_of(take(X), as_given=True)
    held = KernelRows(Custom(moody), points, np.float64, 1e6, 1)
    held.take(np.arange(3))
    with pytest.raises(ZeroDivisionError):
        held.take(np.arange(6))
    assert held.values[held.take(np.arange(6))] == pytest.approx(X[:6] @ X.T)
