"""Sources of rows: every kind of file gives the same rows, in blocks, again and again, from any block on."""

import gzip
import lzma
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from problems import overlapping
from pyarrow import csv, parquet
from scipy import sparse

import maxmargin
from maxmargin.cli import run
from maxmargin.data.collect import collect
from maxmargin.data.open_source import open_source
from maxmargin.data.rows import Csr, Dense
from maxmargin.data.tables.arrays import array_of
from maxmargin.data.tables.block_file import convert
from maxmargin.errors import DataError, FileError, ParameterError
from maxmargin.system.threads import in_order

SMALL = 600  # bytes of a block: some rows
KINDS = ("text", "xz", "csv", "csv.gz", "parquet", "arrow", "lists", "npy", "blocks", "several", "pattern")


def data(n=150, d=7):
    X, y = overlapping(n=n, d=d)
    return X, y.astype(int)


def written(kind, folder):
    """A file of that kind with the rows of `data`, and what else to say about it."""
    X, y = data()
    path = folder / f"rows.{kind}"
    table = pa.table({"label": y, **{f"x{j}": X[:, j] for j in range(X.shape[1])}})
    if kind == "text":
        maxmargin.write(path, X, y)
    elif kind == "xz":
        maxmargin.write(folder / "plain", X, y)
        path.write_bytes(lzma.compress((folder / "plain").read_bytes()))
    elif kind == "csv":
        csv.write_csv(table, path)
    elif kind == "csv.gz":
        csv.write_csv(table, folder / "plain.csv")
        path.write_bytes(gzip.compress((folder / "plain.csv").read_bytes()))
    elif kind == "parquet":
        parquet.write_table(table, path, row_group_size=40)
    elif kind == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=33)
    elif kind == "lists":
        rows = sparse.csr_array(X)
        columns = (np.split(part, rows.indptr[1:-1]) for part in (rows.indices, rows.data))
        indices, values = (pa.array([list(row) for row in lists]) for lists in columns)
        parquet.write_table(pa.table({"label": y, "indices": indices, "values": values}), path)
    elif kind == "npy":
        np.save(path, X)
        return path, {"y": y}
    elif kind == "blocks":
        maxmargin.write(folder / "plain", X, y)
        convert(open_source(folder / "plain", capacity=SMALL), path)
    else:
        for part, chosen in enumerate(np.array_split(np.arange(len(y)), 4)):
            maxmargin.write(folder / f"part-{part}.svm", X[chosen], y[chosen])
        return (folder / "part-*.svm", {}) if kind == "pattern" else ([folder / f"part-{k}.svm" for k in range(4)], {})
    return path, {}


def dense(rows, d):
    if isinstance(rows, Dense):
        return rows.values
    return sparse.csr_array((rows.values, rows.indices, rows.indptr), (len(rows.indptr) - 1, d)).toarray()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_rows_in_every_pass(kind, tmp_path):
    X, y = data()
    path, more = written(kind, tmp_path)
    source = open_source(path, capacity=SMALL, **more)
    for _ in range(2):
        blocks = list(source.blocks())
        assert np.array_equal(np.concatenate([dense(block.rows, X.shape[1]) for block in blocks]), X)
        assert np.array_equal(np.concatenate([block.labels for block in blocks]), y)
        assert [block.first for block in blocks] == [0, *(block.next.number for block in blocks[:-1])]
        reads = [block.read for block in blocks]
        assert reads == sorted(reads)
        assert 0 < reads[-1] <= source.size
    if kind not in ("lists", "csv", "csv.gz"):
        assert len(blocks) > 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_goes_on_from_any_block(kind, tmp_path):
    path, more = written(kind, tmp_path)
    source = open_source(path, capacity=SMALL, **more)
    blocks = list(source.blocks())
    for k in range(len(blocks) - 1):
        rest = list(open_source(path, capacity=SMALL, **more).blocks(blocks[k].next))
        assert len(rest) == len(blocks) - k - 1
        for again, before in zip(rest, blocks[k + 1 :], strict=True):
            assert again.first == before.first
            assert again.next == before.next
            assert np.array_equal(again.rows.values, before.rows.values)
            assert np.array_equal(again.labels, before.labels)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_trains_in_memory_and_from_disk(kind, tmp_path):
    X, y = data()
    path, more = written(kind, tmp_path)
    here = maxmargin.train(X, y, tol=1e-6)
    more = {**more, "encode": "none"}
    read = maxmargin.train(path, tol=1e-6, **more)
    assert read.certificate.primal == pytest.approx(here.certificate.primal, rel=1e-6)
    streamed = maxmargin.train(path, solver="cached_loops", tol=1e-4, threads=1, memory="8MB", **more)
    assert streamed.status is maxmargin.Status.CONVERGED
    assert here.certificate.dual <= streamed.certificate.primal <= here.certificate.primal * (1 + 2e-4)
    assert streamed.model.classes.tolist() == [-1, 1]
    assert np.mean(streamed.model.predict(X) == here.model.predict(X)) > 0.97


