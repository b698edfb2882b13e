//! Reads an export back with NumPy and pandas, and a sweep with pandas and pyarrow, as a user would; and runs the Python package's own
//! tests, and its notebook, on an export of every format.
//!
//! Skipped with a word where Python lacks them; `MNEMOSCOPE_REQUIRE_PYTHON=1` makes that a failure.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "common/python.rs"]
mod common;

use std::path::Path;
use std::process::Command;

use common::has;

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
import json
about = json.loads(str(trace["metadata"]))
assert set(about["arrays"]) == set(trace.files) - {"metadata"}
print("read", len(trace.files), "arrays and", len(tokens.columns), "columns")
"#;

#[test]
fn numpy_and_pandas_read_the_export_as_it_is() {
    if !has("numpy, pandas") {
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
    let read = Command::new("python3").args(["-c", SCRIPT]).arg(&out).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    assert!(String::from_utf8_lossy(&read.stdout).starts_with("read "), "{read:?}");
}

/// What a notebook would do with a sweep: columns, types, a curve with its interval, the metadata.
const SWEEP: &str = r#"
import json, sys
import numpy as np, pandas as pd, pyarrow.parquet as pq

rows = pd.read_parquet(sys.argv[1])
assert len(rows) == 2 * (3 + 1) and rows.key.is_unique, rows
assert rows.seed.dtype == np.uint64 and sorted(rows.seed.unique()) == [7, 8], rows.seed
assert rows.accuracy.dtype == np.float64 and rows.lane.tolist() == ["full", "OVQ", "OVQ", "OVQ"] * 2
ovq = rows[rows.lane == "OVQ"]
assert (ovq.x_name == "n_max").all() and ovq.x.tolist() == [8.0, 16.0, 32.0] * 2
assert rows[rows.lane == "full"].x.isna().all() and (rows[rows.lane == "full"].accuracy == 1).all()
assert (ovq.accuracy == ovq.correct / ovq.reads).all()
assert ((rows.accuracy_low <= rows.accuracy) & (rows.accuracy <= rows.accuracy_high)).all()
# N (dk + dv + 1) + C (dk + dv)
assert (ovq.state_numbers == ovq.x * 33 + 32 * 32).all() and (rows.state_bytes == 4 * rows.state_numbers).all()
assert json.loads(ovq.params.iloc[1])["n_max"] == 16 and json.loads(ovq.source_params.iloc[1])["T"] == 256
assert rows.error.isna().all() and rows.relative_error.isna().all() and (rows.seconds > 0).all()
curve = ovq.groupby("x")[["correct", "reads"]].sum()
assert curve.reads.tolist() == [8, 8, 8]
about = {k.decode(): v.decode() for k, v in pq.read_schema(sys.argv[1]).metadata.items()}
assert about["mnemoscope"] == "sweep 1" and all(name in about for name in rows.columns), about
print("read", len(rows), "rows and", len(rows.columns), "columns")
"#;

#[test]
fn pandas_and_pyarrow_read_a_sweep() {
    if !has("numpy, pandas, pyarrow") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (session, out) = (folder.path().join("s.ron"), folder.path().join("s.parquet"));
    let text = r#"(
        source: Task(name: "needles", params: {"T": 256, "needles": 4, "dk": 16, "dv": 16}),
        seed: 7,
        lanes: [(name: "full", layer: "full"), (name: "OVQ", layer: "ovq", params: {"chunk": 32})],
        backend: cpu,
    )"#;
    std::fs::write(&session, text).unwrap();
    assert_cmd::Command::cargo_bin("mnemoscope")
        .unwrap()
        .arg("sweep")
        .arg(&session)
        .args(["--vary", "OVQ.n_max=8..32:log2", "--seeds", "2", "--out"])
        .arg(&out)
        .assert()
        .success();
    let read = Command::new("python3").args(["-c", SWEEP]).arg(&out).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    assert!(String::from_utf8_lossy(&read.stdout).starts_with("read 8 rows"), "{read:?}");
}

/// Runs Python in the folder of the package, on a bundle; nothing where Python lacks one of these modules.
fn python_on(bundle: &Path, modules: &str, args: &[&str]) -> Option<std::process::Output> {
    let run = || {
        let mut python = Command::new("python3");
        python.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("python")).env("MNEMOSCOPE_BUNDLE", bundle);
        // Nothing of a run of the tests stays in the source.
        python.env("PYTHONDONTWRITEBYTECODE", "1").env_remove("MPLBACKEND");
        python.args(args).output().unwrap()
    };
    has(modules).then(run)
}

/// Runs the notebook cell by cell, and keeps the pictures that it draws.
const NOTEBOOK: &str = r#"
import base64, os, sys
import nbformat
from nbclient import NotebookClient

folder = sys.argv[1]
notebook = nbformat.read("notebooks/panels.ipynb", as_version=4)
assert all(not cell.get("outputs") for cell in notebook.cells), "the notebook is kept without outputs"
NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": "notebooks"}}).execute()
pictures = 0
for cell in notebook.cells:
    for output in cell.get("outputs", ()):
        if "image/png" in output.get("data", {}):
            pictures += 1
            with open(os.path.join(folder, f"panel-{pictures}.png"), "wb") as file:
                file.write(base64.b64decode(output["data"]["image/png"]))
print("drew", pictures)
"#;

#[test]
fn the_package_reads_a_fresh_export_and_its_notebook_draws_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    assert_cmd::Command::cargo_bin("mnemoscope")
        .unwrap()
        .args(["run", "bundled", "--backend", "cpu", "--arrays", "npz,safetensors", "--tables", "csv,jsonl,parquet", "--out"])
        .arg(&out)
        .assert()
        .success();
    let args = ["-W", "error::ResourceWarning", "-m", "unittest", "discover", "-s", "tests"];
    if let Some(tests) = python_on(&out, "numpy, pandas, pyarrow", &args) {
        let said = String::from_utf8_lossy(&tests.stderr);
        assert!(tests.status.success() && said.contains("OK"), "{said}");
    }
    // Without pandas and pyarrow too: `-S` would take NumPy away with them, so they are hidden.
    let hide = "import sys; sys.modules['pandas'] = sys.modules['pyarrow'] = None\n\
                import importlib.util as u; find = u.find_spec\n\
                u.find_spec = lambda name, package=None: None if name in ('pandas', 'pyarrow') else find(name, package)\n\
                import unittest; unittest.main(module=None, argv=['unittest', 'discover', '-s', 'tests'])";
    if let Some(tests) = python_on(&out, "numpy", &["-c", hide]) {
        let said = String::from_utf8_lossy(&tests.stderr);
        assert!(tests.status.success() && said.contains("OK"), "{said}");
    }
    let pictures = std::env::var_os("MNEMOSCOPE_PANELS").map_or_else(|| folder.path().to_owned(), std::path::PathBuf::from);
    let modules = "numpy, matplotlib, nbformat, nbclient, ipykernel";
    if let Some(drawn) = python_on(&out, modules, &["-c", NOTEBOOK, pictures.to_str().unwrap()]) {
        assert!(drawn.status.success(), "{}", String::from_utf8_lossy(&drawn.stderr));
        assert_eq!(String::from_utf8_lossy(&drawn.stdout).trim(), "drew 3");
    }
}
