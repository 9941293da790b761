"""Ways to damage a file: bytes of any format, and what the format means.

A mutator takes the random numbers, the bytes of the file and those of another one of its format.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Random = np.random.Generator
Mutator = Callable[[Random, bytes, bytes], bytes]

NUMBERS = (
    b"0", b"-1", b"1", b"2147483647", b"2147483648", b"-2147483649", b"4294967296", b"9223372036854775807", b"1e308",
    b"1e309", b"-1e400", b"1e-400", b"nan", b"inf", b"-inf", b"0x10", b"1_000", b"00", b".", b"1e", b"--1", b"true",
    b"99999999999999999999999", b"", b"1.5", b"\xff\xfe", b'"a"', b"null", b"[]", b"1:1", b":", b"3:", b"1e5000000",
)  # fmt: skip
WORDS = (0, 1, -1, 2, 3, 7, 20, 24, 60, 64, 1000, 65536, 2**31 - 1, -(2**31), 2**30, -1000)
LEAVES: tuple[Any, ...] = (
    None, True, 0, -1, 1, 3, 2**31, 2**53, 2**63, 10**30, -(10**6), 1.5, float("nan"), float("inf"), "", "x", "linear",
    [], [1], [0, 0], [-1000000, 20], {}, {"name": "gaussian"}, "é" * 20, "\n",
)  # fmt: skip


def flip_bits(rng: Random, data: bytes, other: bytes) -> bytes:
    """A few bits turned."""
    changed = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        if changed:
            changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def set_bytes(rng: Random, data: bytes, other: bytes) -> bytes:
    """Some bytes in a row overwritten."""
    start, length = cut(rng, data, 9)
    return data[:start] + bytes(rng.choice([0, 255, 127, 128, 10, 32, 44, 58], size=length)) + data[start + length :]


def insert_bytes(rng: Random, data: bytes, other: bytes) -> bytes:
    """Some bytes more."""
    start, _ = cut(rng, data, 1)
    return data[:start] + rng.bytes(int(rng.integers(1, 9))) + data[start:]


def delete_bytes(rng: Random, data: bytes, other: bytes) -> bytes:
    """Some bytes fewer."""
    start, length = cut(rng, data, int(rng.choice([2, 9, 200])))
    return data[:start] + data[start + length :]


def truncate(rng: Random, data: bytes, other: bytes) -> bytes:
    """Only the beginning, or only the end."""
    start, _ = cut(rng, data, 1)
    return data[:start] if rng.random() < 0.8 else data[start:]


def splice(rng: Random, data: bytes, other: bytes) -> bytes:
    """The beginning of one file and the end of another."""
    return data[: cut(rng, data, 1)[0]] + other[cut(rng, other, 1)[0] :]


def repeat_chunk(rng: Random, data: bytes, other: bytes) -> bytes:
    """A piece several times."""
    start, length = cut(rng, data, 200)
    return data[:start] + data[start : start + length] * int(rng.choice([2, 3, 50])) + data[start + length :]


def edit_number(rng: Random, data: bytes, other: bytes) -> bytes:
    """A number in the text replaced by one at the edge of what is possible."""
    places = list(re.finditer(rb"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", data[:20_000]))
    if not places:
        return flip_bits(rng, data, other)
    place = places[rng.integers(len(places))]
    return data[: place.start()] + NUMBERS[rng.integers(len(NUMBERS))] + data[place.end() :]


def edit_number_in_place(rng: Random, data: bytes, other: bytes) -> bytes:
    """The digits of a number changed; everything stays where it is."""
    places = list(re.finditer(rb"-?\d+", data))
    if not places:
        return flip_bits(rng, data, other)
    place = places[rng.integers(len(places))]
    digits = bytes(rng.choice(list(b"0123456789-."), size=place.end() - place.start()).tolist())
    return data[: place.start()] + digits + data[place.end() :]


def edit_word(rng: Random, data: bytes, other: bytes) -> bytes:
    """An aligned whole number of 4 or 8 bytes set: offsets, lengths and sizes in binary formats are such."""
    width = int(rng.choice([4, 4, 8]))
    if len(data) < width:
        return data
    start = int(rng.integers(len(data) // width)) * width
    value = int(rng.choice(WORDS)) if rng.random() < 0.7 else int.from_bytes(data[start : start + width], "little") + 1
    return data[:start] + (value % (1 << (8 * width))).to_bytes(width, "little") + data[start + width :]


def edit_offsets(rng: Random, data: bytes, other: bytes) -> bytes:
    """An entry of an array of rising offsets, as lists in Arrow files have: negative, too large, or falling."""
    kind = np.dtype(np.int32 if rng.random() < 0.7 else np.int64)
    words = np.frombuffer(data, kind, count=len(data) // kind.itemsize).copy()
    runs = rising_runs(words)
    if not runs:
        return edit_word(rng, data, other)
    start, stop = runs[rng.integers(len(runs))]
    place = int(rng.choice([start, stop - 1, rng.integers(start, stop)]))
    words[place] = rng.choice(WORDS)
    changed = words.tobytes()
    return changed + data[len(changed) :]


def rising_runs(words: np.ndarray) -> list[tuple[int, int]]:
    """Where an array begins with 0 and rises slowly for at least eight steps."""
    steps = np.diff(words.astype(np.float64))
    fine = (steps >= 0) & (steps < 100)
    found = []
    for start in np.flatnonzero(words[:-8] == 0):
        rises = fine[start:]
        stop = start + 1 + (int(np.argmin(rises)) if not rises.all() else len(rises))
        if stop - start >= 8 and words[stop - 1] > 0:
            found.append((int(start), int(stop)))
    return found


def cut(rng: Random, data: bytes, most: int) -> tuple[int, int]:
    """Where a piece begins, and how long it is."""
    start = int(rng.integers(len(data) + 1))
    return start, int(min(rng.integers(1, most + 1), len(data) - start))


BYTES: tuple[Mutator, ...] = (
    flip_bits, set_bytes, insert_bytes, delete_bytes, truncate, splice, repeat_chunk, edit_number,
)  # fmt: skip
BINARY: tuple[Mutator, ...] = (*BYTES, edit_number_in_place, edit_word, edit_word, edit_offsets, edit_offsets)
UNPACKERS: dict[str, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    ".gz": (gzip.decompress, lambda data: gzip.compress(data, 1, mtime=0)),
    ".bz2": (bz2.decompress, lambda data: bz2.compress(data, 1)),
    ".xz": (lzma.decompress, lambda data: lzma.compress(data, preset=0)),
}


def mutate(rng: Random, form: str, path: Path, other: bytes) -> bytes:
    """A file of that format, damaged once or a few times."""
    data = path.read_bytes()
    if form in ("model", "checkpoint") and rng.random() < 0.6:
        return edit_tensors(rng, data)
    if form == "blocks" and rng.random() < 0.3:
        return edit_block_metadata(rng, data)
    if form == "parquet" and rng.random() < 0.3:
        return edit_page_header(rng, data)
    some = BYTES if form in ("text", "csv", "dna", "libsvm_model", "liblinear_model") else BINARY
    if path.suffix in UNPACKERS and rng.random() < 0.5:
        unpack, pack = UNPACKERS[path.suffix]
        return pack(damaged(rng, unpack(data), unpack_or(unpack, other), some))
    return damaged(rng, data, other, some)


def damaged(rng: Random, data: bytes, other: bytes, some: tuple[Mutator, ...]) -> bytes:
    """Bytes after one to four mutations."""
    for _ in range(int(rng.choice([1, 1, 1, 2, 3, 4]))):
        data = some[rng.integers(len(some))](rng, data, other)
    return data


def unpack_or(unpack: Callable[[bytes], bytes], data: bytes) -> bytes:
    """The content of a compressed file; the bytes themselves if they are not compressed in that way."""
    try:
        return unpack(data)
    except (OSError, EOFError, ValueError, lzma.LZMAError):
        return data


def edit_tensors(rng: Random, data: bytes) -> bytes:
    """A safetensors file of maxmargin with other arrays or metadata, and a digest that is right again."""
    from maxmargin.system.tensor_file import KEY, TYPES, digest

    header, tensors = tensors_in(data)
    said = json.loads(header["__metadata__"][KEY])
    field = next(name for name, value in said.items() if isinstance(value, str) and value.startswith("{"))
    words = json.loads(said[field])
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        if rng.random() < 0.5 and tensors:
            edit_tensor(rng, tensors)
        else:
            words = edit_json(rng, words)
    said[field] = json.dumps(words, sort_keys=True)
    said["digest"] = digest(said[field], tensors)
    described: dict[str, Any] = {"__metadata__": {KEY: json.dumps(said)}}
    body = b""
    for name, value in tensors.items():
        offsets = [len(body), len(body) + value.nbytes]
        described[name] = {"dtype": TYPES[value.dtype.str[1:]], "shape": value.shape, "data_offsets": offsets}
        body += value.tobytes()
    text = json.dumps(described).encode()
    if rng.random() < 0.1:
        text = edit_number(rng, text, b"")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + body


def tensors_in(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header of a safetensors file, and its arrays."""
    from maxmargin.system.tensor_file import TYPES

    kinds = {name: kind for kind, name in TYPES.items()}
    end = 8 + int.from_bytes(data[:8], "little")
    header, tensors = json.loads(data[8:end]), {}
    for name, said in header.items():
        if name != "__metadata__":
            start, stop = said["data_offsets"]
            values = np.frombuffer(data[end + start : end + stop], np.dtype(kinds[said["dtype"]]))
            tensors[name] = values.reshape(said["shape"]).copy()
    return header, tensors