def test_a_block_file_can_be_read_by_plain_pyarrow_and_knows_its_sizes(tmp_path):
    X, y = data()
    path, _ = written("blocks", tmp_path)
    table = pa.ipc.open_file(path).read_all()
    assert table.column_names == ["label", "indices", "values"]
    assert np.array_equal(table["label"].to_numpy(), y)
    rows = sparse.csr_array(X)
    assert np.array_equal(np.concatenate(table["values"].to_pylist()), rows.data)
    facts = open_source(path).facts
    assert (facts.n, facts.d, facts.classes.tolist()) == (len(y), X.shape[1], [-1.0, 1.0])


@pytest.mark.parametrize("compression", ["zstd", "lz4", "none"])
def test_a_block_file_is_written_with_any_compression(compression, tmp_path):
    X, y = data()
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    convert(open_source(tmp_path / "X.npy", y, capacity=SMALL), tmp_path / "X.arrow", compression)
    rows, labels = collect(open_source(tmp_path / "X.arrow"))
    assert rows.values.dtype == np.float32
    assert np.array_equal(rows.values, X)
    assert np.array_equal(labels, y)


def test_names_are_labels_too(tmp_path):
    X, y = data()
    names = np.where(y > 0, "spam", "ham")
    maxmargin.write(tmp_path / "a.svm", X, names)
    convert(open_source(tmp_path / "a.svm", capacity=SMALL), tmp_path / "a.arrow")
    for path in ("a.svm", "a.arrow"):
        model = maxmargin.train(tmp_path / path, solver="cached_loops", memory="8MB", threads=1, tol=1e-3).model
        assert model.classes.tolist() == ["ham", "spam"]
        assert np.mean(model.predict(X) == names) > 0.8


def test_a_wrong_line_is_refused_by_number_or_left_out_and_counted(tmp_path):
    X, y = data()
    path = tmp_path / "a.svm"
    maxmargin.write(path, X, y)
    lines = path.read_text().splitlines()
    wrong = {20: "1 3:1 2:1", 21: "1 2:x", 77: "nan 1:1", 140: "1 1:inf"}
    for number, line in wrong.items():
        lines.insert(number - 1, line)
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"a\.svm:20: feature index 2 after 3"):
        list(open_source(path, capacity=SMALL).blocks())
    for threads in (1, 2):
        source = open_source(path, capacity=SMALL, lenient=True, threads=threads)
        rows, labels = collect(source)
        assert np.array_equal(dense(rows, X.shape[1]), X)
        assert np.array_equal(labels, y)
        assert source.left_out == 4
        assert [line.split(":")[1] for line in source.bad] == ["20", "21", "77", "140"]
        assert "feature index 2 after 3" in source.bad[0]
        assert "label nan is not finite" in source.bad[2]
    result = maxmargin.train(path, on_bad_line="skip")
    assert result.model.training["left_out"] == 4


