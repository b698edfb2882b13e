"""The package on a bundle that was made without Mnemoscope: what goes in comes out, from every format."""

import os
import sys
import tempfile
import unittest
from importlib.util import find_spec

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import made

import mnemoscope


class Made(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        made.write(self.folder.name)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def opened(self):
        """The bundle from each file of arrays."""
        for name in ("trace.npz", "trace.safetensors"):
            with mnemoscope.open(self.path(name)) as bundle:
                yield bundle

    def test_arrays_are_the_same_from_every_file(self):
        for bundle in self.opened():
            self.assertEqual(set(bundle.arrays), set(made.ARRAYS))
            for name, value in made.ARRAYS.items():
                self.assertEqual(bundle.arrays[name].dtype, value.dtype, name)
                np.testing.assert_array_equal(bundle.arrays[name], value, err_msg=name)
            self.assertEqual(bundle.tables, ())

    def test_a_lane_has_its_arrays_as_attributes(self):
        for bundle in self.opened():
            lane = bundle.lane("a b")
            np.testing.assert_array_equal(lane.outputs, made.ARRAYS["a b.outputs"])
            np.testing.assert_array_equal(lane["final.state"], lane.final.state)
            self.assertEqual(sorted(lane.names), sorted(n[4:] for n in made.ARRAYS if n.startswith("a b.")))
            self.assertEqual(lane.final.names, ["state"])
            self.assertEqual((lane.about["chunk"], "outputs" in lane, "inputs" in lane), (2, True, False))
            with self.assertRaisesRegex(AttributeError, "did you mean 'a b.outputs'"):
                lane.output
            with self.assertRaisesRegex(KeyError, "did you mean 'a b'"):
                bundle.lane("a  b")

    def test_lists_are_lists(self):
        for bundle in self.opened():
            lists = bundle.lane("a b").ragged("ids")
            self.assertEqual([[list(own) for own in head] for head in lists], [[[4, 7], []], [[1], [2, 3, 9]]])
            with self.assertRaisesRegex(ValueError, "no array of lists"):
                bundle.ragged("after")

    def test_tables_are_the_same_from_every_format(self):
        bundle = mnemoscope.open(self.folder.name)
        formats = ["csv", "jsonl"] + (["parquet"] if find_spec("pyarrow") else [])
        for ending in formats:
            table = bundle.table("tokens", pandas=False, formats=(ending,))
            self.assertEqual(list(table), list(made.COLUMNS), ending)
            for name, (kind, cells) in made.COLUMNS.items():
                column = table[name]
                if kind == "text":
                    self.assertEqual(list(column), cells, (ending, name))
                    continue
                self.assertEqual(column.dtype, np.dtype(kind), (ending, name))
                missing = [cell is None for cell in cells]
                self.assertEqual(list(np.ma.getmaskarray(column)), missing, (ending, name))
                present = [cell for cell in cells if cell is not None]
                expected = np.array(present, dtype=kind)
                np.testing.assert_array_equal(np.ma.asarray(column).compressed(), expected, err_msg=f"{ending} {name}")

    @unittest.skipUnless(find_spec("pandas"), "pandas is not here")
    def test_data_frames_keep_whole_numbers_whole(self):
        bundle = mnemoscope.open(self.folder.name)
        for ending in ["csv", "jsonl"]:
            frame = bundle.table("tokens", formats=(ending,))
            self.assertEqual(str(frame["a b.entered"].dtype), "Int64")
            self.assertEqual(frame["a b.entered"].isna().tolist(), [True, False, False, True])
            self.assertEqual(int(frame["a b.entered"][1]), 2**53 + 1)
            self.assertEqual(frame["index"].dtype, np.int64)
            self.assertEqual(frame["a b.margin"].dtype, np.float32)
            self.assertTrue(np.isnan(frame["a b.norm"][1]))

    def test_a_table_without_rows(self):
        about = made.about()
        for cells in ("csv", "jsonl"):
            with open(self.path(f"tokens.{cells}"), "w", encoding="utf-8") as file:
                file.write(",".join(made.COLUMNS) + "\n" if cells == "csv" else "")
            table = mnemoscope.open(self.folder.name).table("tokens", pandas=False, formats=(cells,))
            self.assertEqual([len(column) for column in table.values()], [0] * len(about["tables"]["tokens"]["columns"]))

    def test_names_are_explained(self):
        bundle = mnemoscope.open(self.folder.name)
        self.assertEqual(bundle.explain("a b.outputs"), "a b.outputs: float32 [2 (x), 2 (x), 3 (x)], in 1\n  what a b.outputs is")
        self.assertIn("lists: bundle.ragged('a b.ids')", bundle.explain("a b.ids"))
        self.assertIn("One row a write.", bundle.explain("tokens"))
        self.assertEqual(bundle.explain("tokens.text"), "tokens.text: text\n  the column text")
        self.assertEqual(bundle.explain("text"), bundle.explain("tokens.text"))
        self.assertIn("a lane, LoLA, chunks of 2 writes", bundle.explain("a b"))
        self.assertIn("a note", bundle.explain("a b"))
        with self.assertRaisesRegex(KeyError, "did you mean 'writes'"):
            bundle.explain("writs")

    def test_what_is_no_bundle_is_refused(self):
        with tempfile.TemporaryDirectory() as empty:
            with self.assertRaisesRegex(mnemoscope.BundleError, "no columns.json"):
                mnemoscope.open(empty)
        with self.assertRaisesRegex(mnemoscope.BundleError, "neither a folder"):
            mnemoscope.open(self.path("tokens.csv"))
        with open(self.path("columns.json"), "w", encoding="utf-8") as file:
            file.write('{"mnemoscope": "bundle 9"}')
        with self.assertRaisesRegex(mnemoscope.BundleError, "'bundle 9'"):
            mnemoscope.open(self.folder.name)

    def test_what_is_no_safetensors_file_is_refused(self):
        with open(self.path("trace.safetensors"), "rb") as file:
            whole = file.read()
        for damage, words in [(b"", "too short"), (whole[:4], "too short"), (b"\xff" * 64, "header would have"), (whole[:40], "header would")]:
            with open(self.path("broken.safetensors"), "wb") as file:
                file.write(damage)
            with self.assertRaisesRegex(ValueError, words):
                mnemoscope.read_safetensors(self.path("broken.safetensors"))
        with open(self.path("broken.safetensors"), "wb") as file:
            file.write(whole[:-4])
        with self.assertRaisesRegex(ValueError, "cut short"):
            mnemoscope.read_safetensors(self.path("broken.safetensors"))

    def test_a_half_float_of_brains_is_read(self):
        import json
        import struct

        numbers = np.array([1.0, -2.5, 0.0], dtype=np.float32)
        data = (numbers.view(np.uint32) >> 16).astype("<u2").tobytes()
        head = json.dumps({"x": {"dtype": "BF16", "shape": [3], "data_offsets": [0, 6]}}).encode()
        with open(self.path("b.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(head)) + head + data)
        arrays, texts = mnemoscope.read_safetensors(self.path("b.safetensors"))
        np.testing.assert_array_equal(arrays["x"], numbers)
        self.assertEqual(texts, {})


if __name__ == "__main__":
    unittest.main()
