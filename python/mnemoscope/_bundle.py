"""A bundle: the folder that Mnemoscope writes a trace into."""

from __future__ import annotations

import builtins
import json
import os
from importlib.util import find_spec

import numpy as np

from . import _tables
from ._arrays import Arrays, _near

_COLUMNS = "columns.json"
_ARRAYS = ("trace.safetensors", "trace.npz")
_KIND = "bundle 1"


class BundleError(ValueError):
    """What was opened is no bundle of this kind."""


def open(path: os.PathLike | str) -> Bundle:
    """Opens a bundle: its folder, or its `trace.npz` or `trace.safetensors` alone (then there are no tables).

    Nothing but `columns.json` is read before it is asked for.
    """
    return Bundle(path)


class Bundle:
    """A trace: arrays and tables by name, and what the names mean.

    ``arrays``
        every array, by name: ``bundle.arrays["OVQ.outputs"]``.
    ``lanes``
        the names of the lanes; ``bundle.lane("OVQ")`` is one of them.
    ``tables``
        the names of the tables; ``bundle.table("tokens")`` is one of them.
    ``about``
        what the bundle says of itself: session, version, range, lanes with their parameters.
    """

    def __init__(self, path: os.PathLike | str):
        path = os.fspath(path)
        if os.path.isdir(path):
            self.path = path
            described = os.path.join(path, _COLUMNS)
            if not os.path.exists(described):
                raise BundleError(f"{path} has no {_COLUMNS}: it is no trace of Mnemoscope, or one of a version that wrote none")
            with builtins.open(described, encoding="utf-8") as file:
                self.about: dict = json.load(file)
            files = self.about.get("files", ())
            there = [name for name in _ARRAYS if name in files and os.path.exists(os.path.join(path, name))]
            self.arrays = Arrays(os.path.join(path, there[0]) if there else None)
        elif path.endswith((".npz", ".safetensors")):
            self.path = os.path.dirname(path) or "."
            self.arrays = Arrays(path)
            self.about = {**self.arrays.metadata(), "tables": {}, "files": [os.path.basename(path)]}
        else:
            raise BundleError(f"{path} is neither a folder nor a file of arrays (.npz, .safetensors)")
        if self.about.get("mnemoscope") != _KIND:
            raise BundleError(f"{path} is of the kind {self.about.get('mnemoscope')!r}, but this package reads {_KIND!r}")

    @property
    def lanes(self) -> tuple[str, ...]:
        """The names of the lanes."""
        return tuple(lane["name"] for lane in self.about["lanes"])

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables."""
        return tuple(self.about["tables"])

    @property
    def title(self) -> str:
        """What the stream is."""
        return self.about["title"]

    @property
    def session(self) -> str:
        """The session that was run, as RON: saved to a file, Mnemoscope opens it."""
        return self.about["session"]

    def lane(self, name: str) -> Lane:
        """A lane by its name: its arrays are attributes."""
        if name not in self.lanes:
            raise KeyError(f"no lane {name!r}{_near(name, self.lanes)}")
        return Lane(self, name)

    def ragged(self, name: str) -> list[list[np.ndarray]]:
        """An array of lists (``LoLA.candidates``) as lists: ``ragged(name)[head][entry]`` is an array."""
        entry = self._array(name)
        if "offsets" not in entry:
            raise ValueError(f"{name} is no array of lists: it has the shape {tuple(entry['shape'])}")
        numbers, offsets = self.arrays[name], self.arrays[entry["offsets"]]
        return [[numbers[start:end] for start, end in zip(of_head[:-1], of_head[1:])] for of_head in offsets.tolist()]

    def table(self, name: str, *, pandas: bool | None = None, formats: tuple[str, ...] = ("parquet", "jsonl", "csv")):
        """A table by its name: a pandas data frame, or without pandas a dict of NumPy arrays by column.

        A column of numbers in which some cells have no value is a masked array in the dict; in the data frame it is of the type
        ``Int64`` (whole numbers) or has NaN there (real numbers).

        `pandas` set to False asks for the dict, set to True for the data frame. `formats` says which files are tried, in this order.
        """
        if name not in self.tables:
            raise KeyError(f"no table {name!r}{_near(name, self.tables)}")
        kinds = {column["name"]: column["type"] for column in self.about["tables"][name]["columns"]}
        columns = _tables.read(self.path, name, kinds, formats)
        if pandas is None:
            pandas = find_spec("pandas") is not None
        return _tables.as_frame(columns) if pandas else columns

    def explain(self, name: str) -> str:
        """What a name means: an array, a lane, a table, or a column (``tokens.role``, or ``role`` alone)."""
        found = []
        if name in self.about.get("arrays", {}):
            entry = self._array(name)
            found.append(f"{name}: {entry['dtype']} {_shape(entry)}, in {entry['unit']}\n  {entry['meaning']}")
            if "offsets" in entry:
                found[-1] += f"\n  lists: bundle.ragged({name!r})[head][entry]"
        for lane in self.about["lanes"]:
            if lane["name"] == name:
                notes = "".join(f"\n  {note}" for note in lane["notes"])
                found.append(f"{name}: a lane, {lane['title']}, chunks of {lane['chunk']} writes\n  {json.dumps(lane['params'])}{notes}")
        for title, table in self.about["tables"].items():
            if title == name:
                names = ", ".join(column["name"] for column in table["columns"])
                found.append(f"{name}: a table of {table['rows']} rows. {table['about']}\n  {names}")
            for column in table["columns"]:
                if name in (column["name"], f"{title}.{column['name']}"):
                    unit = f", in {column['unit']}" if column["unit"] else ""
                    found.append(f"{title}.{column['name']}: {column['type']}{unit}\n  {column['meaning']}")
        if not found:
            known = [*self.about.get("arrays", {}), *self.lanes, *self.tables]
            raise KeyError(f"nothing is called {name!r}{_near(name, known)}")
        return "\n".join(found)

    def close(self) -> None:
        """Closes the files."""
        self.arrays.close()

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _array(self, name: str) -> dict:
        try:
            return self.about["arrays"][name]
        except KeyError:
            raise KeyError(f"no array {name!r}{_near(name, self.about['arrays'])}") from None

    def __repr__(self) -> str:
        return f"<Bundle {self.title!r}: lanes {', '.join(self.lanes)}; {len(self.arrays)} arrays; tables {', '.join(self.tables) or 'none'}>"


class Lane:
    """A lane of a bundle: ``lane.outputs`` is the array ``<lane>.outputs``, ``lane["final.state"]`` the array ``<lane>.final.state``.

    ``lane.name`` is its name, ``lane.about`` its layer, chunk and parameters, ``lane.names`` the names of its arrays, ``lane.final``
    those of its last state, and ``lane.ragged(name)`` gives an array of lists as lists.
    """

    def __init__(self, bundle: Bundle, name: str, part: str = ""):
        self._bundle = bundle
        self._prefix = f"{name}.{part}"
        self.name = name

    @property
    def about(self) -> dict:
        """Layer, chunk, parameters and notes."""
        return next(lane for lane in self._bundle.about["lanes"] if lane["name"] == self.name)

    @property
    def names(self) -> list[str]:
        """The names of the lane's arrays, without the lane's own."""
        return [name[len(self._prefix) :] for name in self._bundle.arrays if name.startswith(self._prefix)]

    @property
    def final(self) -> Lane:
        """The arrays of the last state: ``lane.final.state``."""
        return Lane(self._bundle, self.name, "final.")

    def ragged(self, name: str) -> list[list[np.ndarray]]:
        """An array of lists as lists: ``lane.ragged("candidates")[head][step]``."""
        return self._bundle.ragged(self._prefix + name)

    def explain(self, name: str) -> str:
        """What one of its arrays means."""
        return self._bundle.explain(self._prefix + name)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._bundle.arrays[self._prefix + name]

    def __contains__(self, name: object) -> bool:
        return f"{self._prefix}{name}" in self._bundle.arrays

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(f"lane {self.name!r}: {error.args[0]}") from None

    def __dir__(self):
        return [*super().__dir__(), *(name for name in self.names if name.isidentifier())]

    def __repr__(self) -> str:
        return f"<Lane {self.name!r}: {', '.join(self.names)}>"


def _shape(entry: dict) -> str:
    return "[" + ", ".join(f"{size} ({axis})" for size, axis in zip(entry["shape"], entry["axes"])) + "]"
