"""Rows that are made longer on the way: what they become, in memory, from disk and in the model that is kept."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import overlapping
from scipy import sparse

import maxmargin
from maxmargin.data.expand import find_expansion
from maxmargin.data.rows import Csr, Dense
from maxmargin.data.take import take
from maxmargin.data.text import dna
from maxmargin.data.text.dna import cut_lines, rows_of
from maxmargin.errors import DataError, ParameterError


def matrix(rows, d=None):
    if isinstance(rows, Dense):
        return np.asarray(rows.values)
    shape = (len(rows.indptr) - 1, d or rows.d)
    return sparse.csr_array((rows.values, rows.indices, rows.indptr), shape).toarray()


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_poly2_is_the_polynomial_kernel_but_for_a_constant(storage):
    X, _ = overlapping(n=40, d=6)
    rows = take(X) if storage == "dense" else take(sparse.csr_array(X))
    longer = find_expansion("poly2").apply(rows)
    assert longer.d == find_expansion("poly2").columns(6) == 27
    phi = matrix(longer)
    assert np.allclose(phi @ phi.T, (X @ X.T + 1.0) ** 2 - 1.0)
    assert np.all(
        np.diff(longer.indices)[np.setdiff1d(np.arange(len(longer.indices) - 1), longer.indptr[1:-1] - 1)] > 0
    )


def test_poly2_numbers_its_columns_the_same_for_rows_with_fewer_features():
    wide, narrow = take(sparse.csr_array([[1.0, 2.0, 0.0, 0.0]])), take(sparse.csr_array([[1.0, 2.0]]))
    longer = [find_expansion("poly2").apply(rows) for rows in (wide, narrow)]
    assert np.array_equal(longer[0].indices, longer[1].indices)
    assert np.array_equal(longer[0].values, longer[1].values)


@given(st.integers(2, 50), st.integers(0, 2**31))
def test_hashing_keeps_the_signed_sum_of_what_meets(size, seed):
    rng = np.random.default_rng(seed)
    X = sparse.random(5, 80, 0.3, "csr", rng=rng)
    rows = take(X)
    longer = find_expansion(f"hash:{size}").apply(rows)
    one = matrix(find_expansion(f"hash:{size}").apply(take(sparse.csr_array(np.eye(80)))))
    assert np.all(np.sum(np.abs(one), axis=1) == 1.0)
    assert np.allclose(matrix(longer), X @ one)
    for i in range(5):
        assert np.all(np.diff(longer.indices[longer.indptr[i] : longer.indptr[i + 1]]) > 0)


def test_fourier_is_nearly_the_gaussian_kernel():
    X, _ = overlapping(n=30, d=300)
    expansion = find_expansion("fourier:20000:0.01")
    phi = matrix(expansion.apply(take(sparse.csr_array(X))))
    squares = np.sum((X[:, None] - X[None]) ** 2, axis=2)
    assert np.max(np.abs(phi @ phi.T - np.exp(-0.01 * squares))) < 0.05
    assert np.allclose(phi, matrix(find_expansion("fourier:20000:0.01").apply(take(X))), atol=1e-6)


@given(st.text(alphabet="ACGTNacgt", max_size=60), st.integers(1, 4))
def test_words_are_counted(sequence, k):
    letters = {"A": 0, "C": 1, "G": 2, "T": 3}
    counts = np.zeros(4**k)
    for start in range(len(sequence) - k + 1):
        word = sequence[start : start + k].upper()
        if all(letter in letters for letter in word):
            counts[int("".join(str(letters[letter]) for letter in word), 4)] += 1
    expected = counts / max(np.linalg.norm(counts), 1e-300)
    assert np.allclose(matrix(rows_of([sequence], k)), expected)


@pytest.mark.parametrize("expand", ["poly2", "hash:64", "fourier:60:0.1"])
def test_memory_disk_and_model_expand_alike(expand, tmp_path):
    X, y = overlapping(n=400, d=6)
    maxmargin.write(tmp_path / "a.svm", X, y.astype(int))
    here = maxmargin.train(X, y.astype(int), expand=expand, tol=1e-6)
    read = maxmargin.train(tmp_path / "a.svm", expand=expand, tol=1e-6)
    assert read.certificate.primal == pytest.approx(here.certificate.primal, rel=1e-6)
    for solver in ("cached_loops", "selective_blocks"):
        streamed = maxmargin.train(tmp_path / "a.svm", solver=solver, memory="8MB", expand=expand, tol=1e-3, threads=1)
        assert streamed.status is maxmargin.Status.CONVERGED
        assert streamed.certificate.primal == pytest.approx(here.certificate.primal, rel=1.1e-3)
        streamed.model.save(tmp_path / "m")
        model = maxmargin.load(tmp_path / "m")
        assert np.array_equal(model.decide(X), streamed.model.decide(X))
        assert np.mean(model.predict(X) == here.model.predict(X)) > 0.97
    longer = take(find_expansion(expand).apply(take(X)))
    plain = maxmargin.train(matrix(longer, read.model.d), y.astype(int), tol=1e-6)
    assert plain.certificate.primal == pytest.approx(here.certificate.primal, rel=1e-5)
    with pytest.raises(DataError, match="X has 7 features, but the model was trained with 6"):
        here.model.predict(np.ones((1, 7)))


PIECES = st.sampled_from(["1", "-1", "cat", "ACGT", "acgn", "A", " ", "\t", "\r", "#", "x1", "\n", "\n"])


@given(st.lists(PIECES, max_size=40), st.integers(1, 9))
def test_lines_of_sequences_are_cut_as_python_would(pieces, k):
    text = "".join(pieces) + "\n"
    expected, right = [], True
    for line in text.split("\n")[:-1]:
        words = line.split("#")[0].split()
        right = right and (not words or (len(words) == 2 and words[1].isalpha()))
        expected += [words] if words and right else []
    spans = np.empty((text.count("\n"), 5), dtype=np.int64)
    rows, _, wrong = cut_lines(np.frombuffer(text.encode(), dtype=np.uint8), spans)
    found = [[text[span[0] : span[1]], text[span[2] : span[3]]] for span in spans[:rows]]
    assert found == expected
    assert (wrong < 0) == right
    counted = rows_of([words[1] for words in expected], k)
    for row, (_, sequence) in enumerate(expected):
        seen = Counter(sequence[p : p + k].upper() for p in range(len(sequence) - k + 1))
        counts = np.array([count for word, count in sorted(seen.items()) if set(word) <= set("ACGT")], dtype=float)
        values = counted.values[counted.indptr[row] : counted.indptr[row + 1]]
        np.testing.assert_allclose(values, counts / max(np.linalg.norm(counts), 1e-300), rtol=1e-6)


def test_labels_are_numbered_alike_however_many_there_are(monkeypatch):
    names = [b"a", b"b", b"ab", b"a", b"c", b"b", b"abc"]
    text = np.frombuffer(b"".join(names), dtype=np.uint8)
    ends = np.cumsum([len(name) for name in names])
    spans = np.stack([ends - [len(name) for name in names], ends], axis=1)
    for many in (1000, 3):
        monkeypatch.setattr(dna, "MANY", many)
        firsts, codes = dna.coded(text, spans)
        assert [names[firsts[code]] for code in codes] == names
        assert sorted(firsts.tolist()) == [0, 1, 2, 4, 6]


def test_sequences_are_trained_on_and_predicted(tmp_path, monkeypatch, capsys):
    from maxmargin.cli import run

    rng = np.random.default_rng(0)
    sequences = ["".join(rng.choice(list("ACGT"), 80)) for _ in range(300)]
    labels = ["with" if k % 2 else "without" for k in range(300)]
    sequences = [text[:30] + "ACGGTA" + text[36:] if k % 2 else text for k, text in enumerate(sequences)]
    path = tmp_path / "dna.txt"
    path.write_text("# label sequence\n" + "".join(f"{a} {b}\n" for a, b in zip(labels, sequences, strict=True)))
    result = maxmargin.train(path, expand="kmers:5", C=10.0)
    streamed = maxmargin.train(path, expand="kmers:5", C=10.0, solver="cached_loops", memory="8MB", tol=1e-3)
    assert streamed.certificate.primal == pytest.approx(result.certificate.primal, rel=1.1e-3)
    assert result.model.classes.tolist() == ["with", "without"]
    assert np.mean(result.model.predict(sequences) == np.array(labels)) > 0.95
    streamed.model.save(tmp_path / "m.safetensors")
    monkeypatch.chdir(tmp_path)
    assert run(["score", "m.safetensors", "dna.txt"]) == 0
    assert float(capsys.readouterr().out.split()[1].rstrip("%")) > 90
    path.write_text("1 ACGT\n2 ACG\n\xff ACGT\n2 AC\n", encoding="latin-1")
    with pytest.raises(DataError, match=r"dna\.txt:3: label .* is not finite, or not UTF-8"):
        maxmargin.train(path, expand="kmers:2")
    path.write_text("1 ACGT\n0 AC:GT\n")
    with pytest.raises(DataError, match=r"dna\.txt:2: AC:GT: a line should read label sequence"):
        maxmargin.train(path, expand="kmers:2")


@pytest.mark.parametrize(
    "text",
    [
        "poly3",
        "hash",
        "hash:0",
        "hash:2**99",
        "fourier:x",
        "fourier:10:1:1",
        "fourier:10:-1",
        "kmers:40",
        "kmers:x",
        "",
        "poly2:3",
    ],
)
def test_what_is_no_expansion_is_refused(text):
    with pytest.raises(ParameterError, match="expand="):
        maxmargin.train([[0.0], [1.0]], [0, 1], expand=text)


def test_expansions_have_their_limits():
    with pytest.raises(DataError, match="too many products"):
        find_expansion("poly2").apply(Csr(np.ones(1), np.array([70_000], dtype=np.int32), np.array([0, 1]), 70_001))
    with pytest.raises(ParameterError, match="not together with a kernel"):
        maxmargin.train([[0.0], [1.0]], [0, 1], expand="poly2", kernel="gaussian")
    with pytest.raises(ParameterError, match="counts words of sequences"):
        maxmargin.train([[0.0], [1.0]], [0, 1], expand="kmers:2")