def test_a_file_that_changes_between_passes_is_refused(tmp_path):
    X, y = data()
    path = tmp_path / "a.svm"
    maxmargin.write(path, X, y)
    source = open_source(path, capacity=SMALL)
    list(source.blocks())
    path.write_text("1 1:1\n")
    with pytest.raises(FileError, match="has changed"):
        list(source.blocks())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"x": [1.0, 2.0]}, "no column is called label, y, target or class"),
        ({"label": [1, 0]}, "features are missing"),
        ({"label": [1, 0], "x": ["a", "b"]}, "column 'x' is string, not numbers"),
        ({"label": [1, 0], "x": [1.0, None]}, "row 1 .counted from 0., column 'x' is empty"),
        ({"label": [1, None], "x": [1.0, 2.0]}, "row 1 .counted from 0. has no label"),
        ({"label": [1, 0], "x": [1.0, np.nan]}, "row 1 .counted from 0., column 'x' is nan"),
        ({"label": [1, 0], "indices": [[1, 0], [0]], "values": [[1.0, 2.0], [3.0]]}, "indices must increase"),
        ({"label": [1, 0], "indices": [[0, 1], [0]], "values": [[1.0], [3.0]]}, "more indices than values"),
        ({"label": [1, 0], "indices": [[-1], [0]], "values": [[1.0], [3.0]]}, "below 0"),
        ({"label": [1, 0], "indices": [[1], [0]], "values": [[1.0], [np.inf]]}, "row 1, column 0"),
        ({"label": [1, 0], "values": [[1.0, 2.0], [3.0]]}, "differ in length"),
        ({"label": [1.0, np.nan], "x": [1.0, 2.0]}, "row 1 .counted from 0. has the label nan"),
        ({"label": [1, 0], "values": [[1.0, 2.0], None]}, "row 1 .counted from 0., column 'values' is empty"),
        ({"label": [1, 0], "indices": [[0], None], "values": [[1.0], [2.0]]}, "column 'indices' is empty"),
        ({"label": [1, 0], "indices": [[0.5], [1.0]], "values": [[1.0], [3.0]]}, "indices are whole numbers"),
        (
            {"label": [1], "indices": pa.array([[2, 5, 2]], pa.list_(pa.uint32())), "values": [[1.0, 2.0, 3.0]]},
            "indices must increase",
        ),
    ],
)
def test_a_table_that_is_wrong_is_refused_in_one_line(content, message, tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table(content), path)
    with pytest.raises(DataError, match=message):
        maxmargin.train(path, encode="none")


def test_another_label_column_can_be_named(tmp_path):
    X, y = data()
    table = pa.table({"x": X[:, 0], "z": X[:, 1], "answer": y})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert maxmargin.train(tmp_path / "a.parquet", label="answer").model.d == 2
    with pytest.raises(DataError, match="no column 'reply'"):
        maxmargin.train(tmp_path / "a.parquet", label="reply")


def test_what_is_no_such_file_is_refused(tmp_path):
    for name, start in (
        ("a.arrow", b"ARROW1 and nothing"),
        ("a.parquet", b"PAR1 and nothing"),
        ("a.npy", b"\x93NUMPY"),
    ):
        (tmp_path / name).write_bytes(start)
        with pytest.raises(FileError, match=name):
            maxmargin.train(tmp_path / name, [1, 0] if name == "a.npy" else None)
    with pytest.raises(FileError, match="no file has such a name"):
        maxmargin.train(tmp_path / "x-*.svm")
    np.save(tmp_path / "b.npy", np.zeros((3, 2)))
    with pytest.raises(DataError, match="an array has no labels"):
        maxmargin.train(tmp_path / "b.npy")
    np.save(tmp_path / "c.npy", np.zeros(3))
    with pytest.raises(DataError, match="needs rows of numbers"):
        maxmargin.train(tmp_path / "c.npy", [1, 0, 1])
    with pytest.raises(ParameterError, match="on_bad_line='ignore'"):
        maxmargin.train(tmp_path / "b.npy", [1, 0, 1], on_bad_line="ignore")
    with pytest.raises(DataError, match="has the label nan"):
        maxmargin.train(tmp_path / "b.npy", [1, 0, np.nan])
    np.save(tmp_path / "d.npy", np.zeros((0, 2)))
    with pytest.raises(DataError, match="nothing to train on"):
        maxmargin.train(tmp_path / "d.npy", [])


