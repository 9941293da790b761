"""The files of maxmargin: arrays and JSON metadata in a safetensors file with a kind and a version, without code."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.errors import FileError
from maxmargin.system.atomic_files import beginning, replacing

VERSION = 1  # Version of the file format.
KEY = "maxmargin"  # Key of the header in the safetensors metadata.
ALIGNMENT = 8  # Bytes: the arrays start at a multiple of the largest item size.
LONGEST_HEADER = 100_000_000  # Bytes; the limit of the safetensors format.
TYPES = {
    "f8": "F64", "f4": "F32", "i8": "I64", "i4": "I32", "i2": "I16", "i1": "I8",
    "u8": "U64", "u4": "U32", "u2": "U16", "u1": "U8", "b1": "BOOL",
}  # fmt: skip


def write_tensors(path: str | Path, kind: str, tensors: dict[str, np.ndarray], metadata: dict[str, Any]) -> None:
    """Write arrays and metadata atomically, without copying the arrays. The same content gives the same bytes."""
    names = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))  # wide types first: all are aligned
    tensors = {name: np.ascontiguousarray(tensors[name]) for name in names}
    text = json.dumps(metadata, sort_keys=True)
    header = {"kind": kind, "version": VERSION, "words": text, "digest": digest(text, tensors)}
    described: dict[str, Any] = {"__metadata__": {KEY: json.dumps(header, sort_keys=True)}}
    end = 0
    for name, value in tensors.items():
        start, end = end, end + value.nbytes
        described[name] = {"dtype": TYPES[value.dtype.str[1:]], "shape": value.shape, "data_offsets": [start, end]}
    head = json.dumps(described, separators=(",", ":")).encode()
    head += b" " * (-len(head) % ALIGNMENT)
    with replacing(path) as stream:
        stream.write(len(head).to_bytes(8, "little") + head)
        for value in tensors.values():
            stream.write(value.reshape(-1).view(np.uint8).data)


def read_tensors(path: str | Path, kind: str, *others: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read a file written by `write_tensors`; raise unless it is of this kind or one of the others."""
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
    """Return the JSON object of the metadata."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise FileError(
            f"{path}: the {kind} has metadata that are not JSON: it was not written by maxmargin"
        ) from error
    if not isinstance(found, dict):
        raise FileError(f"{path}: the {kind} has metadata that are not a JSON object: it was not written by maxmargin")
    return found


def read_header(path: str | Path) -> dict[str, Any]:
    """Return kind, version and metadata of a file, without its arrays; {} if `write_tensors` did not write it."""
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
    """Return a digest of the contents, to detect damage."""
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
        cause = " ".join(str(error).split())[:200]
        raise FileError(f"{path}: is not a maxmargin {kind}, or it is cut short or damaged ({cause})") from error


def looks_like_tensors(path: str | Path) -> bool:
    """Whether a file starts like a safetensors file: eight bytes of length, then a JSON object."""
    head = beginning(path, 9)
    return len(head) == 9 and head[8:] == b"{" and int.from_bytes(head[:8], "little") < 1 << 32