def edit_tensor(rng: Random, tensors: dict[str, np.ndarray]) -> None:
    """An array with another value, type, shape or length, or none at all."""
    name = str(rng.choice(sorted(tensors)))
    value, kind = tensors[name], rng.integers(7)
    if kind == 0:
        del tensors[name]
    elif kind == 1:
        tensors[name] = value.astype(rng.choice(["f4", "f8", "i4", "i8", "u1", "b1", "u8"]))
    elif kind == 2:
        tensors[name] = value.reshape(-1)[: rng.integers(value.size + 1)].copy()
    elif kind == 3:
        tensors[name] = value.reshape(value.shape[::-1]) if value.ndim > 1 else value[None]
    elif kind == 4:
        tensors[name] = np.concatenate([value, value]) if value.ndim else value[None]
    elif value.size:
        edge = rng.choice([0.0, -1.0, 1e9, np.nan, np.inf, 2.0**31, 24.0, -1e300])
        with np.errstate(all="ignore"):
            value.reshape(-1)[rng.integers(value.size)] = np.array(edge).astype(value.dtype)


def edit_json(rng: Random, words: Any) -> Any:
    """One place of a JSON value changed, left out, or of another type."""
    if isinstance(words, dict) and words and rng.random() < 0.9:
        name = str(rng.choice(sorted(words)))
        if rng.random() < 0.15:
            return {key: value for key, value in words.items() if key != name}
        return {**words, name: edit_json(rng, words[name])}
    if isinstance(words, list) and words and rng.random() < 0.7:
        place = int(rng.integers(len(words)))
        return [*words[:place], edit_json(rng, words[place]), *words[place + 1 :]]
    return LEAVES[rng.integers(len(LEAVES))]


