"""Tables that cannot be used, and odd ones that can: one clear line on the command line and in Python, nothing left."""

import gzip

import numpy as np
import pandas as pd
import pytest

import maxmargin
from maxmargin.cli import run
from maxmargin.errors import MaxmarginError

HEAD = "a,b,label\n"
LINES = [f"{k / 7:.3f},{'xyz'[k % 3]},{'ny'[k % 2]}\n" for k in range(200)]
ROWS = "".join(LINES)
COUNTED = range(200)
MANY = ROWS * 300  # more than the beginning of a file that is looked at
HALF = "".join(LINES[:100])
COMMANDS = {
    "train": ["train", "FILE", "-m", "new.model", "-q"], "inspect": ["inspect", "FILE"],
    "convert": ["convert", "FILE", "new.arrow", "-q"], "score": ["score", "known.model", "FILE"],
    "predict": ["predict", "known.model", "FILE", "-o", "new.txt"],
}  # fmt: skip
ALL, READING = tuple(COMMANDS), ("train", "inspect", "convert")

# the content; what is said; the commands that say so: the others succeed
WRONG = {
    "a field less": (HEAD + HALF + "1.0,x\n" + HALF, "line 102 has 2 fields, and the first line 3", ALL),
    "a field more": (HEAD + HALF + "1.0,x,n,extra\n", "line 102 has 4 fields, and the first line 3", ALL),
    "a field less at the end": (HEAD + MANY + "1.0,x\n", "line 60,002 has 2 fields", ALL),
    "a name more": ("a,b,label,more\n" + ROWS, "line 2 has 3 fields, and the first line 4", ALL),
    "an open quote": (HEAD + '"1.0,x,n\n' + ROWS, "line 2 has 1 field.*is a quote never closed", ALL),
    "an open quote at the end": (HEAD + MANY + '1.0,"x,n\n', "is a quote never closed", ALL),
    "an open quote before many lines": (HEAD + ROWS + '1.0,"x,n\n' + MANY * 3, "is a quote never closed", ALL),
    "two headers": (HEAD + HEAD + ROWS, "(row 0|line 2) .*repeats the names", ALL),
    "a header in the middle": (HEAD + HALF + HEAD + HALF, "(row 100|line 102) .*repeats the names", ALL),
    "a header at the end": (HEAD + MANY + HEAD, "(row 60,000|line 60,002) .*repeats the names", ALL),
    "a name twice": ("a,a,label\n" + ROWS, "two columns have the same name, 'a'", ALL),
    "a label column twice": ("a,label,label\n" + ROWS, "two columns have the same name, 'label'", ALL),
    "no label column": ("a,b,c\n" + ROWS, "name the column of labels", (*READING, "score")),
    "one label": (HEAD + ROWS.replace(",y\n", ",n\n"), "1 class only", ("train",)),
    "a continuous label": (HEAD + "".join(f"{k % 9},x,{k / 3}\n" for k in COUNTED), "too many for classes", ("train",)),
    "a label for each row": (HEAD + "".join(f"{k % 9},x,id{k}\n" for k in COUNTED), "too many for classes", ("train",)),
    "no label in a row": (HEAD + ROWS + "1.0,x,\n", r"row 200 \(counted from 0\) has no label", ALL),
    "nothing but labels": ("label\n" + "n\ny\n" * 50, "features are missing", ALL),
    "nothing but names": (HEAD, "no rows", ALL),
    "nothing": ("", "no rows", ALL),
    "an infinite number": (HEAD + ROWS + "inf,x,n\n", r"column 'a', row 200 \(counted from 0\) is infinite", ALL),
    "a number beyond all": (HEAD + ROWS + "1" * 10**6 + ",x,n\n", "column 'a', row 200 .* is infinite", ALL),
    "a label of a megabyte": (HEAD + ROWS + "1.0,x," + "l" * 10**6 + "\n", "a text of 1,000,000 bytes", ALL),
    "Latin 1": ((HEAD + ROWS + "1.0,caf\xe9,n\n").encode("latin1"), "line 202 is not UTF-8", ALL),
    "Latin 1 at the end": ((HEAD + MANY + "1.0,caf\xe9,n\n").encode("latin1"), "line 60,002 is not UTF-8", ALL),
    "Latin 1 in names": (("caf\xe9,b,label\n" + ROWS).encode("latin1"), "line 1 is not UTF-8", ALL),
    "UTF-16 without a mark": ((HEAD + ROWS).encode("utf-16-le"), "UTF-16 without a byte order mark", ALL),
    "UTF-16 with half a letter": (b"\xff\xfe" + (HEAD + ROWS).encode("utf-16-le") + b"\xe9", "is not UTF-8, nor", ALL),
    "a spreadsheet": (b"PK\x03\x04" + bytes(range(256)) * 20, "is a ZIP archive or a spreadsheet", ALL),
    "HTML": ("<!DOCTYPE html><html><body><table></table></body></html>\n", "is HTML, and not a table", ALL),
    "JSON": ('[{"a": 1, "label": "n"},\n {"a": 2, "label": "y"}]\n', "is JSON, and not a table", ALL),
    "a damaged archive": (gzip.compress((HEAD + ROWS).encode())[:-100], "(cannot read|ended before)", ALL),
    "other columns": ("c,d,label\n" + ROWS, "trained with 'a', 'b', missing here; not known are", ("score", "predict")),
}  # fmt: skip


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    folder = tmp_path_factory.mktemp("known")
    (folder / "known.csv").write_text(HEAD + ROWS)
    maxmargin.train(folder / "known.csv", tol=0.1).model.save(folder / "known.model")
    return folder / "known.model"