def test_rows_of_sparse_blocks_have_int32_columns(tmp_path):
    path, _ = written("text", tmp_path)
    block = next(iter(open_source(path).blocks()))
    assert isinstance(block.rows, Csr)
    assert block.rows.indices.dtype == np.int32


def test_blocks_of_long_and_short_lines_begin_where_they_began(tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "a.svm"
    rows = [np.sort(rng.choice(3000, size, replace=False)) + 1 for size in rng.choice([1, 3, 30, 90, 400], 300)]
    path.write_text("".join("1 " + " ".join(f"{j}:1" for j in row) + "\n" for row in rows))
    for capacity in (64, 200, 500, 3000):
        source = open_source(path, capacity=capacity)
        blocks = list(source.blocks())
        places = [block.place for block in blocks]
        for k in rng.permutation(len(places))[:60]:
            again = source.block_at(places[k])
            assert again.next == blocks[k].next
            assert np.array_equal(again.rows.indices, blocks[k].rows.indices)


@pytest.mark.parametrize("kind", ["text", "npy", "blocks", "several"])
def test_blocks_can_be_read_in_any_order(kind, tmp_path):
    path, more = written(kind, tmp_path)
    source = open_source(path, capacity=SMALL, **more)
    assert source.any_order
    blocks = list(source.blocks())
    places = source.places or [block.place for block in blocks]
    assert len(places) == len(blocks)
    for k in reversed(range(len(blocks))):
        again = source.block_at(places[k])
        assert again.first == blocks[k].first
        assert again.next == blocks[k].next
        assert np.array_equal(again.rows.values, blocks[k].rows.values)
        assert np.array_equal(again.labels, blocks[k].labels)


@pytest.mark.parametrize("kind", ["text", "npy", "blocks", "several"])
def test_blocks_can_be_read_by_several_threads_at_once(kind, tmp_path):
    path, more = written(kind, tmp_path)
    source = open_source(path, capacity=SMALL, **more)
    blocks = {block.place: block for block in source.blocks()}
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(blocks)), 20))
    places = list(blocks)
    for place, again in in_order(source.block_at, (places[k] for k in order), 4):
        assert again.next == blocks[place].next
        assert np.array_equal(again.rows.values, blocks[place].rows.values)
        assert np.array_equal(again.labels, blocks[place].labels)


@pytest.mark.parametrize("kind", ["xz", "csv", "parquet", "arrow"])
def test_some_files_are_read_from_the_beginning_only(kind, tmp_path):
    path, more = written(kind, tmp_path)
    assert not open_source(path, capacity=SMALL, **more).any_order


