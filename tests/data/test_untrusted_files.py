"""Files from outside: whatever is in them, a training ends with a model or with one line; never by a signal.

What could end the interpreter runs in a process of its own.
"""

import base64
import bz2
import gzip
import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyarrow.parquet import encryption
from safetensors.numpy import save_file
from scipy import sparse

import maxmargin
from maxmargin.cli import run
from maxmargin.data import examples
from maxmargin.data.open_source import open_source
from maxmargin.data.tables import parquet_pages
from maxmargin.errors import DataError, FileError, MaxmarginError
from maxmargin.system import budget
from maxmargin.system.tensor_file import digest, read_tensors, write_tensors

ROWS = 20
LISTS = pa.list_(pa.int32())


def arrow(path, columns, schema=None, metadata=None, compression=None):
    """An Arrow file of one batch; with metadata, an empty one behind it that holds them, as block files have."""
    batch = pa.record_batch(columns, schema=schema)
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema, options=options) as writer:
        writer.write_batch(batch)
        if metadata is not None:
            writer.write_batch(batch.slice(0, 0), custom_metadata={b"maxmargin": metadata})
    return path


def labels(n=ROWS):
    return pa.array([1.0, -1.0] * (n // 2))


def sparse_columns(kind=LISTS):
    return {
        "label": labels(),
        "indices": pa.array([[0, 3, 7]] * ROWS, kind),
        "values": pa.array([[1.0, 2.0, 3.0]] * ROWS, pa.large_list(pa.float64()) if kind != LISTS else None),
    }


def refused(source, *others, match="", **options):
    """The one line of the error that this training ends with."""
    with pytest.raises(MaxmarginError, match=match) as caught:
        maxmargin.train(source, *others, max_seconds=20, threads=1, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 600
    return text


def in_a_process(code, *arguments):
    """Run code that prints one line."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr}"
    return done.stdout


# Compressed CSV


def zstd(data):
    return pa.compress(data, "zstd", asbytes=True)


@pytest.mark.parametrize(("ending", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("zst", zstd)])
def test_a_large_compressed_csv_file_is_read(ending, compress, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10**9, size=(40_000, 12))
    lines = [",".join(map(str, row)) for row in X.tolist()]
    text = "y," + ",".join(f"x{j}" for j in range(12)) + "\n" + "\n".join(f"{k % 2},{x}" for k, x in enumerate(lines))
    path = tmp_path / f"large.csv.{ending}"
    path.write_bytes(compress(text.encode()))
    assert len(text) > 4_000_000
    blocks = list(open_source(path).blocks())
    assert np.array_equal(np.concatenate([block.rows.values for block in blocks]), X)


# Arrow

SPOIL = """
import sys
import numpy as np, pyarrow as pa
import maxmargin
from maxmargin.data.tables.block_file import convert
from maxmargin.data.open_source import open_source
from maxmargin.system.tensor_file import digest, read_tensors, write_tensors
errors = set()
for path in sys.argv[1:]:
    for use in (
        lambda: maxmargin.train(path, max_seconds=5, threads=1),
        lambda: maxmargin.train(path, solver="cached_loops", memory="20MB", max_seconds=5, threads=1),
        lambda: convert(open_source(path), path + ".blocks"),
        lambda: [open_source(path).block_at(place) for place in open_source(path).places or [1 / 0]],
    ):
        try:
            use()
            print("not refused", path)
        except (maxmargin.MaxmarginError, ZeroDivisionError) as error:
            if isinstance(error, maxmargin.MaxmarginError):
                assert "\\n" not in str(error) and path in str(error), error
"""


def test_offsets_that_point_outside_the_data_are_refused(tmp_path):
    paths = []
    for wide, kind in ((False, np.int32), (True, np.int64)):
        lists = pa.large_list if wide else pa.list_
        for form in ("sparse", "dense", "blocks"):
            columns = {"label": labels(), "values": pa.array([[1.0, 2.0, 3.0]] * ROWS, lists(pa.float64()))}
            if form != "dense":
                columns["indices"] = pa.array([[0, 3, 7]] * ROWS, lists(pa.int32()))
            facts = json.dumps({"n": ROWS, "d": 8, "classes": [-1, 1], "ends": [ROWS]}) if form == "blocks" else None
            whole = arrow(tmp_path / f"{wide}{form}.arrow", columns, metadata=facts).read_bytes()
            offsets = np.arange(0, 3 * ROWS + 1, 3, dtype=kind).tobytes()
            size = np.dtype(kind).itemsize
            for place, value in ((-1, -1), (-1, 10**6), (0, 1000), (0, -5), (7, 2), (7, 10**9)):
                spoilt, at = bytearray(whole), whole.find(offsets)
                while at >= 0:
                    k = at + (place % (ROWS + 1)) * size
                    spoilt[k : k + size] = np.array([value], dtype=kind).tobytes()
                    at = whole.find(offsets, at + 1)
                path = tmp_path / f"{wide}{form}{place}{value}.arrow"
                path.write_bytes(spoilt)
                paths.append(path)
    assert len(paths) == 36
    assert in_a_process(SPOIL, *paths) == ""


def test_dictionary_codes_that_point_outside_the_dictionary_are_refused(tmp_path):
    codes = pa.array([0, 1] * (ROWS // 2), pa.int32())
    columns = {"label": pa.DictionaryArray.from_arrays(codes, ["no", "yes"]), "x": pa.array(np.arange(ROWS) * 1.0)}
    whole = bytearray(arrow(tmp_path / "x.arrow", columns).read_bytes())
    at = whole.find(np.array([0, 1, 0, 1], np.int32).tobytes())
    for value in (-1, 2, 10**6):
        whole[at : at + 4] = np.array([value], np.int32).tobytes()
        (tmp_path / f"{value}.arrow").write_bytes(whole)
    assert in_a_process(SPOIL, *(tmp_path / f"{value}.arrow" for value in (-1, 2, 10**6))) == ""


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": pa.array([[1]] * ROWS), "x": pa.array([1.0] * ROWS)}, r"'label' is list<.*>: labels are numbers or"),
        ({"label": pa.array([{"a": 1}] * ROWS), "x": pa.array([1.0] * ROWS)}, "labels are numbers or text"),
        ({"label": pa.array([b"a", b"b"] * 10), "x": pa.array([1.0] * ROWS)}, "is binary: labels are numbers or text"),
        ({"label": pa.nulls(ROWS), "x": pa.array([1.0] * ROWS)}, "is null: labels are numbers or text"),
        ({"label": labels(), "x": pa.nulls(ROWS)}, "'x' is left out: every value is missing"),
        ({"label": labels(), "values": pa.array([[]] * ROWS, pa.list_(pa.float64()))}, "have 0 values"),
        ({"label": labels(), "values": pa.array([[]] * ROWS, pa.list_(pa.float64(), 0))}, "have 0 values"),
        ({"label": labels(), "values": pa.array([[[1.0]]] * ROWS)}, "'values' is list<.*>, not numbers"),
        ({"label": labels(), "indices": pa.array([[[1]]] * ROWS), "values": pa.array([[1.0]] * ROWS)}, "whole numbers"),
        ({"label": labels(), "indices": pa.array([[None]] * ROWS, LISTS), "values": pa.array([[1.0]] * ROWS)}, "miss"),
        ({"label": labels(), "indices": pa.array([[1]] * ROWS), "values": pa.array([[None]] * ROWS, LISTS)}, "empty"),
        ({"label": labels(), "x": pa.array([{"a": 1.0}] * ROWS)}, "'x' is left out: struct<.*> cannot be encoded"),
    ],
)
@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_a_table_of_other_types_is_refused(columns, message, kind, tmp_path):
    path = tmp_path / f"x.{kind}"
    if kind == "arrow":
        arrow(path, columns)
    else:
        try:
            parquet.write_table(pa.table(columns), path)
        except pa.ArrowException:
            pytest.skip("Parquet has no such type")
    refused(path, match=message if kind == "arrow" else r"x\.parquet: ")


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_column_names_that_are_not_text_are_refused(kind, tmp_path):
    path = tmp_path / f"x.{kind}"
    table = pa.table({"label": labels(), "feature_one": [1.0, 2.0] * 10})
    if kind == "arrow":
        arrow(path, {"label": labels(), "feature_one": pa.array([1.0, 2.0] * 10)})
    else:
        parquet.write_table(table, path)
    path.write_bytes(path.read_bytes().replace(b"feature_one", b"feat\xff\xfe\xfd_one"))
    refused(path, match="UTF-8")


def test_a_record_batch_beyond_the_budget_is_refused_before_it_is_unpacked(tmp_path):
    n = 4_000_000
    path = arrow(tmp_path / "bomb.arrow", {"y": pa.array(np.arange(n) % 2), "x": pa.array(np.zeros(n))},
                 compression="zstd")  # fmt: skip
    assert path.stat().st_size < 1_000_000
    for solver in ("auto", "cached_loops"):
        text = refused(path, solver=solver, memory="20MB", match=r"bomb.arrow: batch 0 takes 64MB unpacked, .* 16")
        assert "raise memory to 128" in text


def test_a_batch_that_says_it_is_larger_than_it_is_is_refused(tmp_path):
    path = arrow(tmp_path / "x.arrow", {"y": labels(), "x": pa.array(np.zeros(ROWS))}, compression="zstd")
    whole = path.read_bytes()
    stated = (8 * ROWS).to_bytes(8, "little")
    assert stated in whole
    for size in (1 << 62, 1 << 33, -7):
        path.write_bytes(whole.replace(stated, size.to_bytes(8, "little", signed=True)))
        refused(path, memory="20MB", match="x.arrow: ")


# Parquet


def varint(value, size):
    """A number in so many bytes of seven bits each."""
    return bytes(value >> 7 * k & 127 | (128 if k < size - 1 else 0) for k in range(size))


def behind(data, at):
    """Where the varint that begins there ends."""
    return next(k for k in range(at, len(data)) if data[k] < 128) + 1


def with_page_sizes(path, unpacked, packed=None):
    """The bytes of a file whose last column has one page, with other sizes in its header: 0x15 announces each.

    The checksum that follows the sizes gives its place to them, so that no other byte moves.
    """
    data = path.read_bytes()
    at = parquet.read_metadata(path).row_group(0).column(1).data_page_offset
    first = at + 3
    second = behind(data, first) + 1
    checksum = behind(data, second) + 1
    end = behind(data, checksum)
    assert data[at:first] == b"\x15\x00\x15"
    assert data[end] == 0x1C
    said = sum((data[second + k] & 127) << 7 * k for k in range(checksum - 1 - second))
    coded = said if packed is None else packed << 1 ^ packed >> 63
    sizes = varint((unpacked << 1 ^ unpacked >> 63) & 0xFFFFFFFF, 5) + b"\x15"
    return data[:first] + sizes + varint(coded, end - first - len(sizes)) + b"\x2c" + data[end + 1 :]


def checksummed(path, codec="zstd"):
    """A small file of that compression, with checksums in its page headers."""
    table = pa.table({"label": labels(), "x": np.arange(ROWS) * 1.0})
    parquet.write_table(table, path, compression=codec, use_dictionary=False, write_page_checksum=True)
    return path


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "lz4", "zstd"])
def test_a_page_larger_than_its_column_chunk_is_refused(codec, tmp_path):
    path = checksummed(tmp_path / "x.parquet", codec)
    path.write_bytes(with_page_sizes(path, 2**31 - 1))
    refused(path, match=r"x.parquet: .*damaged \(a page of 2,147,483,647 bytes in a column chunk of \d+\)")


@pytest.mark.parametrize(
    ("unpacked", "packed", "message"),
    [
        (-1, None, "field 2 is -1"),
        (100, -1, "field 3 is -1"),
        (100, 4000, "a page ends at"),
        (100, 2**31 - 1, "a page ends"),
    ],
)
def test_page_headers_that_are_wrong_are_refused(unpacked, packed, message, tmp_path):
    path = checksummed(tmp_path / "x.parquet")
    path.write_bytes(with_page_sizes(path, unpacked, packed))
    refused(path, match=f"x.parquet: .*damaged .{message}")


def test_pages_beyond_the_budget_are_refused_before_they_are_unpacked(tmp_path):
    n, d = 8000, 1000
    values = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(n * d)), d)
    path, good = tmp_path / "bomb.parquet", checksummed(tmp_path / "good.parquet")
    parquet.write_table(pa.table({"label": labels(n), "values": values}), path, compression="zstd",
                        use_dictionary=False, data_page_size=1 << 30)  # fmt: skip
    assert path.stat().st_size < 50_000
    taken, message = in_a_process(PEAK, path, good).split(" ", 1)
    assert int(taken) < 10_000_000
    assert "bomb.parquet: row group 0, one page of each column at a time, takes 64.2MB unpacked, the limit" in message


def test_lists_in_a_parquet_footer_are_no_longer_than_it_is(tmp_path):
    path, good = tmp_path / "x.parquet", checksummed(tmp_path / "good.parquet")
    schema, rows = b"\x15\x02\x19\x1c\x48\x01a\x00", b"\x16\x28"
    for many in (b"\x19\x1c\x19\xfc" + varint(999_999, 3), b"\x19\xfc" + varint(999_999, 3) + b"\x19\x0c\x00"):
        footer = schema + rows + many + bytes(20)
        path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
        taken, message = in_a_process(PEAK, path, good).split(" ", 1)
        assert int(taken) < 10_000_000
        assert "x.parquet: is not a Parquet file, or it is cut short or damaged" in message


def test_a_parquet_footer_cut_anywhere_is_refused(tmp_path):
    path = checksummed(tmp_path / "x.parquet")
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for stop in range(start, len(data) - 8, 7):
        path.write_bytes(data[:stop] + (stop - start).to_bytes(4, "little") + b"PAR1")
        refused(path, match="x.parquet: ")
    for nested in (b"\x1c", b"\x19", b"\x1b\x01\xcc", b"\x19\xfc\xff\xff\xff\xff\x0f"):
        path.write_bytes(b"PAR1" + 10_000 * nested + (10_000 * len(nested)).to_bytes(4, "little") + b"PAR1")
        refused(path, match="x.parquet: .*damaged")


def test_column_chunks_named_more_than_once_are_refused():
    chunk = parquet_pages.Chunk(4, 1004, 10, 1000, 8)
    with pytest.raises(ValueError, match="column chunks of 3,000 bytes in a file of 2,000"):
        parquet_pages.check_total([parquet_pages.Group([chunk] * 3, 3000, 10)], 2000)


FORMS = {
    "numbers": {"label": labels(), "a": pa.array(np.arange(ROWS) % 3.0), "b": pa.array(np.arange(ROWS) % 2 == 0),
                "c": pa.array(np.arange(ROWS, dtype=np.float32)), "d": pa.array(np.arange(ROWS) + 2**40)},
    "names": {"label": pa.array(["yes" * 9000, "no"] * (ROWS // 2)), "a": pa.array(np.arange(ROWS) * 1.0)},
    "lists": sparse_columns(),
    "fixed": {"label": labels(), "values": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(2.0 * ROWS)), 2)},
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "lz4", "zstd", "brotli"])
def test_parquet_files_of_every_form_are_read(form, version, codec, tmp_path):
    table, path = pa.table(FORMS[form]), tmp_path / "x.parquet"
    for dictionary, index, group, page in ((True, False, None, None), (False, True, 7, 16), (True, True, 3, 1 << 20)):
        parquet.write_table(table, path, compression=codec, data_page_version=version, use_dictionary=dictionary,
                            write_page_index=index, row_group_size=group, data_page_size=page)  # fmt: skip
        blocks = list(open_source(path).blocks())
        assert sum(len(block.labels) for block in blocks) == ROWS


def test_a_parquet_file_that_does_not_say_how_large_its_columns_are_is_read(tmp_path):
    path = checksummed(tmp_path / "x.parquet", "snappy")
    group = parquet.read_metadata(path).row_group(0)
    data = path.read_bytes()
    for k in range(2):  # field 6, total_uncompressed_size, which DuckDB had left at 0, and field 7 behind it
        column = group.column(k)
        unpacked, packed = (
            varint(2 * size, 2) for size in (column.total_uncompressed_size, column.total_compressed_size)
        )
        assert data.count(b"\x16" + unpacked + b"\x16" + packed) == 1
        data = data.replace(b"\x16" + unpacked + b"\x16" + packed, b"\x16\x80\x00\x16" + packed)
    path.write_bytes(data)
    assert sum(len(block.labels) for block in open_source(path).blocks()) == ROWS


class Keys(encryption.KmsClient):
    """Keys in the clear."""

    def wrap_key(self, key_bytes, master_key_identifier):
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key, master_key_identifier):
        return base64.b64decode(wrapped_key)


@pytest.mark.parametrize("plain_footer", [True, False])
def test_an_encrypted_parquet_file_is_refused_in_one_line(plain_footer, tmp_path):
    path, table = tmp_path / "x.parquet", pa.table({"label": labels(), "x": np.arange(ROWS) * 1.0})
    factory = encryption.CryptoFactory(lambda _: Keys())
    how = encryption.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": ["x"]}, plaintext_footer=plain_footer
    )
    keys = factory.file_encryption_properties(encryption.KmsConnectionConfig(), how)
    with parquet.ParquetWriter(path, table.schema, encryption_properties=keys) as writer:
        writer.write_table(table)
    refused(path, match="x.parquet: the Parquet file is encrypted: decrypt it first")


# Facts of a block file

FACTS = {"n": ROWS, "d": 8, "classes": [-1.0, 1.0], "ends": [ROWS]}


@pytest.mark.parametrize(
    "change",
    [
        {"ends": [-1_000_000, ROWS]}, {"ends": [0]}, {"ends": [ROWS + 1], "n": ROWS + 1}, {"ends": [19], "n": 19},
        {"ends": []}, {"ends": "20"}, {"ends": [20.0]}, {"ends": None}, {"ends": [[20]]}, {"ends": [True]},
        {"n": -1}, {"n": 2**70}, {"n": "20"}, {"n": None}, {"n": 19}, {"d": -1}, {"d": 2**70}, {"d": 7}, {"d": 1.5},
        {"classes": []}, {"classes": [1.0, -1.0]}, {"classes": [1.0, 1.0]}, {"classes": [float("nan"), 1.0]},
        {"classes": ["a", 1.0]}, {"classes": ["-1", "1"]}, {"classes": None}, {"classes": [[1]]}, {"classes": [2.0]},
        {"classes": [-1.0, 0.0, 2.0]}, {"classes": {"-1": 1}},
    ],
)  # fmt: skip
def test_facts_of_a_block_file_that_do_not_fit_are_refused(change, tmp_path):
    path = arrow(tmp_path / "x.arrow", sparse_columns(), metadata=json.dumps({**FACTS, **change}))
    for solver in ("auto", "cached_loops"):
        refused(path, solver=solver, memory="20MB", match="x.arrow: ")


@pytest.mark.parametrize("text", ["", "{", "[]", "1", '"a"', "{}", '{"n": 20}', "[" * 100_000, b"\xff\xfe", "NaN"])
def test_facts_of_a_block_file_that_are_no_json_are_refused(text, tmp_path):
    refused(arrow(tmp_path / "x.arrow", sparse_columns(), metadata=text), match="x.arrow: the facts of the block file")


def test_facts_that_fit_are_believed(tmp_path):
    for kind in (LISTS, pa.large_list(pa.int32())):
        path = arrow(tmp_path / "x.arrow", sparse_columns(kind), metadata=json.dumps(FACTS))
        assert open_source(path).facts.n == ROWS
        maxmargin.train(path, solver="cached_loops", memory="20MB", max_seconds=5, threads=1)


# Text

PEAK = """
import sys, maxmargin
from pathlib import Path
def most():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
same = dict(memory="50MB", threads=1, max_seconds=20)
if len(sys.argv) > 3:
    same["solver"] = sys.argv[3]
maxmargin.train(sys.argv[2], **same)
Path("/proc/self/clear_refs").write_text("5")
before = most()
try:
    maxmargin.train(sys.argv[1], **({"encode": "none"} if ".csv" in sys.argv[1] else {}), **same)
except maxmargin.MaxmarginError as error:
    print(most() - before, error)
"""


@pytest.fixture
def small(tmp_path):
    """A file that is as it should be."""
    path = tmp_path / "small.svm"
    path.write_text("1 1:1\n-1 1:2\n" * 50)
    return path


@pytest.mark.parametrize("solver", [None, "cached_loops"])
def test_an_endless_line_is_refused_within_the_memory(solver, small, tmp_path):
    path = tmp_path / "endless.svm.zst"
    with pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), "zstd") as file:
        file.write(b"1 1:1\n-1 1:2\n#")
        for _ in range(16):
            file.write(b"x" * (16 << 20))
    assert path.stat().st_size < 50_000
    said = in_a_process(PEAK, path, small, *([solver] if solver else []))
    taken, message = said.split(" ", 1)
    assert int(taken) < 70_000_000
    assert f"{path}:3: the line is longer than" in message


@pytest.mark.parametrize("ending", ["svm.zst", "csv.zst"])
def test_rows_that_unpack_to_more_than_the_memory_are_refused(ending, small, tmp_path):
    path = tmp_path / f"bomb.{ending}"
    line = b"1 1:1 2:1\n-1 1:2 2:2\n" if ending == "svm.zst" else b"1,1,1\n-1,2,2\n"
    with pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), "zstd") as file:
        file.write(b"label,a,b\n" if ending == "csv.zst" else b"")
        for _ in range(50):
            file.write(line * 100_000)
    assert path.stat().st_size < 100_000
    taken, message = in_a_process(PEAK, path, small).split(" ", 1)
    assert int(taken) < 250_000_000
    assert f"{path}: its rows take more than 67.2MB in memory: stream them" in message


@pytest.mark.parametrize("content", ["apple\nbanana\n", "1\n0\n1\n"])
def test_text_in_no_format_is_refused_everywhere(content, small, tmp_path, capsys):
    path, model = tmp_path / "words.txt", tmp_path / "model"
    path.write_text(content)
    maxmargin.train(small).model.save(model)
    for use in (
        lambda: maxmargin.train(path),
        lambda: maxmargin.train(path, solver="cached_loops"),
        lambda: maxmargin.train(path, solver="block_minimization"),
        lambda: maxmargin.train([path, small]),
        lambda: maxmargin.read(path),
    ):
        with pytest.raises(DataError) as caught:
            use()
        text = str(caught.value)
        assert text.startswith(str(path))
        assert "index:value" in text
        assert "\n" not in text
    for command in (["train", path], ["convert", path, tmp_path / "out"], ["score", model, path],
                    ["predict", model, path], ["inspect", path]):  # fmt: skip
        assert run([str(part) for part in command]) == 1
        said = capsys.readouterr().err
        assert "internal" not in said
        assert "index:value" in said


def test_some_rows_without_features_are_fine(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1\n1\n-1 3:1\n" * 10)
    assert maxmargin.train(path).model.d == 3
    assert maxmargin.train(path, solver="cached_loops").model.d == 3


# Arrays

NPY = b"\x93NUMPY\x01\x00"


def npy(text, values=b""):
    """A .npy file with that header."""
    data = text if isinstance(text, bytes) else text.encode()
    return NPY + len(data).to_bytes(2, "little") + data + values


HEADERS = [
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 4), }\n",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }\n",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (-4, 4), }\n",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (4, True), }\n",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (20, 4), \n",
    "{'descr': '<f8', 'fortran_order': False, 'shape': ((((20, 4), }\n",
    "{'descr': '|O', 'fortran_order': False, 'shape': (20, 4), }\n",
    "{'descr': '<U99', 'fortran_order': False, 'shape': (1, 1), }\n",
    "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2, 2), }\n",
    "{'descr': '<M8[s]', 'fortran_order': False, 'shape': (2, 2), }\n",
    "{'descr': 7, 'fortran_order': False, 'shape': (2, 2), }\n",
    "{'descr': '<f8', 'shape': (\n  " + 3 * "'",
    3 * "'", 3000 * "(", "", "{", "\\", 9000 * "0", b"\xff\xfe\x00",
]  # fmt: skip


@pytest.mark.parametrize("header", HEADERS)
def test_an_array_whose_header_is_wrong_is_refused(header, tmp_path):
    path, good = tmp_path / "x.npy", tmp_path / "good.npy"
    path.write_bytes(npy(header, bytes(640)))
    np.save(good, np.ones((20, 4)))
    refused(path, [0, 1] * 10, match="x.npy: ")
    refused(good, path, match="x.npy: |y has")
    for version in (b"\x02\x00", b"\x03\x00", b"\x09\x07", b"\x01"):
        path.write_bytes(NPY[:6] + version + npy(header)[8:])
        refused(path, [0, 1] * 10, match="x.npy: ")


# Short and long rows in little memory


@pytest.mark.parametrize("memory", ["4.2MB", "20MB"])
@pytest.mark.parametrize("solver", ["cached_loops", "block_minimization", "selective_blocks"])
def test_many_short_rows_are_trained_in_little_memory(memory, solver, tmp_path):
    path = tmp_path / "short.svm"
    path.write_text("+1 7:1\n-1 3:1\n" * 60_000)
    result = maxmargin.train(path, solver=solver, memory=memory, C=1e-3, tol=1e-3, threads=1)
    assert result.status.name == "CONVERGED"


def test_a_row_that_does_not_fit_names_the_memory_that_is_enough(tmp_path):
    path = tmp_path / "long.svm"
    row = " ".join(f"{j}:1" for j in range(1, 120_001))
    path.write_text("1 1:1\n-1 2:1\n" * 10 + f"1 {row}\n-1 {row}\n")
    text = refused(path, solver="cached_loops", memory="8MB", match=r"raise memory to [0-9.]+MB or more|at least")
    enough = text.split(" or more")[0].split(" to ")[-1]
    maxmargin.train(path, solver="cached_loops", memory=enough, max_seconds=2, threads=1)


# LIBSVM's models

LIBSVM = """svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 2
rho 0.25
label 1 -1
nr_sv 1 1
SV
1 1:1 2:0.5
-1 1:2 3:1
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("3:1", "2147483648:1"), ("3:1", f"{2**64}:1"), ("3:1", "-3:1"), ("3:1", "0:1"), ("3:1", "1:1"),
        ("3:1", "3:nan"), ("3:1", "3:1e999"), ("3:1", "3"), ("3:1", "x:1"), ("3:1", "9" * 5000 + ":1"),
        ("-1 1:2", "nan 1:2"), ("-1 1:2", "inf 1:2"), ("-1 1:2", "x 1:2"), ("-1 1:2 3:1\n", ""), ("SV", "SW"),
        ("total_sv 2", "total_sv -2"), ("total_sv 2", "total_sv 99999999999999999999"), ("total_sv 2", "total_sv"),
        ("nr_sv 1 1", "nr_sv -1 3"), ("nr_sv 1 1", "nr_sv 99999999999999999999 1"), ("nr_sv 1 1", "nr_sv 1"),
        ("nr_sv 1 1", "nr_sv 4611686018427387905 -4611686018427387903"), ("nr_class 2", "nr_class 1000000000"),
        ("nr_class 2", "nr_class -2"), ("label 1 -1", "label 1 1"), ("label 1 -1", "label 1"), ("label 1 -1", "label"),
        ("label 1 -1", f"label 1 {2**70}"), ("label 1 -1", "label a b"), ("rho 0.25", "rho nan"), ("rho 0.25", "rho"),
        ("rho 0.25", "rho inf"), ("gamma 0.5", "gamma nan"), ("gamma 0.5", "gamma -1"), ("gamma 0.5", "gamma 1e999"),
        ("gamma 0.5", "degree 1e999"), ("gamma 0.5", "degree 1000000000"), ("gamma 0.5", "degree 0"),
        ("kernel_type rbf", "kernel_type pickle"), ("kernel_type rbf", "kernel_type"), ("c_svc", "cobra"),
        ("kernel_type rbf", "kernel_type precomputed"), ("rho 0.25", "rho 0.25\nprobA nan\nprobB 0"),
        ("rho 0.25", "rho 0.25\nprobA 1 2\nprobB 0"),
    ],
)  # fmt: skip
def test_a_libsvm_model_that_is_wrong_is_refused(old, new, tmp_path):
    path = tmp_path / "x.model"
    path.write_text(LIBSVM)
    assert maxmargin.load(path).predict([[1.0, 0.5, 0.0]]).tolist() == [1]
    assert old in LIBSVM
    path.write_text(LIBSVM.replace(old, new))
    with pytest.raises(FileError) as caught:
        maxmargin.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


# maxmargin's own models, with a digest that is right


def saved(kind, path):
    """A model of that kind, in a file."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    if kind == "linear":
        maxmargin.train(X, y).model.save(path)
    elif kind == "expanded":
        maxmargin.train(X, y, expand="hash:4").model.save(path)
    elif kind == "kernel":
        maxmargin.train(sparse.csr_array(X), y, kernel="gaussian").model.save(path)
    elif kind == "polynomial":
        maxmargin.train(X, y, kernel="polynomial", degree=2).model.save(path)
    elif kind == "function":
        maxmargin.SVR().fit(X, X[:, 0]).model_.save(path)
    else:
        maxmargin.train(X, y, kernel="gaussian", approx=kind, components=6).model.save(path)
    return path


def array(name, change):
    def spoil(tensors, said):
        tensors[name] = change(tensors[name])

    return spoil


def entry(name, value, *places):
    def spoil(tensors, said):
        for place in places:
            said = said[place]
        said[name] = value

    return spoil


def without(name, *places):
    def spoil(tensors, said):
        for place in places:
            said = said[place]
        del said[name]

    return spoil


def with_value(value):
    def change(values):
        values = values.copy()
        values.reshape(-1)[0] = value
        return values

    return change


NAN, INF = float("nan"), float("inf")
SPOILT = {
    "linear": [
        array("w", lambda w: w.astype(np.float32)), array("w", lambda w: w.astype(np.int64)),
        array("w", lambda w: w[0]),
        array("w", with_value(NAN)), array("w", with_value(INF)), array("b", with_value(NAN)),
        array("b", lambda b: np.append(b, b)), array("dual_coef", with_value(NAN)), array("support", with_value(-1)),
        array("support", lambda s: s.astype(float)), array("support", lambda s: s[:-1]),
        entry("classes", [1, 0]), entry("classes", [0, 0]), entry("classes", [0]), entry("classes", []),
        entry("classes", [0, 1, 2]), entry("classes", [0, "a"]), entry("classes", [0, NAN]),
        entry("classes", [0, 2**70]),
        entry("classes", None), entry("classes", {"0": 1}), entry("classes", [[0], [1]]), entry("classes", [0, 1.5]),
        entry("class_type", "<U999999999"), entry("class_type", "|O"), entry("class_type", "<M8[s]"),
        entry("class_type", 8), entry("class_type", None), entry("class_type", "i8,i8"), entry("class_type", "<f16"),
        entry("training", []), entry("training", None), without("training"), without("certificate"), without("classes"),
        entry("certificate", 7), entry("certificate", {"primal": "a", "dual": 0.0}),
        entry("certificate", {"dual": 0.0}),
        entry("certificate", {"primal": NAN, "dual": 0.0}), entry("other", 1, "certificate"),
        entry("d", -1, "training"), entry("d", 2**70, "training"), entry("d", 1.5, "training"),
        entry("input_d", 10**6, "training"), entry("input_d", -1, "training"), entry("input_d", "3", "training"),
        entry("expand", "hash:2**60", "training"), entry("expand", "hash:1000", "training"),
        entry("expand", "fourier:2000000000", "training"), entry("expand", "poly2", "training"),
        entry("expand", "kmers:15", "training"), entry("expand", 7, "training"), entry("expand", "rm -rf", "training"),
        entry("loss", 7, "training"),
    ],
    "expanded": [entry("expand", "hash:8", "training"), entry("expand", "poly2", "training")],
    "kernel": [
        array("vectors.values", with_value(NAN)), array("vectors.values", lambda v: v.astype(np.int64)),
        array("vectors.values", lambda v: v[:-1]), array("vectors.indices", with_value(-1)),
        array("vectors.indices", with_value(10**6)), array("vectors.indices", lambda v: v.astype(float)),
        array("vectors.indices", lambda v: v.astype(np.uint8)), array("vectors.indptr", with_value(-3)),
        array("vectors.indptr", lambda v: v[::-1].copy()), array("vectors.indptr", lambda v: v[:0]),
        array("vectors.indptr", lambda v: v.astype(float)), array("vectors.indptr", lambda v: v + 5),
        array("n_support", with_value(-1)), array("n_support", lambda v: v.astype(float)),
        array("n_support", lambda v: np.array([-(10**6), 10**6 + v.sum()])), array("n_support", lambda v: v[:1]),
        array("dual_coef", with_value(NAN)), array("dual_coef", lambda v: v.T.copy()), array("b", with_value(INF)),
        array("b", lambda v: v[:0]), array("support", lambda v: v[:-1]), array("support", lambda v: v.astype(np.uint8)),
        entry("kernel", None), entry("kernel", []), without("kernel"), entry("name", "pickle", "kernel"),
        entry("name", 7, "kernel"), entry("name", ["a"], "kernel"), without("name", "kernel"),
        entry("gamma", "1", "kernel"), entry("gamma", NAN, "kernel"), entry("gamma", -1.0, "kernel"),
        entry("gamma", True, "kernel"), entry("gamma", None, "kernel"), entry("other", 1.0, "kernel"),
        entry("d", -1, "training"), entry("d", 2**61, "training"), entry("d", 2**70, "training"),
        entry("d", 2, "training"),
        entry("d", "3", "training"), without("d", "training"), entry("widens", 7, "training"),
    ],
    "polynomial": [
        entry("degree", 10**9, "kernel"), entry("degree", 0, "kernel"), entry("degree", 2.0, "kernel"),
        entry("degree", True, "kernel"), entry("coef0", INF, "kernel"), entry("d", 4, "training"),
        entry("widens", True, "training"), entry("name", "precomputed", "kernel"),
    ],
    "function": [
        array("coefficients", with_value(NAN)), array("coefficients", lambda v: v[:-1]),
        array("coefficients", lambda v: v.astype(np.float32)), entry("b", NAN), entry("b", "0"), entry("b", None),
        entry("width", INF), without("width"), without("kernel"), entry("training", 7),
    ],
    "nystrom": [
        array("whitening", with_value(NAN)), array("whitening", lambda v: v[:-1]),
        array("whitening", lambda v: v[:, :-1]),
        entry("features", None), entry("features", []), entry("name", "pickle", "features"),
        without("name", "features"),
        entry("d", 10**6, "features"), entry("d", None, "features"), entry("kernel", 3, "features"),
        entry("expand", "hash:4", "training"), entry("input_d", 100, "training"),
    ],
    "fourier": [
        array("frequencies", with_value(INF)), array("frequencies", lambda v: v[:-1]),
        array("frequencies", lambda v: v.astype(np.float32)), entry("d", 4, "features"),
        entry("name", None, "features"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", SPOILT)
def test_a_model_of_wrong_parts_is_refused_though_its_digest_is_right(kind, tmp_path):
    path = saved(kind, tmp_path / "model")
    known = {"linear": "model", "expanded": "model", "function": "kernel function"}
    name = known.get(kind, "approximate model" if kind in ("nystrom", "fourier") else "kernel model")
    maxmargin.load(path)
    for number, spoil in enumerate(SPOILT[kind]):
        tensors, said = read_tensors(path, name)
        spoil(tensors, said)
        wrong = tmp_path / f"wrong-{number}"
        write_tensors(wrong, name, tensors, said)
        try:
            maxmargin.load(wrong)
        except FileError as error:
            text = str(error)
            assert str(wrong) in text
            assert "\n" not in text
            assert len(text) < 500
        else:
            pytest.fail(f"{kind} {number} was not refused")


@pytest.mark.parametrize("said", ["", "{", "[]", "7", "[" * 100_000, None])
def test_a_model_whose_metadata_are_no_object_is_refused(said, tmp_path):
    tensors = {"w": np.zeros((1, 2))}
    header = {"kind": "model", "version": 1, "words": said, "digest": digest(str(said), tensors)}
    path = tmp_path / "model"
    save_file(tensors, path, {"maxmargin": json.dumps(header)})
    with pytest.raises(FileError, match="metadata that are not"):
        maxmargin.load(path)


# Memory that is not there


def wide():
    indices, indptr = np.array([0, 5, 2**40 - 1, 7]), np.arange(5)
    return sparse.csr_array((np.ones(4), indices, indptr), shape=(4, 2**40))


@pytest.mark.parametrize("settings", [{}, {"approx": "nystrom"}, {"approx": "fourier"}])
def test_a_kernel_on_too_many_features_is_refused_with_the_number(settings):
    refused(
        wide(), [0, 1, 0, 1], kernel="gaussian", match=r"1,099,511,627,776 features: .* takes 8796\.1GB", **settings
    )


def test_a_linear_model_on_too_many_features_is_refused_with_the_number():
    refused(
        wide(), [0, 1, 0, 1], match=r"1,099,511,627,776 features: .* 3 vectors .* take 26388\.3GB, and the computer has"
    )


def test_features_are_held_against_the_memory_of_the_machine_and_not_against_an_allocation(monkeypatch):
    monkeypatch.setattr("maxmargin.system.budget.total_memory", lambda: 2e9)
    X = sparse.csr_array((np.ones(4), np.array([0, 5, 2**27 - 1, 7]), np.arange(5)), shape=(4, 2**27))
    text = refused(
        X, [0, 1, 0, 1], match=r"134,217,728 features: .* 3 vectors .* take 3\.3GB, and the computer has 2GB"
    )
    assert "renumber the features" in text
    refused(
        X[:, : 2**26], [0, 1, 2, 2], match=r"67,108,864 features: .* 5 vectors .* take 2\.7GB, and the computer has 2GB"
    )
    budget.check_features(2**26)


def test_memory_that_is_not_there_is_said_with_the_number(monkeypatch):
    def fail(*_):
        raise MemoryError("Unable to allocate 9.1 TiB for an array")

    monkeypatch.setattr(examples, "squared_norms", fail)
    refused(
        [[0.0], [1.0]], [0, 1], match=r"out of memory \(Unable to allocate 9\.1 TiB for an array; .* are free\): give"
    )
