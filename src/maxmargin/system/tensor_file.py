"""maxmargin's files: arrays and JSON in one safetensors file, of a stated kind and version. None holds code."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.errors import FileError
from maxmargin.system.atomic_files import beginning, replacing

VERSION = 1
KEY = "maxmargin"
ALIGNED = 8
LONGEST_HEADER = 100_000_000  # bytes; the safetensors format allows no more
TYPES = {
    "f8": "F64", "f4": "F32", "i8": "I64", "i4": "I32", "i2": "I16", "i1": "I8",
    "u8": "U64", "u4": "U32", "u2": "U16", "u1": "U8", "b1": "BOOL",
}  # fmt: skip


def write_tensors(path: str | Path, kind: str, tensors: dict[str, np.ndarray], metadata: dict[str, Any]) -> None:
    """Write arrays and words, atomically, without a copy of the arrays; the same content gives the same bytes."""
    names = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))  # wide numbers first: all are aligned
    tensors = {name: np.ascontiguousarray(tensors[name]) for name in names}
    said = json.dumps(metadata, sort_keys=True)
    header = {"kind": kind, "version": VERSION, "words": said, "digest": digest(said, tensors)}
    described: dict[str, Any] = {"__metadata__": {KEY: json.dumps(header, sort_keys=True)}}
    end = 0
    for name, value in tensors.items():
        start, end = end, end + value.nbytes
        described[name] = {"dtype": TYPES[value.dtype.str[1:]], "shape": value.shape, "data_offsets": [start, end]}
    text = json.dumps(described, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNED)
    with replacing(path) as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for value in tensors.values():
            stream.write(value.reshape(-1).view(np.uint8).data)


def read_tensors(path: str | Path, kind: str, *others: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read what `write_tensors` wrote, of this kind or another one; anything else is refused in one line."""
    header, tensors = _open(Path(path), kind)
    if header.get("kind") not in (kind, *others):
        raise FileError(f"{path}: is a maxmargin {header.get('kind')}, not a {kind}")
    if header.get("version") != VERSION:
        raise FileError(
            f"{path}: {kind} format {header.get('version')} is not the format {VERSION} that this maxmargin reads: "
            "use the maxmargin that wrote it, or a newer one"
        )
    if header.get("digest") != digest(str(header.get("words")), tensors):
        raise FileError(f"{path}: the {kind} is damaged: its content is not what was written; use another copy")
    return tensors, metadata_in(path, header.get("words"), kind)


def metadata_in(path: str | Path, text: Any, kind: str) -> dict[str, Any]:
    """The JSON object among the metadata."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise FileError(f"{path}: the {kind} has metadata that are no JSON: it was not written by maxmargin") from error
    if not isinstance(found, dict):
        raise FileError(f"{path}: the {kind} has metadata that are no object: it was not written by maxmargin")
    return found


def read_header(path: str | Path) -> dict[str, Any]:
    """Kind, version and words of a file, without its arrays; nothing for a file that `write_tensors` did not write."""
    try:
        with Path(path).open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if not 0 < length <= LONGEST_HEADER:
                return {}
            header = json.loads(json.loads(stream.read(length))["__metadata__"][KEY])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return header if isinstance(header, dict) else {}


def digest(metadata: str, tensors: dict[str, np.ndarray]) -> str:
    """A digest of all that a file says, so that a bit that flips is noticed."""
    found = hashlib.blake2b(metadata.encode(), digest_size=16)
    for name in sorted(tensors):
        found.update(f"{name} {tensors[name].dtype.str} {tensors[name].shape}".encode())
        found.update(tensors[name].reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def _open(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    from safetensors import SafetensorError, safe_open

    try:
        if path.is_dir():
            raise FileError(f"{path}: is a folder, not a {kind} file")
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if KEY not in metadata:
                raise FileError(f"{path}: is a safetensors file, but not one of maxmargin's")
            header = json.loads(metadata[KEY])
            if not isinstance(header, dict):
                raise FileError(f"{path}: is a safetensors file, but not one of maxmargin's")
            return header, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file") from None
    except OSError as error:
        raise FileError(f"{path}: cannot read: {error.strerror or error}") from error
    except FileError:
        raise
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError, RecursionError, MemoryError) as error:
        said = " ".join(str(error).split())[:200]
        raise FileError(f"{path}: is not a maxmargin {kind}, or it is cut short or damaged ({said})") from error


def looks_like_tensors(path: str | Path) -> bool:
    """Whether a file begins as a safetensors file does: eight bytes of length, then a JSON object."""
    head = beginning(path, 9)
    return len(head) == 9 and head[8:] == b"{" and int.from_bytes(head[:8], "little") < 1 << 32
