"""Text as sparse rows: hashed n-grams, weighted by TF-IDF, each row of length 1.

    characters   three and four letters of a word in a row, with a space before and after the word: " cat " has " ca",
                 "cat", "at ", " cat" and "cat "; for names and short values, where spelling tells much
    words        words, and pairs of words that follow each other; for sentences

An n-gram is hashed to one of 2^k buckets (FNV-1a). Its value is (1 + log count) idf of the bucket. Text is in lower
case. A word is a run of ASCII letters, digits, underscores, and all letters beyond ASCII.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.data.rows import Csr
from maxmargin.system.compiled import compiled, kernel

FEWEST, MOST = 8, 18  # binary logarithms of the number of buckets
SHORT_GRAM, LONG_GRAM = 3, 4  # characters of an n-gram
BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
SPACE = np.uint64(32)


def hashed(offsets: np.ndarray, text: np.ndarray, words: bool, buckets: int) -> Csr:
    """Return the counts of the n-grams of each text, text[offsets[i]:offsets[i+1]], in UTF-8 and lower case."""
    most = (1 if words else 3) * (int(offsets[-1] - offsets[0]) + len(offsets))  # a word has a letter and an end
    indptr = np.zeros(len(offsets), dtype=np.int64)
    indices, counts = np.empty(most, dtype=np.int32), np.empty(most)
    last = np.full(buckets, -1, dtype=np.int64)
    end = count_grams(offsets, text, words, buckets, last, indices, counts, indptr)
    return Csr(counts[:end], indices[:end], indptr, buckets)


def weighted(counts: Csr, idf: np.ndarray) -> Csr:
    """Return (1 + log count) idf, each row divided by its length."""
    values = np.empty(len(counts.values))
    weigh(counts.values, counts.indices, counts.indptr, idf, values)
    return counts._replace(values=values)


def frequencies(counts: Csr) -> np.ndarray:
    """Return the number of rows that have each n-gram."""
    return np.bincount(counts.indices, minlength=counts.d)


def inverse_frequencies(found: np.ndarray, rows: int) -> np.ndarray:
    """Return the smoothed idf, log((1 + n) / (1 + df)) + 1."""
    return np.asarray(np.log((1.0 + rows) / (1.0 + found)) + 1.0)


@kernel
def is_letter(letter):
    """Whether a byte belongs to a word."""
    return (
        letter >= 128 or (letter >= 97 and letter <= 122) or (letter >= 48 and letter <= 57)
        or (letter >= 65 and letter <= 90) or letter == 95
    )  # fmt: skip


@kernel
def begins(letter):
    """Whether a byte is the first of a character of UTF-8."""
    return (letter & 0xC0) != 0x80


@kernel
def mixed(h, letter):
    """Return the hash after one more byte."""
    return (h ^ np.uint64(letter)) * PRIME


@kernel
def bucket_of(h, buckets):
    """Return the bucket of a hash; `buckets` is a power of two."""
    return np.int64((h ^ (h >> np.uint64(32))) & np.uint64(buckets - 1))


@compiled
def count_grams(
    offsets: Any, text: Any, words: bool, buckets: int, last: Any, indices: Any, counts: Any, indptr: Any
) -> int:
    """Count the n-grams of each row; last[bucket] is where the bucket was stored last. Return the number stored."""
    end = 0
    for i in range(len(offsets) - 1):
        first, p, stop, before = end, offsets[i], offsets[i + 1], np.uint64(0)
        while p < stop:
            if not is_letter(text[p]):
                p += 1
                continue
            start = p
            while p < stop and is_letter(text[p]):
                p += 1
            if words:
                h = BASIS
                for q in range(start, p):
                    h = mixed(h, text[q])
                end = counted(bucket_of(h, buckets), first, end, last, indices, counts)
                if before != 0:
                    pair = mixed(before, SPACE)
                    for q in range(start, p):
                        pair = mixed(pair, text[q])
                    end = counted(bucket_of(pair, buckets), first, end, last, indices, counts)
                before = h
            else:
                end = characters_of(text, start, p, buckets, first, end, last, indices, counts)
        sort_row(indices, counts, first, end)
        indptr[i + 1] = end
    return end


@kernel
def counted(bucket, first, end, last, indices, counts):
    """Count an n-gram of the row that begins at `first`; return the new end."""
    at = last[bucket]
    if at >= first:
        counts[at] += 1.0
        return end
    last[bucket], indices[end], counts[end] = end, bucket, 1.0
    return end + 1


@kernel
def characters_of(text, start, stop, buckets, first, end, last, indices, counts):
    """Count the n-grams of the characters of one word, with a space before and after it. Return the new end."""
    q = start - 1  # the space before the word
    while q < stop:
        h, length, p = BASIS, 0, q
        while length < LONG_GRAM and p <= stop:
            if p < start or p == stop:
                h = mixed(h, SPACE)
                p += 1
            else:
                h = mixed(h, text[p])
                p += 1
                while p < stop and not begins(text[p]):
                    h = mixed(h, text[p])
                    p += 1
            length += 1
            if length >= SHORT_GRAM:
                end = counted(bucket_of(h, buckets), first, end, last, indices, counts)
        q += 1
        while start < q < stop and not begins(text[q]):
            q += 1
    return end


@kernel
def sort_row(indices, counts, first, end):
    """Sort the entries of one row by their index."""
    if end - first <= 64:
        for p in range(first + 1, end):
            index, count, q = indices[p], counts[p], p
            while q > first and indices[q - 1] > index:
                indices[q], counts[q] = indices[q - 1], counts[q - 1]
                q -= 1
            indices[q], counts[q] = index, count
    else:
        order = np.argsort(indices[first:end])
        indices[first:end] = indices[first:end][order]
        counts[first:end] = counts[first:end][order]


@compiled
def weigh(counts: Any, indices: Any, indptr: Any, idf: Any, values: Any) -> None:
    """Store (1 + log count) idf, divided by the length of the row."""
    for i in range(len(indptr) - 1):
        square = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            values[p] = (1.0 + np.log(counts[p])) * idf[indices[p]]
            square += values[p] * values[p]
        if square > 0.0:
            scale = 1.0 / np.sqrt(square)
            for p in range(indptr[i], indptr[i + 1]):
                values[p] *= scale
