//! Reading a golden file: a stream, parameters, arrays, and what is expected.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mnemoscope::layer::{self, Arrays, LayerKind, Setup};
use mnemoscope::param::{ParamValue, Params, Resolved};
use mnemoscope::stream::{Labels, Stream, StreamParts, Targets};
use ndarray::{Array3, ArrayD, Axis, Ix2};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};

/// Layers of the reference that are not built yet; remove a name when its layer is registered.
pub const NOT_BUILT: &[&str] = &[];

/// The step of a run for the layers that have no chunk of their own: neither a divisor nor a power of anything.
const STEP: usize = 37;

/// An expected array, widened to float64.
pub struct Expected {
    pub shape: Vec<usize>,
    pub numbers: Vec<f64>,
}

pub struct Case {
    pub name: String,
    pub kind: &'static dyn LayerKind,
    pub setup: Setup,
    pub expected: BTreeMap<String, Expected>,
}

/// The files of the folder, in order of their names.
pub fn files() -> Vec<PathBuf> {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let folder = std::env::var_os("MNEMOSCOPE_GOLDEN").map_or(default, PathBuf::from);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "safetensors")).collect();
    files.sort();
    assert!(!files.is_empty(), "no golden file in {}", folder.display());
    files
}

/// The case in a file; `None` for the layers that are [`NOT_BUILT`].
pub fn read(path: &Path) -> Option<Case> {
    read_as(path, None)
}

/// The same case for another layer of ours that is the same there: Gated `DeltaNet` that does not decay is `DeltaNet`.
pub fn twin(path: &Path, case: &Case) -> Option<Case> {
    #[allow(clippy::float_cmp, reason = "the file says 1")]
    let same = case.kind.name() == "gated_deltanet" && case.setup.params.float("decay") == 1.0;
    if same { read_as(path, Some("deltanet")) } else { None }
}

fn read_as(path: &Path, other: Option<&str>) -> Option<Case> {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let bytes = std::fs::read(path).unwrap();
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    let case = metadata.metadata().as_ref().and_then(|m| m.get("case")).unwrap_or_else(|| panic!("{name} has no `case`"));
    let case: serde_json::Value = serde_json::from_str(case).unwrap();
    let mut given: BTreeMap<String, serde_json::Value> = serde_json::from_value(case["params"].clone()).unwrap();
    given.retain(|_, value| !value.is_null());
    let mut layer_name = case["layer"].as_str().unwrap();
    if layer_name == "full" && given.contains_key("window") {
        layer_name = "window";
    }
    if layer_name == "gated_delta" {
        layer_name = other.unwrap_or("gated_deltanet");
    }
    if layer_name == "deltanet" {
        given.remove("decay");
    }
    if NOT_BUILT.contains(&layer_name) {
        return None;
    }
    let kind =
        layer::kind(layer_name).unwrap_or_else(|| panic!("{name}: the layer `{layer_name}` is neither built nor listed as not built"));
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let stream = stream(&tensors, given.get("beta").and_then(serde_json::Value::as_f64).unwrap_or(1.0));
    let params = Resolved::new(&name, kind.params(), &params(kind, given)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let chunk = kind.chunk(&params).unwrap_or(STEP);
    let (mut arrays, mut expected) = (Arrays::new(), BTreeMap::new());
    for (tensor, view) in tensors.tensors() {
        if let Some(wanted) = tensor.strip_prefix("expect.") {
            expected.insert(wanted.to_owned(), Expected { shape: view.shape().to_vec(), numbers: numbers(&view) });
        } else if !["keys", "values", "queries", "after"].contains(&tensor.as_str()) {
            let single = numbers(&view).into_iter().map(|x| x as f32).collect();
            arrays.insert(tensor, ArrayD::from_shape_vec(view.shape().to_vec(), single).unwrap());
        }
    }
    let setup = Setup { stream: Arc::new(stream), params, arrays: Arc::new(arrays), chunk, hands: Arc::default() };
    kind.check(&setup).unwrap_or_else(|e| panic!("{name}: {e}"));
    Some(Case { name, kind, setup, expected })
}

/// The reference's parameters by our names. What the reference leaves out is at the reference's default, not at ours.
fn params(kind: &dyn LayerKind, given: BTreeMap<String, serde_json::Value>) -> Params {
    let mut params = Params::default();
    for name in ["sharpness", "linear_weight", "decay"] {
        if kind.params().iter().any(|s| s.name == name) {
            params.set(name, 1.0);
        }
    }
    for (name, value) in given {
        if name == "constant_rate" {
            params.set("rate", "constant");
        }
        let value = match value {
            serde_json::Value::Bool(v) => ParamValue::Bool(v),
            serde_json::Value::String(v) => ParamValue::Text(v),
            other => other.as_i64().map_or_else(|| ParamValue::Float(other.as_f64().unwrap()), ParamValue::Int),
        };
        params.set(&name, value);
    }
    params
}

fn stream(tensors: &SafeTensors<'_>, beta: f64) -> Stream {
    let rows = |name: &str| -> Array3<f32> {
        let view = tensors.tensor(name).unwrap();
        assert_eq!(view.dtype(), Dtype::F32, "{name}");
        let single = numbers(&view).into_iter().map(|x| x as f32).collect();
        ArrayD::from_shape_vec(view.shape().to_vec(), single).unwrap().into_dimensionality::<Ix2>().unwrap().insert_axis(Axis(0))
    };
    let after = numbers(&tensors.tensor("after").unwrap()).into_iter().map(|x| x as u32).collect();
    Stream::new(StreamParts {
        keys: rows("keys"),
        values: rows("values"),
        queries: rows("queries"),
        after,
        beta: beta as f32,
        targets: Targets::None,
        labels: Labels::default(),
    })
    .unwrap()
}

/// Any tensor as float64: exact for every type that a golden file holds (whole numbers are far below 2^53).
fn numbers(view: &TensorView<'_>) -> Vec<f64> {
    let data = view.data();
    match view.dtype() {
        Dtype::F32 => data.as_chunks::<4>().0.iter().map(|&b| f64::from(f32::from_le_bytes(b))).collect(),
        Dtype::F64 => data.as_chunks::<8>().0.iter().map(|&b| f64::from_le_bytes(b)).collect(),
        Dtype::I64 => data.as_chunks::<8>().0.iter().map(|&b| i64::from_le_bytes(b) as f64).collect(),
        other => panic!("no golden file holds {other:?}"),
    }
}
