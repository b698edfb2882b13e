"""Arrays by name, from ``trace.npz`` or ``trace.safetensors``, read when they are asked for."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator, Mapping

import numpy as np

#: The array of an NPZ file that is no array of the trace: what the others mean, as JSON.
METADATA = "metadata"

_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}

#: A header longer than this is none.
_LONGEST_HEADER = 100_000_000


def _header(path: os.PathLike | str) -> tuple[dict, int]:
    """The header of a safetensors file, and where the numbers begin."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        start = file.read(8)
        if len(start) < 8:
            raise ValueError(f"{path}: too short to be a safetensors file")
        (length,) = struct.unpack("<Q", start)
        if length > min(size - 8, _LONGEST_HEADER):
            raise ValueError(f"{path}: not a safetensors file: its header would have {length} bytes")
        try:
            header = json.loads(file.read(length))
        except ValueError as error:
            raise ValueError(f"{path}: not a safetensors file: {error}") from error
    if not isinstance(header, dict):
        raise ValueError(f"{path}: not a safetensors file: its header is no map")
    return header, 8 + length


def _mapped(path: os.PathLike | str, name: str, entry: dict, start: int) -> np.ndarray:
    """One array of the file, mapped into memory and read-only: nothing is read before it is used."""
    begin, end = entry["data_offsets"]
    shape = tuple(entry["shape"])
    brain = entry["dtype"] == "BF16"
    if not brain and entry["dtype"] not in _DTYPES:
        raise ValueError(f"{path}: {name} has the unknown kind of number {entry['dtype']}")
    dtype = np.dtype("<u2" if brain else _DTYPES[entry["dtype"]])
    count = int(np.prod(shape, dtype=np.int64))
    if end - begin != count * dtype.itemsize or start + end > os.path.getsize(path):
        raise ValueError(f"{path}: {name} {shape} does not have {end - begin} bytes, or the file is cut short")
    if count == 0:
        return np.empty(shape, np.float32 if brain else dtype)
    array = np.memmap(path, dtype=dtype, mode="r", offset=start + begin, shape=shape)
    # NumPy has no bfloat16: it is the upper half of a float32.
    return (array.astype(np.uint32) << 16).view(np.float32) if brain else array


def read_safetensors(path: os.PathLike | str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays of a safetensors file (any one, not only of this program) by name, and its texts.

    The arrays are mapped into memory, not read, and cannot be written to.
    """
    header, start = _header(path)
    texts = header.pop("__metadata__", {})
    return {name: _mapped(path, name, entry, start) for name, entry in header.items()}, texts


class Arrays(Mapping):
    """The arrays of a bundle: a read-only mapping from names to NumPy arrays.

    An array is read when it is first asked for, and kept. ``arrays.find("OVQ.*")`` lists names by a pattern.
    """

    def __init__(self, path: os.PathLike | str | None):
        self._path = path
        self._kept: dict[str, np.ndarray] = {}
        self._npz = None
        self._header: dict | None = None
        self._about: dict | None = None
        if path is None:
            self._names: tuple[str, ...] = ()
        elif str(path).endswith(".npz"):
            self._npz = np.load(path, allow_pickle=False)
            self._names = tuple(name for name in self._npz.files if name != METADATA)
        else:
            self._header, self._start = _header(path)
            self._names = tuple(name for name in self._header if name != "__metadata__")

    def metadata(self) -> dict:
        """What the file says of itself: session, version, and of every array axes, unit and meaning; empty where it says nothing."""
        if self._about is None:
            text = None
            if self._npz is not None and METADATA in self._npz.files:
                text = str(self._npz[METADATA])
            elif self._header is not None:
                text = self._header.get("__metadata__", {}).get(METADATA)
            self._about = json.loads(text) if text else {}
        return self._about

    def find(self, pattern: str) -> list[str]:
        """The names that a pattern with ``*`` and ``?`` fits."""
        from fnmatch import fnmatchcase

        return [name for name in self._names if fnmatchcase(name, pattern)]

    def close(self) -> None:
        """Closes the file; arrays that were asked for stay as they are."""
        if self._npz is not None:
            self._npz.close()

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._kept:
            if name not in self._names:
                raise KeyError(f"no array {name!r}{_near(name, self._names)}")
            if self._npz is not None:
                self._kept[name] = self._npz[name]
            else:
                self._kept[name] = _mapped(self._path, name, self._header[name], self._start)
        return self._kept[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __repr__(self) -> str:
        return f"Arrays({len(self)} of {os.path.basename(str(self._path))!r})" if self._path is not None else "Arrays(none)"


def _near(name: str, known) -> str:
    """`; did you mean ..?`, where something like it is known."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
