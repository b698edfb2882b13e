"""A small bundle, made here: every kind of array and cell, in every format that can be written without Mnemoscope."""

import csv
import json
import math
import os
import struct

import numpy as np

#: The arrays, by name.
ARRAYS = {
    "writes": np.arange(2, 6),
    "reads": np.array([1, 2]),
    "after": np.array([4, 6]),
    "a b.steps": np.array([1, 2]),
    "a b.ids_offsets": np.array([[0, 2, 2], [2, 3, 6]]),
    "a b.outputs": np.arange(12, dtype=np.float32).reshape(2, 2, 3),
    "a b.ids": np.array([4, 7, 1, 2, 3, 9], dtype=np.int32),
    "a b.empty": np.zeros((2, 0), dtype=np.float32),
    "a b.final.state": np.full((1, 2), np.nan, dtype=np.float32),
}

#: The columns of the one table: kind and cells, `None` where there is no value.
COLUMNS = {
    "index": ("int64", [2, 3, 4, 5]),
    "text": ("text", ['a,"b"', "\n", "", " é"]),
    "a b.entered": ("int64", [None, 2**53 + 1, -1, None]),
    "a b.margin": ("float32", [0.1, math.inf, -math.inf, math.nan]),
    "a b.norm": ("float64", [0.1, None, 1e300, -2.5]),
}


def about():
    """What `columns.json` holds."""

    def array(name, value):
        entry = {"dtype": str(value.dtype), "shape": list(value.shape), "axes": ["x"] * value.ndim, "unit": "1", "meaning": f"what {name} is"}
        if name == "a b.ids":
            entry["offsets"] = "a b.ids_offsets"
        return name, entry

    columns = [{"name": name, "type": kind, "unit": "", "meaning": f"the column {name}"} for name, (kind, _) in COLUMNS.items()]
    return {
        "mnemoscope": "bundle 1",
        "version": "0.1.0",
        "title": "made",
        "session": "()\n",
        "session_sha256": "",
        "lanes": [{"name": "a b", "layer": "lola", "title": "LoLA", "chunk": 2, "params": {"cache": 2}, "notes": ["a note"]}],
        "files": ["trace.npz", "trace.safetensors", "tokens.csv", "tokens.jsonl", "tokens.parquet", "README.md", "columns.json"],
        "arrays": dict(array(name, value) for name, value in ARRAYS.items()),
        "tables": {"tokens": {"about": "One row a write.", "rows": 4, "columns": columns}},
    }


def write(folder):
    """Writes the bundle."""
    text = json.dumps(about())
    with open(os.path.join(folder, "columns.json"), "w", encoding="utf-8") as file:
        file.write(text)
    np.savez(os.path.join(folder, "trace.npz"), metadata=np.array(text), **ARRAYS)
    kinds = {"float32": "F32", "int32": "I32", "int64": "I64"}
    header, data = {"__metadata__": {"metadata": text}}, b""
    for name, value in ARRAYS.items():
        own = value.tobytes()
        header[name] = {"dtype": kinds[str(value.dtype)], "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(own)]}
        data += own
    head = json.dumps(header).encode()
    with open(os.path.join(folder, "trace.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + data)
    rows = list(zip(*(cells for _, cells in COLUMNS.values())))
    with open(os.path.join(folder, "tokens.csv"), "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(["" if cell is None else cell for cell in row] for row in rows)

    def strict(cell):
        if isinstance(cell, float) and not math.isfinite(cell):
            return "NaN" if math.isnan(cell) else f"{'-' if cell < 0 else ''}Infinity"
        return cell

    with open(os.path.join(folder, "tokens.jsonl"), "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(dict(zip(COLUMNS, map(strict, row))), allow_nan=False) + "\n")
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        return
    types = {"text": pyarrow.string(), "int64": pyarrow.int64(), "float32": pyarrow.float32(), "float64": pyarrow.float64()}
    arrays = {name: pyarrow.array(cells, types[kind], from_pandas=False) for name, (kind, cells) in COLUMNS.items()}
    pyarrow.parquet.write_table(pyarrow.table(arrays), os.path.join(folder, "tokens.parquet"))
