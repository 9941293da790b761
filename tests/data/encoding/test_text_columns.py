"""Columns of text as bytes and n-grams: shortcuts for plain text give what the general way gives."""

import json
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import compute

from maxmargin.data.encoding.arrow_text import all_match, as_text, bytes_of
from maxmargin.data.encoding.choice import words_of
from maxmargin.data.encoding.columns import Date, Unseen
from maxmargin.data.encoding.dates import form_of
from maxmargin.data.encoding.ngrams import RANKED, frequencies, hashed
from maxmargin.data.encoding.parts import OneHot, Values

TEXTS = {
    "plain": ["Some Words", "others", "THIRD one"],
    "spaces": [" Some", "others ", "\tthird", "NA", " NA "],
    "beyond ASCII": ["Straße", "ÉCOLE", "\u00a0space", "東京"],
    "missing": [None, "", "word", "n/a", None],
    "empty": [],
    "all missing": [None, None],
}
GRAMS = """
import json, pyarrow as pa
from maxmargin.data.encoding.choice import names_of
print(json.dumps(names_of(pa.array([f"word{k} word{k + 1} end" for k in range(2000)]), True, 1 << 12)))
"""


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_text_is_trimmed_and_missing_where_it_says_so(name, kind):
    column = pa.array(["before", *TEXTS[name], "after"], kind).slice(1, len(TEXTS[name]))
    trimmed = [None if text is None else text.strip() for text in TEXTS[name]]
    assert as_text(column).to_pylist() == [None if text in ("", "NA", "n/a") else text for text in trimmed]


@pytest.mark.parametrize("name", TEXTS)
def test_bytes_are_those_of_text_in_lower_case(name):
    column = pa.array(["Before", *TEXTS[name], "After"]).slice(1, len(TEXTS[name]))
    offsets, text = bytes_of(column)
    found = [bytes(text[a:b]).decode() for a, b in pairwise(offsets)]
    assert found == compute.utf8_lower(column.fill_null("")).to_pylist()


@pytest.mark.parametrize("words", [3, RANKED // 2 - 1, RANKED // 2 + 2, 2 * RANKED])
def test_ngrams_of_a_row_are_in_order_and_all_counted(words):
    text = " ".join(f"w{k}" for k in range(words)) + " w0"
    counts = hashed(*bytes_of(pa.array([text])), True, 1 << 18)
    assert np.all(np.diff(counts.indices) > 0)
    assert counts.values.sum() == 2 * (words + 1) - 1
    assert counts.values.max() == 2.0


def test_frequencies_in_fewer_buckets_are_those_of_text_hashed_to_them():
    texts = bytes_of(pa.array([f"some words {k} and {k % 7}" for k in range(300)]))
    many = hashed(*texts, True, 1 << 16)
    few = hashed(*texts, True, 1 << 8)
    np.testing.assert_array_equal(frequencies(many, 1 << 8), np.bincount(few.indices, minlength=1 << 8))


def test_words_are_counted_among_the_texts_that_are_there():
    assert words_of(pa.array(["one two", None, " three\tfour  five\n"])) == 2.5
    assert words_of(pa.array([None], pa.string())) == 0.0


def test_a_late_text_of_another_form_is_found():
    dates = ["2024-01-05"] * 50
    assert form_of(pa.array(dates)) == "%Y-%m-%d"
    assert form_of(pa.array([*dates, "5.1.2024"])) is None
    assert all_match(pa.array(["1", "2"]), r"^\d$")
    assert not all_match(pa.array(["1"] * 50 + ["x"]), r"^\d$")


@pytest.mark.parametrize("missing", [True, False])
def test_dates_that_repeat_become_what_each_alone_becomes(missing):
    texts = ["2024-02-29", None, "2023-12-31", "no date", "2024-02-29"] * 20
    column = Date("day", "%Y-%m-%d", 1.7e9, 1e6, False, missing)
    every = column.parts(pa.array(texts), 0, unseen := Unseen())
    assert (unseen.values, unseen.missing) == ({"day": 20}, {} if missing else {"day": 20})
    for k, text in enumerate(texts[:5]):
        for whole, alone in zip(every, column.parts(pa.array([text], pa.string()), 0, Unseen()), strict=True):
            assert isinstance(whole, Values | OneHot)
            assert whole[0][k] == alone[0][0]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.date32(), pa.timestamp("us", "UTC")])
@pytest.mark.parametrize("coded", [True, False])
def test_dates_of_every_type_become_the_same(kind, coded):
    plain = pa.array(["2024-02-29", "2023-12-31"] * 10)
    typed = plain.cast(kind) if kind in (pa.string(), pa.large_string()) else plain.cast(pa.date32()).cast(kind)
    column = Date("day", "%Y-%m-%d", 1.7e9, 1e6, False, False)
    known = column.parts(plain, 0, Unseen())
    found = column.parts(typed.dictionary_encode() if coded else typed, 0, Unseen())
    assert all(np.array_equal(one[0], other[0]) for one, other in zip(known, found, strict=True))


def test_names_of_ngrams_are_the_same_in_every_process():
    found = {
        subprocess.run(
            [sys.executable, "-c", GRAMS], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1
    assert len(json.loads(found.pop())) > 900
