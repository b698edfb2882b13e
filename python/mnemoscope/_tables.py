"""Tables as columns: the same cells from CSV, JSON Lines and Parquet."""

from __future__ import annotations

import csv
import json
import os

import numpy as np

#: Kinds of cells, as `columns.json` names them, and their NumPy types.
KINDS = {"text": np.dtype(object), "float64": np.dtype(np.float64), "float32": np.dtype(np.float32), "int64": np.dtype(np.int64)}


def column(kind: str, cells: list) -> np.ndarray:
    """Cells as an array. `None` is a cell without a value: numbers then become a masked array, texts keep their `None`."""
    dtype = KINDS[kind]
    if kind == "text":
        array = np.empty(len(cells), dtype=object)
        array[:] = cells
        return array
    missing = np.fromiter((cell is None for cell in cells), dtype=bool, count=len(cells))
    number = int if kind == "int64" else float
    array = np.array([number(cell) if cell is not None else 0 for cell in cells], dtype=dtype)
    return np.ma.MaskedArray(array, mask=missing) if missing.any() else array


def read_csv(path: str, kinds: dict[str, str]) -> dict[str, np.ndarray]:
    """A CSV file. An empty cell of a column of texts is the empty text: CSV has no other way to say either."""
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        names = next(reader)
        rows = list(reader)
    cells = list(zip(*rows)) if rows else [()] * len(names)
    empty = {"text": ""}
    return {name: column(kinds[name], [cell if cell != "" else empty.get(kinds[name]) for cell in own]) for name, own in zip(names, cells)}


def read_jsonl(path: str, kinds: dict[str, str]) -> dict[str, np.ndarray]:
    """A file of a JSON object a line; `"NaN"` and its like become numbers again."""
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {name: column(kind, [row[name] for row in rows]) for name, kind in kinds.items()}


def read_parquet(path: str, kinds: dict[str, str]) -> dict[str, np.ndarray]:
    """A Parquet file; needs pyarrow."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    columns = {}
    for name, kind in kinds.items():
        own = table.column(name).combine_chunks()
        if kind == "text":
            columns[name] = column(kind, own.to_pylist())
            continue
        missing = own.is_null().to_numpy(zero_copy_only=False)
        numbers = own.fill_null(0).to_numpy(zero_copy_only=False).astype(KINDS[kind], copy=False)
        columns[name] = np.ma.MaskedArray(numbers, mask=missing) if missing.any() else numbers
    return columns


def as_frame(columns: dict[str, np.ndarray]):
    """Columns as a pandas data frame: whole numbers with gaps are of the type `Int64`, real numbers with gaps have NaN there."""
    import pandas

    def series(array: np.ndarray):
        if not isinstance(array, np.ma.MaskedArray):
            return array
        if array.dtype.kind == "i":
            return pandas.arrays.IntegerArray(array.data, np.ma.getmaskarray(array).copy())
        return array.filled(np.nan)

    return pandas.DataFrame({name: series(array) for name, array in columns.items()})


def readable(ending: str) -> bool:
    """True if a format can be read here."""
    if ending != "parquet":
        return True
    from importlib.util import find_spec

    return find_spec("pyarrow") is not None


READERS = {"parquet": read_parquet, "jsonl": read_jsonl, "csv": read_csv}


def read(folder: str, name: str, kinds: dict[str, str], formats: tuple[str, ...]) -> dict[str, np.ndarray]:
    """A table from the first of these formats that is there and can be read."""
    there = [ending for ending in formats if os.path.exists(os.path.join(folder, f"{name}.{ending}"))]
    for ending in there:
        if readable(ending):
            return READERS[ending](os.path.join(folder, f"{name}.{ending}"), kinds)
    if there:
        raise ImportError(f"the table {name!r} is here as {', '.join(there)} only, which pyarrow reads: pip install pyarrow")
    raise FileNotFoundError(f"{folder} has no file of the table {name!r} as {', '.join(formats)}")
