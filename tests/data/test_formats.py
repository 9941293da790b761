"""Every file format is recognised, read as it was written, sized and listed; one from outside is too."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import maxmargin
from maxmargin.cli.options import DataFile
from maxmargin.data.files import size_in_memory
from maxmargin.data.formats import FORMATS, Format, register
from maxmargin.data.open_source import kind_of, open_source
from maxmargin.data.rows import Dense
from maxmargin.data.source import START, OneFile, Place, RowBlock
from maxmargin.errors import FileError, ParameterError

X = np.array([[1.5, 0.0], [0.0, -2.0], [3.0, 4.0], [0.25, 1.0]])
y = np.array([1, -1, 1, -1])


def table():
    return pa.table({"a": X[:, 0], "b": X[:, 1], "label": y})


FILES = {
    "text": ("rows", lambda path: maxmargin.write(path, X, y)),
    "csv": ("rows.csv", lambda path: csv.write_csv(table(), path)),
    "parquet": ("rows", lambda path: parquet.write_table(table(), path)),
    "arrow": ("rows", lambda path: feather.write_feather(table(), path, compression="uncompressed")),
    "npy": ("rows.npy", lambda path: np.save(path, X)),
}
every_format = pytest.mark.parametrize("name", FILES)


def written(name, folder):
    path = folder / FILES[name][0]
    FILES[name][1](path)
    return path


def test_the_table_is_of_all_formats():
    assert set(FILES) == set(FORMATS)


@every_format
def test_a_file_is_recognised_and_read_as_it_was_written(name, tmp_path):
    path = written(name, tmp_path)
    assert kind_of(path) == name
    rows, labels = maxmargin.read(path, None if FORMATS[name].has_labels else y, encode="none")
    assert np.array_equal(rows.toarray() if hasattr(rows, "toarray") else rows, X)
    assert np.array_equal(labels, y)


@every_format
def test_labels_beside_a_file_that_has_its_own_are_refused(name, tmp_path):
    path = written(name, tmp_path)
    if FORMATS[name].has_labels:
        with pytest.raises(FileError, match="brings its own labels"):
            open_source(path, y)
    else:
        assert open_source(path, y).facts.n == len(y)


@every_format
def test_a_file_is_sized_by_its_format(name, tmp_path):
    path = written(name, tmp_path)
    assert size_in_memory(path) == FORMATS[name].growth(path) * path.stat().st_size


@every_format
@pytest.mark.parametrize(
    ("sentence", "file"),
    [
        (maxmargin.read.__doc__, "data/files.py"),
        (maxmargin.train.__doc__, "training.py"),
        (DataFile.__metadata__[0].help, "cli/options.py"),
    ],
    ids=["read", "train", "help"],
)
def test_docstrings_and_help_list_every_format(name, sentence, file):
    assert FORMATS[name].title in " ".join(sentence.split()), f"add {FORMATS[name].title} in src/maxmargin/{file}"


@dataclass
class LinesSource(OneFile):
    """The signature, then a line for each row: label, values."""

    def __post_init__(self):
        super().__post_init__()
        self.facts, self.places, self.any_order = None, None, False

    def blocks(self, start=START):
        self.check()
        values = np.array([line.split() for line in self.path.read_text().splitlines()[1:]], dtype=np.float64)
        rows = Dense(np.ascontiguousarray(values[:, 1:]))
        yield RowBlock(rows, values[:, 0].astype(int), start, Place(0, self.size, len(values)), self.size)


def test_a_format_from_outside_is_one_registration(tmp_path):
    path = Path(tmp_path / "rows")
    lines = [" ".join(map(str, [label, *row])) for label, row in zip(y.tolist(), X.tolist(), strict=True)]
    path.write_text("\n".join(["LINES1", *lines]))
    register(Format("lines", "Lines", lambda path, how: LinesSource(path), starts=((b"LINES1", ""),)))
    assert kind_of(path) == "lines"
    result = maxmargin.train(path, tol=1e-6)
    assert np.array_equal(result.model.w, maxmargin.train(X, y, tol=1e-6).model.w)


def test_a_format_that_no_file_could_be_of_is_refused():
    with pytest.raises(ParameterError, match="lacks starts and suffixes"):
        register(Format("nothing", "Nothing", lambda path, how: LinesSource(path)))
