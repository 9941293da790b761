"""Chooses what each column of a table becomes, from its statistics.

    numbers                          standardised; mostly zeros keep their zero; two values 0 and 1 stay
    text that reads as dates         a date
    up to 40 values, or up to 1000   categories; more than 40 only if a value has 50 rows on average
    text, one word, never twice      left out: an id
    other text                       n-grams of words, or of characters if values have few words
    one value, or none               left out
    whole numbers without gaps       left out: a number of the row

Text that reads as numbers is read again as numbers (`numbers_in_text`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain, pairwise
from typing import Any

import numpy as np

from maxmargin.data.encoding.arrow_columns import as_numbers, is_date, is_encodable, is_text, one_array
from maxmargin.data.encoding.arrow_text import all_match, as_text, buffers_of, bytes_of
from maxmargin.data.encoding.columns import Category, Column, Date, LeftOut, Number, Text, distinct_of, packed
from maxmargin.data.encoding.dates import form_of, hours_of, seconds_of
from maxmargin.data.encoding.ngrams import (
    FEWEST,
    LONG_GRAM,
    MOST,
    SHORT_GRAM,
    count_words,
    frequencies,
    hashed,
    inverse_frequencies,
)
from maxmargin.data.encoding.statistics import ColumnStatistics, TableStatistics, short
from maxmargin.errors import DataError

KINDS = ("number", "category", "text", "date", "drop")
FEW_VALUES = 40  # up to which text is a category
ROWS_A_VALUE = 50  # at least, of a category with more values
RARE_ROWS = 10  # a value with fewer rows is rare
OUTER = 0.005  # part of the numbers at each end that may be far away
# Numbers are limited to the range between the two ends, widened by this part of it at each side. Chosen from 0, 0.1,
# 0.25, 0.5 and 1 on the tables ames, credit_data and mlc_churn; no worse than 1 on Chicago, lending_club and others.
BEYOND = 0.1
SENTENCE = 4.0  # words from which text is hashed by words
LEAST_ROWS = 100  # of a table in which ids are looked for
NAMED = 1000  # buckets of a column of text that have names
TEXTS = 2000  # texts from which the names come
WORD = re.compile(r"[A-Za-z0-9_\u0080-\U0010ffff]+")  # as ngrams.py cuts them
ID, ROW_NUMBER = "no value is there twice: an id", "it numbers the rows: an id"
PANDAS_INDEX = "__index_level_"


def chosen(statistics: TableStatistics, name: str, kind: str | None) -> Column:
    """Return what a column becomes; `kind` is what the user wants, if anything."""
    sampled = one_array(statistics.sample, name)
    if kind == "drop":
        return LeftOut(name, "as you asked")
    if kind is None and name.startswith(PANDAS_INDEX):
        return LeftOut(name, "the index of a data frame")
    if not is_encodable(sampled.type):
        return LeftOut(name, f"{sampled.type} cannot be encoded")
    found = statistics.columns[name]
    if found.missing == statistics.rows:
        return LeftOut(name, "every value is missing")
    if kind is None:
        kind = kind_of(found, sampled, statistics)
    if kind not in WAYS:
        return LeftOut(name, kind)
    return WAYS[kind](found, sampled, statistics)


def kind_of(found: ColumnStatistics, sampled: Any, statistics: TableStatistics) -> str:
    """Return the kind of a column, or why it is left out."""
    if found.numbers:
        return kind_of_numbers(found, sampled, statistics)
    if is_date(sampled.type) or form_of(as_text(sampled)):
        return "date"
    many = statistics.rows >= LEAST_ROWS and not found.missing
    counts = found.counts or {}
    if counts and (statistics.rows >= ROWS_A_VALUE * len(counts) or is_few(found)):
        alone = sum(counts.values()) == statistics.rows and len(counts) == 1
        return f"every value is {next(iter(counts))!r}" if alone else "category"
    texts = as_text(sampled)
    return ID if many and never_twice(texts) and words_of(texts) < 1.5 else "text"


def is_few(found: ColumnStatistics) -> bool:
    """Whether a column has few distinct values."""
    return found.counts is not None and len(found.counts) <= FEW_VALUES


def kind_of_numbers(found: ColumnStatistics, sampled: Any, statistics: TableStatistics) -> str:
    """Return the kind of a column of numbers, or why it is left out."""
    if found.missing:
        return "number"
    if found.least == found.most:
        return f"every value is {found.least:g}"
    many = statistics.rows >= LEAST_ROWS
    return ROW_NUMBER if many and numbers_rows(found, sampled, statistics.rows) else "number"


def numbers_rows(found: ColumnStatistics, sampled: Any, rows: int) -> bool:
    """Whether a column holds whole numbers without gaps, none of them twice: a number of the row."""
    if found.most - found.least + 1 != rows:
        return False
    values = as_numbers(sampled, found.name)
    return bool(np.all(values == np.rint(values))) and len(np.unique(values)) == len(values)


def never_twice(texts: Any) -> bool:
    """Whether all texts differ."""
    from pyarrow import compute

    return bool(compute.count_distinct(texts).as_py() == len(texts))


def words_of(texts: Any) -> float:
    """Return the mean number of words of the texts that are there."""
    texts = texts.drop_null()
    return count_words(*buffers_of(texts)) / len(texts) if len(texts) else 0.0


def numbers_in_text(statistics: TableStatistics, name: str) -> bool:
    """Whether a column was read as text, and its values are numbers; those that begin with 0 are codes."""
    found, column = statistics.columns[name], one_array(statistics.sample, name)
    if found.numbers or not is_text(column.type):
        return False
    sampled = as_text(column).drop_null()
    return len(sampled) > 0 and all_match(sampled, r"^[+-]?(0|[1-9]\d*)?(\.\d*)?([eE][+-]?\d+)?$")


def number(found: ColumnStatistics, sampled: Any, statistics: TableStatistics) -> Number:
    """Return a number, standardised by the mean and the standard deviation without what is far away."""
    values = as_numbers(sampled, f"column {found.name!r}")
    values = values[np.isfinite(values)]
    if not found.numbers and len(values):
        found.least, found.most = float(np.min(values)), float(np.max(values))
    sparse = 2 * found.zeros > statistics.rows - found.missing
    if found.least >= 0.0 and found.most == 1.0 and np.all((values == 0.0) | (values == 1.0)):
        return Number(found.name, 0.0, 1.0, 0.0, 1.0, found.missing > 0)
    inner = values[values != 0.0] if sparse else values
    low, high = outer_quantiles(inner) if len(inner) else (found.least, found.most)
    beyond = BEYOND * (high - low)
    low, high = low - beyond, high + beyond
    if sparse:
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        low, high = found.least, found.most
    kept = np.clip(values, low, high)
    mean = 0.0 if sparse else float(np.mean(kept))
    scale = float(np.std(kept)) or 0.5 * (found.most - found.least) or 1.0
    return Number(found.name, mean, scale, float(low), float(high), found.missing > 0)


def outer_quantiles(values: np.ndarray) -> tuple[float, float]:
    """Return the numbers between which all but the part OUTER at each end lie; as np.quantile, with less overhead."""
    last = len(values) - 1
    at = np.array([OUTER, 1.0 - OUTER]) * last
    below = np.minimum(at.astype(np.int64), max(last - 1, 0))
    above = np.minimum(below + 1, last)
    parted = np.partition(values, np.concatenate([below, above]))
    low, high = parted[below] + (at - below) * (parted[above] - parted[below])
    return float(low), float(high)


def category(found: ColumnStatistics, sampled: Any, statistics: TableStatistics) -> Category:
    """Return categories in the order of the alphabet; values with few rows are rare if there are at least two."""
    counts = found.counts
    if counts is None or found.numbers:
        pairs = short(as_text(sampled).drop_null()).value_counts().to_pylist()
        counts = {pair["values"]: pair["counts"] for pair in pairs}
        if found.counts is None and len(counts) > FEW_VALUES:
            counts = dict(Counter(counts).most_common(FEW_VALUES * 25))
    rare = sorted(value for value, count in counts.items() if count < RARE_ROWS)
    if len(rare) < 2 or len(counts) <= 2 or statistics.rows < LEAST_ROWS:
        rare = []
    values = sorted(set(counts) - set(rare))
    return Category(found.name, values, rare, found.missing > 0)


def text(found: ColumnStatistics, sampled: Any, statistics: TableStatistics) -> Text:
    """Return hashed n-grams, in at least twice as many buckets as the sample has n-grams."""
    texts = as_text(sampled)
    words = words_of(texts) >= SENTENCE
    counts = hashed(*bytes_of(texts), words, 1 << MOST)
    distinct = np.count_nonzero(frequencies(counts, 1 << MOST))
    buckets = 1 << min(max(int(2 * distinct).bit_length(), FEWEST), MOST)
    idf = inverse_frequencies(frequencies(counts, buckets), len(texts))
    return Text(found.name, words, buckets, packed(idf), names_of(texts, words, buckets))


def names_of(texts: Any, words: bool, buckets: int) -> list[list[Any]]:
    """Return the most frequent n-grams with their buckets."""
    grams = word_grams if words else character_grams
    texts = texts.drop_null().slice(0, TEXTS).to_pylist()
    counts = Counter(chain.from_iterable(grams(WORD.findall(value.lower())) for value in texts))
    taken: dict[int, str] = {}
    for gram, _ in counts.most_common(NAMED):
        taken.setdefault(bucket_of_gram(gram, buckets), gram)
    return [[bucket, gram] for bucket, gram in sorted(taken.items())]


def word_grams(words: list[str]) -> Iterable[str]:
    """Return the distinct words and pairs of words of a text, in an order that is the same in every process."""
    return dict.fromkeys(chain(words, map(" ".join, pairwise(words))))


def character_grams(words: list[str]) -> Iterable[str]:
    """Return the distinct runs of three and four characters of words, with a space before and after each."""
    padded, lengths = [f" {word} " for word in words], range(SHORT_GRAM, LONG_GRAM + 1)
    return dict.fromkeys(word[k : k + m] for word in padded for m in lengths for k in range(len(word) - m + 1))


def bucket_of_gram(gram: str, buckets: int) -> int:
    """Return the bucket of one n-gram, as ngrams.py does."""
    h = 0xCBF29CE484222325
    for letter in gram.encode():
        h = ((h ^ letter) * 0x100000001B3) % (1 << 64)
    return (h ^ (h >> 32)) & (buckets - 1)


def date(found: ColumnStatistics, sampled: Any, statistics: TableStatistics) -> Date:
    """Return the parts of a date."""
    form = None
    if not is_date(sampled.type):
        sampled = as_text(sampled)
        form = form_of(sampled)
        if form is None:
            raise DataError(
                f"column {found.name!r} holds text that does not read as dates: leave out {found.name}=date"
            )
    distinct, codes = distinct_of(sampled)
    seconds, there = seconds_of(distinct, form)
    seconds = seconds[codes][there[codes]]
    clock = bool(np.any(hours_of(seconds) != 0.0))
    spread = float(np.std(seconds)) or 1.0
    return Date(found.name, form, float(np.mean(seconds)), spread, clock, found.missing > 0)


WAYS = {"number": number, "category": category, "text": text, "date": date}
