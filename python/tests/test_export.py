"""The package on an export of the bundled capture: MNEMOSCOPE_BUNDLE names its folder (every format, the whole run)."""

import hashlib
import os
import re
import sys
import unittest
from importlib.util import find_spec

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import mnemoscope

FOLDER = os.environ.get("MNEMOSCOPE_BUNDLE")


@unittest.skipUnless(FOLDER, "MNEMOSCOPE_BUNDLE is not set")
class Export(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.bundle = mnemoscope.open(FOLDER)

    def test_both_files_of_arrays_hold_the_same(self):
        npz, safetensors = (mnemoscope.open(os.path.join(FOLDER, f"trace.{ending}")) for ending in ("npz", "safetensors"))
        self.assertEqual(sorted(npz.arrays), sorted(safetensors.arrays))
        self.assertGreater(len(npz.arrays), 40)
        for name in npz.arrays:
            a, b = npz.arrays[name], safetensors.arrays[name]
            self.assertEqual((a.dtype, a.shape), (b.dtype, b.shape), name)
            np.testing.assert_array_equal(a, b, err_msg=name)
            entry = npz.about["arrays"][name]
            self.assertEqual((entry["dtype"], tuple(entry["shape"])), (str(a.dtype), a.shape), name)
            self.assertEqual(len(entry["axes"]), a.ndim, name)
        self.assertEqual(npz.about["arrays"], self.bundle.about["arrays"])
        self.assertEqual(npz.about["arrays"], safetensors.about["arrays"])
        npz.close()

    def test_the_session_has_its_hash(self):
        for bundle in (self.bundle, mnemoscope.open(os.path.join(FOLDER, "trace.safetensors"))):
            self.assertEqual(hashlib.sha256(bundle.session.encode()).hexdigest(), bundle.about["session_sha256"])

    @unittest.skipUnless(find_spec("safetensors"), "safetensors' own package is not here")
    def test_safetensors_own_package_reads_the_file(self):
        from safetensors import safe_open

        with safe_open(os.path.join(FOLDER, "trace.safetensors"), framework="np") as file:
            self.assertEqual(sorted(file.keys()), sorted(self.bundle.arrays))
            self.assertEqual(file.metadata()["mnemoscope"], "bundle 1")
            for name in file.keys():
                np.testing.assert_array_equal(file.get_tensor(name), self.bundle.arrays[name], err_msg=name)

    def test_tables_are_the_same_in_every_format(self):
        self.assertEqual(self.bundle.tables, ("cache", "centroids", "events", "reads", "steps", "tokens"))
        formats = ["csv", "jsonl"] + (["parquet"] if find_spec("pyarrow") else [])
        for name in self.bundle.tables:
            tables = [self.bundle.table(name, pandas=False, formats=(ending,)) for ending in formats]
            rows = self.bundle.about["tables"][name]["rows"]
            for ending, table in zip(formats, tables):
                for column, cells in table.items():
                    self.assertEqual(len(cells), rows, (name, ending, column))
                    first = tables[-1][column]
                    if cells.dtype == object:
                        # CSV has no way to tell an empty text from none.
                        self.assertEqual([c or "" for c in cells], [c or "" for c in first], (name, ending, column))
                        continue
                    self.assertEqual(cells.dtype, first.dtype, (name, ending, column))
                    np.testing.assert_array_equal(np.ma.getmaskarray(cells), np.ma.getmaskarray(first), err_msg=f"{name} {ending} {column}")
                    np.testing.assert_array_equal(np.ma.filled(cells, 0), np.ma.filled(first, 0), err_msg=f"{name} {ending} {column}")

    def test_tables_and_arrays_tell_one_story(self):
        ovq, lola = self.bundle.lane("OVQ"), self.bundle.lane("LoLA")
        tokens = self.bundle.table("tokens", pandas=False)
        np.testing.assert_array_equal(tokens["OVQ.assignments"], ovq.assignments[0])
        np.testing.assert_array_equal(tokens["index"], self.bundle.arrays["writes"])
        centroids = self.bundle.table("centroids", pandas=False)
        self.assertEqual(set(centroids["lane"]), {"OVQ"})
        np.testing.assert_array_equal(centroids["count"], ovq.final.counts[0])
        np.testing.assert_array_equal(centroids["members"], np.bincount(ovq.assignments[0]))
        np.testing.assert_array_equal(np.sort(centroids["founder"]), np.nonzero(ovq.is_new[0])[0])
        np.testing.assert_array_equal(ovq.assignments[0][centroids["last_write"]], centroids["row"])
        steps = self.bundle.table("steps", pandas=False)
        own = (steps["lane"] == "LoLA") & (steps["head"] == 0)
        np.testing.assert_array_equal(steps["threshold"][own].astype(np.float32), lola.threshold[0])
        np.testing.assert_array_equal(steps["step"][own], lola.steps)
        lists = lola.ragged("candidates")
        np.testing.assert_array_equal(steps["candidates_length"][own], [len(own) for own in lists[0]])
        reads = self.bundle.table("reads", pandas=False)
        np.testing.assert_array_equal(reads["linear.error_sq.h2"], self.bundle.arrays["linear.error_sq"][2])
        np.testing.assert_array_equal(reads["LoLA.shares.c1.h0"], lola.shares[0, :, 1])

    def test_the_cache_is_that_of_the_trace(self):
        lola, cache = self.bundle.lane("LoLA"), self.bundle.table("cache", pandas=False)
        ids, scores, admitted = (lola.ragged(name) for name in ("candidates", "candidate_scores", "admitted"))
        for head in range(3):
            own = np.nonzero(cache["head"] == head)[0]
            entered = np.full(2048, -1)
            left = np.full(2048, -1)
            entered[cache["write"][own]] = cache["entered"][own]
            left[cache["write"][own]] = np.ma.filled(cache["left"][own], -1)
            np.testing.assert_array_equal(entered, lola.entered[head])
            np.testing.assert_array_equal(left, lola.left[head])
            for row in own[::37]:
                step, write = cache["entered"][row], cache["write"][row]
                at = np.searchsorted(ids[head][step], write)
                self.assertEqual((ids[head][step][at], scores[head][step][at]), (write, cache["score_at_entry"][row]))
                if not np.ma.is_masked(cache["left"][row]):
                    came = admitted[head][cache["left"][row]]
                    self.assertEqual(cache["displaced_by"][row], " ".join(map(str, came)))

    def test_every_name_is_explained_here_and_in_the_readme(self):
        with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
            named = set(re.findall(r"^\| `([^`]+)` \|", file.read(), re.MULTILINE))
        columns = {column["name"] for table in self.bundle.about["tables"].values() for column in table["columns"]}
        self.assertEqual(named, set(self.bundle.arrays) | columns | set(self.bundle.lanes))
        for name in [*self.bundle.arrays, *self.bundle.tables, *self.bundle.lanes, *columns]:
            self.assertIn("\n", self.bundle.explain(name))

    @unittest.skipUnless(find_spec("pandas"), "pandas is not here")
    def test_pandas_reads_the_files_by_itself(self):
        import pandas

        tokens = pandas.read_csv(os.path.join(FOLDER, "tokens.csv"), keep_default_na=False, na_values=[""])
        self.assertEqual(len(tokens), 2048)
        lines = pandas.read_json(os.path.join(FOLDER, "events.jsonl"), lines=True)
        events = self.bundle.table("events")
        self.assertEqual(lines["writes_seen"].tolist(), events["writes_seen"].tolist())
        self.assertTrue((events["writes_seen"].diff().dropna() >= 0).all())
        founders = events[(events.kind == "founder") & (events.lane == "OVQ")]
        self.assertEqual(len(founders), int(self.bundle.lane("OVQ").is_new.sum()))
        if find_spec("pyarrow"):
            import pyarrow.parquet

            schema = pyarrow.parquet.read_schema(os.path.join(FOLDER, "cache.parquet"))
            texts = {key.decode(): value.decode() for key, value in schema.metadata.items()}
            self.assertEqual((texts["mnemoscope"], texts["session"]), ("table cache 1", self.bundle.session))
            self.assertTrue(all(name in texts for name in schema.names))
            frame = pandas.read_parquet(os.path.join(FOLDER, "cache.parquet"))
            self.assertEqual(len(frame), self.bundle.about["tables"]["cache"]["rows"])


if __name__ == "__main__":
    unittest.main()