def test_many_wrong_lines_are_left_out_in_one_go(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text(
        "".join(f"{'nan' if k % 3 == 0 else k % 2} 1:{'inf' if k % 7 == 0 else k}\n" for k in range(20_000))
    )
    source = open_source(path, lenient=True)
    rows, labels = collect(source)
    right = [k for k in range(20_000) if k % 3 and k % 7]
    assert labels.tolist() == [k % 2 for k in right]
    assert rows.values.tolist() == right
    assert source.left_out == 20_000 - len(right)


def test_labels_of_blocks_that_differ_are_all_kept(tmp_path):
    for kind, labels in (("names", ["a"] * 50 + ["bbbb"] * 50 + ["a"] * 50), ("numbers", [0.5] * 50 + [1.0] * 100)):
        maxmargin.write(tmp_path / "a.svm", np.ones((150, 3)), labels)
        facts = convert(open_source(tmp_path / "a.svm", capacity=100), tmp_path / "a.arrow")
        assert facts.classes.tolist() == sorted(set(labels)), kind
        assert open_source(tmp_path / "a.arrow").facts.classes.tolist() == sorted(set(labels))


def test_a_csv_file_may_begin_with_whole_numbers_and_go_on_with_others(tmp_path):
    path = tmp_path / "a.csv"
    lines = ["label,values,indices", *("yes,1,2" for _ in range(60_000)), *("no,0.5,-2.25" for _ in range(10))]
    path.write_text("\n".join(lines) + "\n")
    rows, labels = collect(open_source(path))
    assert rows.values[-1].tolist() == [0.5, -2.25]
    assert labels[-1] == "no"
    assert len(labels) == 60_010


def test_tables_with_other_columns_do_not_go_together(tmp_path):
    (tmp_path / "part-1.csv").write_text("label,a,b\n1,2,3\n")
    (tmp_path / "part-2.csv").write_text("label,b,a\n0,2,3\n")
    with pytest.raises(DataError, match="its columns are not those of"):
        maxmargin.train(tmp_path / "part-*.csv", encode="none")


def test_rows_without_labels_are_predicted(tmp_path, monkeypatch, capsys):
    X, y = data()
    monkeypatch.chdir(tmp_path)
    model = maxmargin.train(X, y).model
    model.save("m")
    expected = "".join(f"{label}\n" for label in model.predict(X))
    names = ["y", *(f"x{j}" for j in range(1, X.shape[1]))]
    csv.write_csv(pa.table({name: X[:, j] for j, name in enumerate(names)}), "bare.csv")
    csv.write_csv(pa.table({"label": y, **{name: X[:, j] for j, name in enumerate(names)}}), "labelled.csv")
    np.save("X.npy", X)
    for path in ("bare.csv", "labelled.csv", "X.npy"):
        assert run(["predict", "m", path]) == 0
        assert capsys.readouterr().out == expected, path


def test_a_pipe_is_predicted_and_not_trained_on_twice(tmp_path):
    X, y = data()
    maxmargin.write(tmp_path / "a.svm", X, y)
    model = maxmargin.train(X, y).model
    model.save(tmp_path / "m")
    command = f"{sys.executable} -m maxmargin predict m <(cat a.svm)"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "".join(f"{label}\n" for label in model.predict(X)), done.stderr
    command = f"{sys.executable} -m maxmargin train <(cat a.svm) --solver cached_loops -m n"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "is no file that can be read more than once" in done.stderr


@pytest.mark.parametrize("column", [
    pa.array([1.0, 2.0, 3.0]), pa.array([1, 2, 3], pa.int8()), pa.array([1.0, 2.0, 3.0], pa.float16()),
    pa.array([5.0, 1.0, 2.0, 3.0, 5.0]).slice(1, 3), pa.array([], pa.float64()), pa.array([True, False]),
    pa.Array.from_buffers(pa.float64(), 2, [None, pa.py_buffer(bytes(19))]),
    pa.array(["a", "b", "a", "a"]).dictionary_encode(), pa.array(["a", "b"]).dictionary_encode(),
    pa.array(["x", "a", "b", "a", "a", "y"]).dictionary_encode().slice(1, 4), pa.array(["a", "b"]),
], ids=str)  # fmt: skip
def test_a_column_is_the_array_that_pyarrow_makes_of_it(column):
    np.testing.assert_array_equal(array_of(column), np.asarray(column.to_pylist(), dtype=array_of(column).dtype))
    assert array_of(column).tolist() == column.to_pylist()
