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
# Entries of a row up to which its buckets are sorted by their ranks: n² comparisons, but without a branch. For 13
# entries this takes 50 ns, and 150 ns by insertion; for 64, 0.3 µs and 1.9 µs. From 1000 on np.argsort is as fast.
RANKED = 512

LETTERS = np.array(
    [code >= 128 or 97 <= code <= 122 or 48 <= code <= 57 or 65 <= code <= 90 or code == 95 for code in range(256)]
)  # whether a byte belongs to a word


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


def frequencies(counts: Csr, buckets: int) -> np.ndarray:
    """Return the number of rows that have an n-gram of each bucket, for as many buckets as there are or fewer."""
    found = np.zeros(buckets, dtype=np.int64)
    count_rows_with(counts.indices, counts.indptr, np.full(buckets, -1, dtype=np.int64), found)
    return found


def inverse_frequencies(found: np.ndarray, rows: int) -> np.ndarray:
    """Return the smoothed idf, log((1 + n) / (1 + df)) + 1."""
    return np.asarray(np.log((1.0 + rows) / (1.0 + found)) + 1.0)


@compiled
def count_words(offsets: Any, text: Any) -> int:
    """Count the words of all texts, runs of anything but ASCII spaces."""
    count = 0
    for i in range(len(offsets) - 1):
        inside = False
        for p in range(offsets[i], offsets[i + 1]):
            space = text[p] == 32 or 9 <= text[p] <= 13
            count += not space and not inside
            inside = not space
    return count


@compiled
def count_rows_with(indices: Any, indptr: Any, last: Any, found: Any) -> None:
    """Count the rows of each bucket; last[bucket] is the last of them. `bucket_of` keeps the low bits of a hash."""
    for i in range(len(indptr) - 1):
        for p in range(indptr[i], indptr[i + 1]):
            bucket = indices[p] & (len(found) - 1)
            if last[bucket] != i:
                last[bucket] = i
                found[bucket] += 1


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
    end, keys, numbers = 0, np.empty(RANKED, dtype=np.int32), np.empty(RANKED)
    for i in range(len(offsets) - 1):
        first, p, stop, before = end, offsets[i], offsets[i + 1], np.uint64(0)
        while p < stop:
            if not LETTERS[text[p]]:
                p += 1
                continue
            start, h, pair = p, BASIS, mixed(before, SPACE)
            while p < stop and LETTERS[text[p]]:
                h, pair = mixed(h, text[p]), mixed(pair, text[p])
                p += 1
            if words:
                end = counted(bucket_of(h, buckets), first, end, last, indices, counts)
                if before != 0:
                    end = counted(bucket_of(pair, buckets), first, end, last, indices, counts)
                before = h
            else:
                end = characters_of(text, start, p, buckets, first, end, last, indices, counts)
        sort_row(indices, counts, first, end, keys, numbers)
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
def sort_row(indices, counts, first, end, keys, numbers):
    """Sort the entries of one row by their index. The indices differ, so that the rank of each one is its place."""
    n = end - first
    if n > RANKED:
        order = np.argsort(indices[first:end])
        indices[first:end] = indices[first:end][order]
        counts[first:end] = counts[first:end][order]
        return
    for p in range(n):
        keys[p], numbers[p] = indices[first + p], counts[first + p]
    for p in range(n):
        rank = np.int32(0)
        for q in range(n):
            rank += np.int32(keys[q] < keys[p])
        indices[first + rank], counts[first + rank] = keys[p], numbers[p]


@compiled
def weigh(counts: Any, indices: Any, indptr: Any, idf: Any, values: Any) -> None:
    """Store (1 + log count) idf, divided by the length of the row."""
    for i in range(len(indptr) - 1):
        square = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            values[p] = idf[indices[p]]
            if counts[p] != 1.0:
                values[p] *= 1.0 + np.log(counts[p])
            square += values[p] * values[p]
        if square > 0.0:
            scale = 1.0 / np.sqrt(square)
            for p in range(indptr[i], indptr[i + 1]):
                values[p] *= scale