def edit_page_header(rng: Random, data: bytes) -> bytes:
    """A Parquet file with a page header that lies: type, sizes or counts, in as many bytes as before or in five."""
    from pyarrow import BufferReader, parquet

    metadata = parquet.read_metadata(BufferReader(data))
    column = metadata.row_group(0).column(int(rng.integers(metadata.num_columns)))
    start = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
    ends = [k for k in range(start, start + 16) if data[k] < 128]
    number = int(rng.choice([1, 1, 1, 3, 3, 5]))  # a byte announces each number: 1 is the type's, 3 and 5 the sizes'
    first, stop = ends[number - 1] + 1, ends[number] + 1
    longer = rng.random() < 0.3
    bits = [127] * 4 + [int(rng.integers(16))] if longer else rng.integers(128, size=stop - first).tolist()
    coded = bytes(low | (128 if k < len(bits) - 1 else 0) for k, low in enumerate(bits))
    return data[:first] + coded + data[stop:]


def edit_block_metadata(rng: Random, data: bytes) -> bytes:
    """A block file whose metadata say something else."""
    import pyarrow as pa

    from maxmargin.data.tables.block_facts import KEY

    reader = pa.ipc.open_file(pa.BufferReader(data))
    last = reader.num_record_batches - 1
    out = io.BytesIO()
    with pa.ipc.new_file(out, reader.schema) as writer:
        for number in range(reader.num_record_batches):
            batch = reader.get_batch_with_custom_metadata(number)
            said = batch.custom_metadata
            if number == last and said is not None:
                words = edit_json(rng, json.loads(said[KEY]))
                text = json.dumps(words) if rng.random() < 0.8 else edit_number(rng, said[KEY], b"").decode("latin-1")
                said = {KEY: text}
            writer.write_batch(batch.batch, custom_metadata=said)
    return out.getvalue()
