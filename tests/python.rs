//! Reads an export back with NumPy and pandas, as a user would.
//!
//! Skipped with a word where Python lacks them; `MNEMOSCOPE_REQUIRE_PYTHON=1` makes that a failure.

use std::process::Command;

/// What a notebook would check of the bundled capture's trace: names, shapes, and that the arrays tell one story.
const SCRIPT: &str = r#"
import sys
import numpy as np, pandas as pd

folder = sys.argv[1]
trace = np.load(folder + "/trace.npz")
tokens = pd.read_csv(folder + "/tokens.csv", keep_default_na=False)
assert len(tokens) == 2048 and list(tokens["index"]) == list(range(2048))
needle = (tokens.role == "needle").to_numpy()
assert "".join(tokens.text[needle]) == " One of the special magic numbers for long-context is: 6433012.", tokens.text[needle]

for lane in ("OVQ", "LoLA", "linear", "full"):
    out = trace[lane + ".outputs"]
    assert out.shape == (3, 2048, 64) and out.dtype == np.float32 and np.isfinite(out).all(), lane
assert np.array_equal(trace["after"], np.arange(1, 2049))

# OVQ: every write is in one row; the counts of the last step are those of the last state.
row = trace["OVQ.assignments"][0]
counts = np.bincount(row, minlength=512)
assert counts.sum() == 2048 and np.array_equal(counts, trace["OVQ.counts"][0, -1])
rows = trace["OVQ.sizes"][0, -1]
assert rows == 2048 * 512 // (2048 + 512) == trace["OVQ.is_new"][0].sum()
assert np.array_equal(trace["OVQ.final.counts"][0], counts[:rows])
assert trace["OVQ.final.dict_k"].shape == trace["OVQ.final.dict_v"].shape == (1, rows, 64)
assert np.array_equal(tokens["OVQ.assignments"], row)

# LoLA: the cache by events is the cache of the state; 19 of the needle's 21 tokens are in it.
cached = (trace["LoLA.entered"][0] >= 0) & (trace["LoLA.left"][0] < 0)
assert np.array_equal(np.nonzero(cached)[0], np.sort(trace["LoLA.final.cached"][0]))
assert np.array_equal(np.nonzero(cached)[0], trace["LoLA.cached"][0, -1])
assert needle.sum() == 21 and (cached & needle).sum() == 19, (cached & needle).sum()
# Learned maps of 2 x 64 features, a state for each of the three query heads.
assert trace["LoLA.final.state"].shape == (3, 128, 64)
# The state holds what left the window (64 writes) and is not cached (128): the sum of
# their features, two softmaxes each: twice as much as there are tokens.
whole = trace["LoLA.final.normaliser"]
assert (whole >= 0).all() and np.allclose(whole.sum(1), 2 * (2048 - 64 - 128), rtol=1e-4), whole.sum(1)
ids, at = trace["LoLA.candidates"], trace["LoLA.candidates_offsets"][0]
scores = trace["LoLA.scores"][0]
for step in range(len(at) - 1):
    assert np.array_equal(np.nonzero(~np.isnan(scores[step]))[0], ids[at[step]:at[step + 1]]), step
print("read", len(trace.files), "arrays and", len(tokens.columns), "columns")
"#;

#[test]
fn numpy_and_pandas_read_the_export_as_it_is() {
    let python = || Command::new("python3");
    if !python().args(["-c", "import numpy, pandas"]).output().is_ok_and(|o| o.status.success()) {
        assert!(std::env::var_os("MNEMOSCOPE_REQUIRE_PYTHON").is_none(), "python3 with numpy and pandas is required, and not here");
        eprintln!("skipped: python3 with numpy and pandas is not here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    assert_cmd::Command::cargo_bin("mnemoscope")
        .unwrap()
        .args(["run", "bundled", "--backend", "cpu", "--out"])
        .arg(&out)
        .assert()
        .success();
    let read = python().args(["-c", SCRIPT]).arg(&out).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    assert!(String::from_utf8_lossy(&read.stdout).starts_with("read "), "{read:?}");
}
