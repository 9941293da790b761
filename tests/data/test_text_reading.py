"""What a LIBSVM / SVMlight text file says is what is read, however it is written, packed, cut or shared out."""

import bz2
import gzip
import lzma
import signal
import threading
from io import BytesIO

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from maxmargin.data.text import read as text
from maxmargin.data.text.read import read_text
from maxmargin.data.text.streams import Stream
from maxmargin.errors import DataError, FileError, ParameterError


def zstd(data):
    return pyarrow.compress(data, codec="zstd", asbytes=True)


PACKERS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "Zstandard": zstd}


@pytest.fixture
def read(tmp_path):
    def read(content, **options):
        path = tmp_path / "train.svm"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_text(path, **options)

    return read


@pytest.fixture
def refused(read, tmp_path):
    """The complaint about a file, without the folder it is in."""

    def refused(content, **options):
        with pytest.raises(DataError) as caught:
            read(content, **options)
        message = str(caught.value)
        assert "\n" not in message
        return message.removeprefix(f"{tmp_path}/")

    return refused


def listed(result):
    rows, y = result
    return rows.values.tolist(), rows.indices.tolist(), rows.indptr.tolist(), rows.d, y.tolist()


def same(a, b):
    """Same bits, same types."""
    arrays = zip((*a[0][:3], a[1]), (*b[0][:3], b[1]), strict=True)
    return a[0].d == b[0].d and all(x.dtype == y.dtype and x.tobytes() == y.tobytes() for x, y in arrays)


def generated(n=400, d=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.2)
    buffer = BytesIO()
    dump_svmlight_file(X, rng.integers(0, 5, n), buffer, zero_based=False)
    return buffer.getvalue()


def test_same_as_scikit_learn(tmp_path):
    path = tmp_path / "generated.svm"
    path.write_bytes(generated())
    X, y = load_svmlight_file(str(path))
    rows, labels = read_text(path)
    assert np.array_equal(rows.values, X.data)
    assert np.array_equal(rows.indices, X.indices)
    assert np.array_equal(rows.indptr, X.indptr)
    assert rows.d == X.shape[1]
    assert np.array_equal(labels, y)


def test_the_forms_a_line_may_take(read):
    content = (
        "\ufeff# a comment first\r\n"
        "+1 1:0.5 3:2\r\n"
        "\n   \t\n"
        "-1\tqid:7\t 2:1e-3   4:-.5# glued comment 9:9\n"
        "  1 1:5. 2:+1E+2 \t # spaced comment\n"
        "-1\n"
        "1#no features\n"
        "1 7:3"
    )
    values, indices, indptr, d, y = listed(read(content))
    assert values == [0.5, 2, 1e-3, -0.5, 5, 100, 3]
    assert indices == [0, 2, 1, 3, 0, 1, 6]
    assert indptr == [0, 2, 4, 6, 6, 6, 7]
    assert d == 7
    assert y == [1, -1, 1, -1, 1, 1]


def test_explicit_zeros_and_their_signs_are_kept(read):
    rows, _ = read("1 1:0 2:-0.0 3:-0\n")
    assert np.signbit(rows.values).tolist() == [False, True, True]


def test_zero_based_indices(read):
    rows, _ = read("1 0:1 2:1\n", zero_based=True)
    assert rows.indices.tolist() == [0, 2]
    assert rows.d == 3


def test_given_width_wins_over_the_largest_index(read):
    assert read("1 2:1\n", d=10)[0].d == 10
    assert read("1 10:1\n", d=10)[0].d == 10


def test_rows_without_any_feature(read):
    rows, y = read("1\n-1\n", d=3)
    assert rows.indptr.tolist() == [0, 0, 0]
    assert rows.values.size == 0
    assert rows.d == 3
    assert y.tolist() == [1, -1]
    assert read("1\n-1 2:1\n1\n")[0].indptr.tolist() == [0, 0, 1, 1]


def test_indices_are_int32_until_they_do_not_fit(read):
    for largest, kind in ((2**31 - 1, np.int32), (2**31, np.int64), (2**62, np.int64)):
        rows, _ = read(f"1 1:1\n1 5:1 {largest}:2\n1 7:1\n")
        assert rows.indices.dtype == rows.indptr.dtype == kind
        assert rows.indices.tolist() == [0, 4, largest - 1, 6]
        assert rows.d == largest
    rows, _ = read("1 1:1\n", d=2**31)
    assert rows.indices.dtype == rows.indptr.dtype == np.int64


def test_wide_indices_in_some_blocks_only(read, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 64)
    lines = [f"1 {k + 1}:{k}\n" for k in range(50)]
    lines[20] = f"1 3:1 {2**40}:20\n"
    rows, _ = read("".join(lines))
    assert rows.indices.dtype == np.int64
    assert rows.indices[20:23].tolist() == [2, 2**40 - 1, 21]
    assert rows.values.size == 51


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ("1 -1 +1 0", np.int64),
        ("1.0 2e0 -3", np.int64),
        ("9007199254740992 1", np.int64),
        ("9007199254740994 1", np.float64),
        ("1 0.5 1e300", np.float64),
    ],
)
def test_labels_that_are_numbers(read, labels, kind):
    _, y = read("".join(f"{label} 1:1\n" for label in labels.split()))
    assert y.dtype == kind
    assert y.tolist() == [float(label) for label in labels.split()]