@pytest.fixture
def here(tmp_path, monkeypatch, known):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "known.model").write_bytes(known.read_bytes())
    return tmp_path


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_table_is_refused_by_every_command_in_one_line(name, here, capsys):
    content, message, refusing = WRONG[name]
    (here / "rows.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    for command, given in COMMANDS.items():
        before = set(here.iterdir())
        code = run(["rows.csv" if one == "FILE" else one for one in given])
        said = capsys.readouterr()
        if command not in refusing:
            assert code == 0, said.err
            continue
        assert code == 1
        assert set(here.iterdir()) == before
        [line] = said.err.splitlines()
        assert line.startswith("maxmargin: rows.csv")
        with pytest.raises(AssertionError, match=message):
            raise AssertionError(line)


@pytest.mark.parametrize("name", [name for name, (_, _, refusing) in WRONG.items() if "train" in refusing])
def test_a_wrong_table_is_refused_in_python_in_one_line(name, here):
    content, message, _ = WRONG[name]
    (here / "rows.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(MaxmarginError, match=message) as caught:
        maxmargin.train("rows.csv")
    assert "\n" not in str(caught.value)


ODD = {
    "names of mark-up and quotes": '<script>alert(1)</script>,"b""q\'; drop",label\n' + ROWS,
    "a name with a line end": '"a\nb",b,label\n' + ROWS,
    "a name with control characters": "a\x1b[31m,b,label\n" + ROWS,
    "a name of a hundred thousand letters": "a" * 10**5 + ",b,label\n" + ROWS,
    "names that are missing": ",,label\n" + ROWS,
    "blank lines": HEAD + "\n\n" + ROWS + "\n\n",
    "a quote within a field": HEAD + ROWS + '1.0,x"y,n\n',
    "a zero byte": HEAD + ROWS + "1.0,x\0y,n\n",
    "a cell of a megabyte": HEAD + ROWS + '1.0,"' + "word " * 200_000 + '",n\n',
    "a cell of a megabyte in the first row": HEAD + '1.0,"' + "word " * 200_000 + '",n\n' + ROWS,
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_table_is_trained_on_and_predicted(name, here, capsys):
    (here / "rows.csv").write_text(ODD[name], newline="")
    assert run(["train", "rows.csv", "-m", "odd.model", "-q"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    for given in (["score", "odd.model", "rows.csv"], ["inspect", "rows.csv"], ["inspect", "odd.model"]):
        assert run(given) == 0
        said = capsys.readouterr()
        assert "\x1b" not in said.out + said.err
    assert (here / "odd.model").stat().st_size < 500_000


def test_long_texts_are_no_categories():
    texts = ["x" * 2000, "y" * 2000, *["red", "green"] * 100]
    encoder = maxmargin.train(pd.DataFrame({"v": texts}), [0, 1] * 101).model.training["encoder"]
    assert encoder["columns"][0]["values"] == ["green", "red"]


def test_thousands_of_columns_are_read_with_their_names(here):
    rng, count = np.random.default_rng(0), 5_500
    table = pd.DataFrame(rng.integers(0, 9, (20, count)), columns=[f"column {k}" for k in range(count)])
    table.assign(label=[0, 1] * 10).to_csv("wide.csv", index=False)
    model = maxmargin.train("wide.csv", tol=0.1).model
    assert model.d == count
    assert model.predict(table).tolist() == [0, 1] * 10
