"""Encoded columns from the JSON of a model file. Every value is checked: the file may come from anywhere."""

from __future__ import annotations

from typing import Any

from maxmargin.data.encoding.columns import Category, Column, Date, LeftOut, Number, Text
from maxmargin.data.encoding.ngrams import FEWEST, MOST
from maxmargin.system.file_checks import real, short

MOST_CATEGORIES = 1 << 20


def column_of(found: Any) -> Column:
    """Return the column; raise ValueError if it is none."""
    kind = found.get("kind") if isinstance(found, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"encoder: {short(kind)} is no kind of column")
    return KINDS[kind](word(found, "name"), found)


def number(name: str, found: dict[str, Any]) -> Number:
    """Return a number."""
    mean, scale, low, high = (real(found, part) for part in ("mean", "scale", "low", "high"))
    if not scale > 0.0 or low > high:
        raise ValueError(f"encoder: scale or limits of {short(name)} are wrong")
    return Number(name, mean, scale, low, high, truth(found, "missing"))


def category(name: str, found: dict[str, Any]) -> Category:
    """Return a category."""
    values, rare = (words(found, part) for part in ("values", "rare"))
    if not 1 <= len(values) <= MOST_CATEGORIES or len({*values, *rare}) < len(values) + len(rare):
        raise ValueError(f"encoder: values of {short(name)} are wrong")
    return Category(name, values, rare, truth(found, "missing"))


def text(name: str, found: dict[str, Any]) -> Text:
    """Return text."""
    buckets, grams = found.get("buckets"), found.get("grams")
    if type(buckets) is not int or buckets not in {1 << k for k in range(FEWEST, MOST + 1)}:
        raise ValueError(f"encoder: {short(buckets)} is no number of buckets")
    if not isinstance(grams, list) or not all(is_gram(one, buckets) for one in grams):
        raise ValueError(f"encoder: grams of {short(name)} are wrong")
    column = Text(name, truth(found, "words"), buckets, word(found, "idf"), grams)
    try:
        _ = column.weights
    except Exception as error:
        raise ValueError(f"encoder: idf of {short(name)} is damaged ({error})") from error
    return column


def is_gram(found: Any, buckets: int) -> bool:
    """Whether this is a bucket with an n-gram."""
    pair = isinstance(found, list) and len(found) == 2
    return pair and type(found[0]) is int and 0 <= found[0] < buckets and isinstance(found[1], str)


def date(name: str, found: dict[str, Any]) -> Date:
    """Return a date."""
    form = None if found.get("form") is None else word(found, "form")
    mean, scale = real(found, "mean"), real(found, "scale")
    if not scale > 0.0:
        raise ValueError(f"encoder: scale of {short(name)} is wrong")
    return Date(name, form, mean, scale, truth(found, "clock"), truth(found, "missing"))


def left_out(name: str, found: dict[str, Any]) -> LeftOut:
    """Return a column that is left out."""
    return LeftOut(name, word(found, "why"))


KINDS = {"number": number, "category": category, "text": text, "date": date, "left out": left_out}


def word(found: dict[str, Any], part: str) -> str:
    """Return a text; raise if it is none."""
    value = found.get(part)
    if not isinstance(value, str):
        raise ValueError(f"encoder: {part} is {short(value)}, not text")
    return value


def words(found: dict[str, Any], part: str) -> list[str]:
    """Return a list of texts; raise if it is none."""
    values = found.get(part)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"encoder: {part} is not a list of texts")
    return values


def truth(found: dict[str, Any], part: str) -> bool:
    """Return true or false; raise if it is neither."""
    value = found.get(part)
    if not isinstance(value, bool):
        raise ValueError(f"encoder: {part} is {short(value)}, not true or false")
    return value