@pytest.mark.parametrize(
    "labels", ["spam ham", "+1 1.0 grün 1", "1,2 3", "1 1e", "- +", "e5 0x10", "nano inf1", "1_0 2"]
)
def test_labels_that_are_names_are_kept_as_written(read, labels):
    _, y = read("".join(f"{label} 1:1\n" for label in labels.split()))
    assert y.dtype.kind == "U"
    assert y.tolist() == labels.split()


def test_names_after_many_numbers(read, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 64)
    monkeypatch.setattr("maxmargin.data.file_labels.AT_ONCE", 7)
    tokens = [*(f"{k:+d}" for k in range(97)), "last"]
    assert read("".join(f"{token} 1:1\n" for token in tokens))[1].tolist() == tokens


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1 9:1 3:1", "feature index 3 after 9: indices must increase within a row"),
        ("1 3:1 3:1", "feature index 3 after 3: indices must increase within a row"),
        ("1 qid:4 3:1 2:1", "feature index 2 after 3: indices must increase"),
        ("1 0:1", "feature index 0 before the first, 1: pass zero_based=True (--zero-based)"),
        ("1 -3:1", "feature index -3 is negative"),
        ("1 +3:1", "feature index +3 is not a whole number"),
        ("1 2:1 1.5:1", "feature index 1.5 is not a whole number"),
        ("1 a:1", "feature index a is not a whole number"),
        ("1 :1", "feature index  is not a whole number"),
        ("1 3:1 qid:4", "feature index qid is not a whole number"),
        ("1 3:", "feature 3 has no value"),
        ("1 3: 4", "feature 3 has no value"),
        ("1 3", "3 is not index:value"),
        ("1 3:1 x", "x is not index:value"),
        ("1 3:1 0.5 7:1", "0.5 is not index:value"),
        ("1 3:1x", "feature 3 has the value 1x, which is not a number"),
        ("1 3:1e", "feature 3 has the value 1e, which is not a number"),
        ("1 3:1:2", "feature 3 has the value 1:2, which is not a number"),
        ("1 3:0x10", "feature 3 has the value 0x10, which is not a number"),
        ("1 3:1_0", "feature 3 has the value 1_0, which is not a number"),
        ("1 3:.", "feature 3 has the value ., which is not a number"),
        ("1 3:--1", "feature 3 has the value --1, which is not a number"),
        ("1 3:1\x00", "feature 3 has the value 1\\x00, which is not a number"),
        ("1 3:nan", "feature 3 has the value nan: values must be finite"),
        ("1 3:-Infinity", "feature 3 has the value -Infinity: values must be finite"),
        ("1 3:1e309", "feature 3 has the value 1e309: values must be finite"),
        ("1 3:17976931348623159e292", "feature 3 has the value 17976931348623159e292: values must be finite"),
        ("1 3:179769313486231580793728971405303416e273", "values must be finite"),
        ("3:1 4:1", "the label is missing: the line begins with 3:1"),
        ("  spam:1", "the label is missing: the line begins with spam:1"),
        ("nan 1:1", "label nan is not finite"),
        ("-INF 1:1", "label -INF is not finite"),
        ("1e999 1:1", "label 1e999 is not finite"),
        ("1 4611686018427387905:1", "feature index 4611686018427387905 is larger than 2**62"),
        ("1 99999999999999999999999:1", "feature index 99999999999999999999999 is larger than 2**62"),
        ("1 " + "9" * 5000 + ":1", "feature index " + "9" * 37 + "... is larger than 2**62"),
        ("1 3:" + "z" * 1000, "feature 3 has the value " + "z" * 37 + "..., which is not a number"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_wrong_is_named_with_its_line(refused, monkeypatch, line, words, threads):
    good = "1 1:0.25 2:3 # fine\n# comment\n\nspam 5:1\n"
    for block, before in ((1 << 20, 1), (64, 40)):
        monkeypatch.setattr(text, "BLOCK", block)
        message = refused(good * before + line + "\n" + good + "1 2:x\n", threads=threads)
        assert message.startswith(f"train.svm:{4 * before + 1}: ")
        assert words in message


def test_wrong_last_line_without_newline(refused):
    for line in ("1 3", "1 3:", "1 3:1e", "3:1", "1 3:1 4"):
        assert refused(f"1 1:1\n{line}").startswith("train.svm:2: ")


def test_label_that_is_not_utf8(refused):
    assert refused(b"1 1:1\n\xff\xfe 1:1\n").startswith("train.svm:2: label \ufffd\ufffd is not UTF-8")


def test_index_beyond_the_given_width(refused):
    message = refused("1 1:1\n1 2:1 11:1\n", d=10)
    assert message.startswith("train.svm:2: feature index 11 is beyond 10, the last of d = 10 features")
    assert "feature index 10 is beyond 9, the last of d = 10" in refused("1 10:1\n", d=10, zero_based=True)
    assert "beyond 5000000000" in refused("1 6000000000:1\n", d=5_000_000_000)


@pytest.mark.parametrize("content", ["", "\n", "# only\n  \n# comments", "\ufeff", "\r\n"])
def test_no_rows(refused, content):
    assert refused(content).startswith("train.svm: no rows")


def test_parameters_out_of_range(read):
    with pytest.raises(ParameterError, match="d = 0"):
        read("1 1:1\n", d=0)
    with pytest.raises(ParameterError, match="threads=0"):
        read("1 1:1\n", threads=0)


@pytest.mark.parametrize("kind", PACKERS)
def test_compressed_files_whatever_their_name(read, kind):
    content, pack = generated(), PACKERS[kind]
    plain = read(content)
    assert same(read(pack(content)), plain)
    half = content.index(b"\n", len(content) // 2) + 5
    assert same(read(pack(content[:half]) + pack(content[half:])), plain)


@pytest.mark.parametrize("kind", PACKERS)
def test_compressed_data_cut_short_or_damaged(read, kind):
    noise = np.random.default_rng(1).integers(32, 127, 300_000, dtype=np.uint8).tobytes()
    packed = PACKERS[kind](b"1 1:1\n" * 1000 + b"1 1:1 # " + noise + b"\n")
    damaged = bytearray(packed)
    damaged[len(packed) // 2 : len(packed) // 2 + 2000] = bytes(2000)
    cuts = [packed[:-1], packed[:-9], packed[: len(packed) // 2], packed[:12], packed + packed[:-20]]
    for content in [*cuts, *([] if kind == "Zstandard" else [bytes(damaged)])]:
        with pytest.raises(FileError, match=f"train.svm: the {kind} data is cut short or damaged") as caught:
            read(content)
        assert "\n" not in str(caught.value)


def test_zstandard_data_with_frames_to_skip(read):
    content = generated()
    skipped = bytes.fromhex("502a4d18") + (4).to_bytes(4, "little") + b"skip"
    assert same(read(skipped + zstd(content) + skipped), read(content))


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileError, match=r"missing\.svm: cannot read: No such file"):
        read_text(tmp_path / "missing.svm")
    with pytest.raises(FileError, match="cannot read: Is a directory"):
        read_text(tmp_path)


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["1", "-1", "+2", "0.5", "name", "grün", "   7", "3e1"]),
        st.lists(st.integers(1, 3000), max_size=12, unique=True),
        st.sampled_from(["\n", "\r\n", " # note\n", "\n\n", "\n# note 1:1\n"]),
    ),
    min_size=1, max_size=40,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(ROWS, st.floats(allow_nan=False, allow_infinity=False), st.integers(2, 200), st.integers(1, 3))
def test_neither_threads_nor_block_size_can_be_seen(tmp_path_factory, rows, value, block, threads):
    lines = [f"{label} " + " ".join(f"{j}:{value / j!r}" for j in sorted(js)) + end for label, js, end in rows]
    path = tmp_path_factory.getbasetemp() / "blocks.svm"
    path.write_text("".join(lines).removesuffix("\n"), newline="")
    whole = read_text(path, threads=1, d=3000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK", block)
        assert same(read_text(path, threads=threads, d=3000), whole)
    assert whole[0].indptr.size == len(rows) + 1
    assert whole[0].indices.tolist() == [j - 1 for _, js, _ in rows for j in sorted(js)]


def test_a_line_longer_than_a_block(read):
    row = "1 " + " ".join(f"{j}:0.5" for j in range(1, 300_001)) + "\n"
    assert len(row) > 2 * text.BLOCK
    rows, y = read("1 1:1\n" + row + "-1 2:1\n" + row)
    assert rows.indptr.tolist() == [0, 1, 300_001, 300_002, 600_002]
    assert rows.d == 300_000
    assert y.tolist() == [1, 1, -1, 1]


def test_a_pipe_is_read_as_a_file_is(tmp_path):
    import os

    content, pipe, path = generated(), tmp_path / "pipe", tmp_path / "file"
    path.write_bytes(content)
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    result = read_text(pipe)
    writer.join()
    assert same(result, read_text(path))


def test_interrupt_ends_reading(tmp_path, monkeypatch):
    path = tmp_path / "train.svm"
    path.write_bytes(b"1 1:1\n" * 1000)
    monkeypatch.setattr(text, "BLOCK", 64)
    before = threading.active_count()
    original, calls = Stream.fill, []

    def fill(self, buffer):
        calls.append(1)
        if len(calls) == 10:
            signal.raise_signal(signal.SIGINT)
        return original(self, buffer)

    monkeypatch.setattr(Stream, "fill", fill)
    with pytest.raises(KeyboardInterrupt):
        read_text(path, threads=2)
    assert len(calls) == 10
    assert threading.active_count() == before
