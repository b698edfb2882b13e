//! A stream in the archive: its numbers as arrays, its labels in the manifest.

use std::io::{self, Read, Seek, Write};

use ndarray::{Array2, Array3};
use serde::{Deserialize, Serialize};
use zip::{ZipArchive, ZipWriter};

use super::arrays::{self, put, reals, sizes};
use crate::stream::{Chain, Gates, Labels, Roles, Stream, StreamParts, Targets};
use crate::trace::Values;

/// The folder of a stream's arrays.
const FOLDER: &str = "stream";

/// A stream as the manifest has it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Described {
    title: String,
    about: String,
    notes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tokens: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read_tokens: Option<Vec<String>>,
    roles: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    marked: Option<u8>,
    targets: TargetsOf,
    /// Reads that follow others: from where each hop goes, and to where the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hops: Option<Vec<usize>>,
    arrays: Vec<arrays::Described>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TargetsOf {
    None,
    Codes,
    Values,
    FullAttention,
}

/// Writes a stream's arrays.
pub(super) fn write<W: Write + Seek>(zip: &mut ZipWriter<W>, stream: &Stream) -> io::Result<Described> {
    let labels = stream.labels();
    let mut all = Vec::new();
    let mut add = |name: &str, shape: Vec<usize>, values: Values| -> io::Result<()> {
        all.push(put(zip, FOLDER, name, shape, &values)?);
        Ok(())
    };
    let whole = |numbers: &[u32]| Values::I32(numbers.iter().map(|&n| n as i32).collect());
    let bytes = |numbers: &[u8]| Values::I32(numbers.iter().map(|&n| i32::from(n)).collect());
    for (name, array) in [("keys", stream.keys()), ("values", stream.values()), ("queries", stream.queries())] {
        add(name, array.shape().to_vec(), Values::F32(array.iter().copied().collect()))?;
    }
    let two = |array: &Array2<f32>| (array.shape().to_vec(), Values::F32(array.iter().copied().collect()));
    add("after", vec![stream.reads()], whole(stream.after()))?;
    add("beta", vec![1], Values::F32(vec![stream.beta()]))?;
    add("role_of_write", vec![stream.writes()], bytes(&labels.roles.of_write))?;
    add("role_of_read", vec![stream.reads()], bytes(&labels.roles.of_read))?;
    if let Some(at) = &labels.answer_at {
        add("answer_at", vec![at.len()], whole(at))?;
    }
    let targets = match stream.targets() {
        Targets::None => TargetsOf::None,
        Targets::FullAttention => TargetsOf::FullAttention,
        Targets::Codes { codebook, target } => {
            let (shape, values) = two(codebook);
            add("codebook", shape, values)?;
            add("target", vec![target.len()], whole(target))?;
            TargetsOf::Codes
        }
        Targets::Values(wanted) => {
            let (shape, values) = two(wanted);
            add("target_values", shape, values)?;
            TargetsOf::Values
        }
    };
    if let Some(gates) = stream.gates() {
        for (name, gate) in [("decay", &gates.decay), ("rate", &gates.rate)] {
            if let Some((shape, values)) = gate.as_ref().map(two) {
                add(name, shape, values)?;
            }
        }
    }
    let silent: Vec<u8> = (0..stream.reads()).map(|read| u8::from(stream.is_silent(read))).collect();
    if silent.contains(&1) {
        add("silent", vec![silent.len()], bytes(&silent))?;
    }
    let hops = match stream.chain() {
        None => None,
        Some(chain) => {
            let (shape, values) = two(&chain.query_of_code);
            add("query_of_code", shape, values)?;
            Some(chain.hops.iter().map(|h| h.start).chain(chain.hops.last().map(|h| h.end)).collect())
        }
    };
    Ok(Described {
        title: labels.title.clone(),
        about: labels.about.clone(),
        notes: labels.notes.clone(),
        tokens: labels.tokens.clone(),
        read_tokens: labels.read_tokens.clone(),
        roles: labels.roles.names.clone(),
        marked: labels.roles.marked,
        targets,
        hops,
        arrays: all,
    })
}

/// The arrays of a stream that is being read.
struct From<'a, R> {
    zip: &'a mut ZipArchive<R>,
    about: &'a Described,
    limit: u64,
}

impl<R: Read + Seek> From<'_, R> {
    fn described(&self, name: &str) -> Option<arrays::Described> {
        self.about.arrays.iter().find(|a| a.name == name).cloned()
    }

    fn wanted(&self, name: &str) -> Result<arrays::Described, String> {
        self.described(name).ok_or_else(|| format!("the stream has no `{name}`"))
    }

    fn three(&mut self, name: &str) -> Result<Array3<f32>, String> {
        let about = self.wanted(name)?;
        let &[a, b, c] = about.shape.as_slice() else {
            return Err(format!("the stream's `{name}` is {:?}, no [heads, rows, dim]", about.shape));
        };
        let numbers = reals(self.zip, FOLDER, &about, self.limit)?;
        Array3::from_shape_vec((a, b, c), numbers).map_err(|e| e.to_string())
    }

    fn two(&mut self, about: &arrays::Described) -> Result<Array2<f32>, String> {
        let &[a, b] = about.shape.as_slice() else { return Err(format!("the stream's `{}` is {:?}, no table", about.name, about.shape)) };
        let numbers = reals(self.zip, FOLDER, about, self.limit)?;
        Array2::from_shape_vec((a, b), numbers).map_err(|e| e.to_string())
    }

    fn optional(&mut self, name: &str) -> Result<Option<Array2<f32>>, String> {
        self.described(name).map(|about| self.two(&about)).transpose()
    }

    fn list(&mut self, name: &str) -> Result<Option<Vec<u32>>, String> {
        self.described(name).map(|about| sizes(self.zip, FOLDER, &about, self.limit)).transpose()
    }

    fn bytes(&mut self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let small =
            |list: Vec<u32>| list.into_iter().map(|n| u8::try_from(n).map_err(|_| format!("the stream's `{name}` holds {n}"))).collect();
        self.list(name)?.map(small).transpose()
    }
}

/// Reads a stream back. What does not fit together is said by [`Stream::new`].
pub(super) fn read<R: Read + Seek>(zip: &mut ZipArchive<R>, about: &Described, limit: u64) -> Result<Stream, String> {
    let mut from = From { zip, about, limit };
    let missing = |name: &str| format!("the stream has no `{name}`");
    let beta = from.wanted("beta")?;
    let beta = reals(from.zip, FOLDER, &beta, limit)?.first().copied().ok_or_else(|| missing("beta"))?;
    let roles = Roles {
        names: about.roles.clone(),
        of_write: from.bytes("role_of_write")?.ok_or_else(|| missing("role_of_write"))?,
        of_read: from.bytes("role_of_read")?.ok_or_else(|| missing("role_of_read"))?,
        marked: about.marked,
    };
    let labels = Labels {
        title: about.title.clone(),
        about: about.about.clone(),
        tokens: about.tokens.clone(),
        read_tokens: about.read_tokens.clone(),
        roles,
        notes: about.notes.clone(),
        answer_at: from.list("answer_at")?,
    };
    let targets = match about.targets {
        TargetsOf::None => Targets::None,
        TargetsOf::FullAttention => Targets::FullAttention,
        TargetsOf::Codes => Targets::Codes {
            codebook: from.optional("codebook")?.ok_or_else(|| missing("codebook"))?,
            target: from.list("target")?.ok_or_else(|| missing("target"))?,
        },
        TargetsOf::Values => Targets::Values(from.optional("target_values")?.ok_or_else(|| missing("target_values"))?),
    };
    let parts = StreamParts {
        keys: from.three("keys")?,
        values: from.three("values")?,
        queries: from.three("queries")?,
        after: from.list("after")?.ok_or_else(|| missing("after"))?,
        beta,
        targets,
        labels,
    };
    let mut stream = Stream::new(parts).map_err(|e| e.to_string())?;
    let gates = Gates { decay: from.optional("decay")?, rate: from.optional("rate")? };
    if gates != Gates::default() {
        stream = stream.with_gates(gates).map_err(|e| e.to_string())?;
    }
    if let Some(silent) = from.bytes("silent")? {
        stream = stream.with_silent(silent.into_iter().map(|b| b != 0).collect()).map_err(|e| e.to_string())?;
    }
    if let Some(bounds) = &about.hops {
        let query_of_code = from.optional("query_of_code")?.ok_or_else(|| missing("query_of_code"))?;
        if bounds.windows(2).any(|w| w[0] > w[1]) {
            return Err(format!("the hops {bounds:?} are not in order"));
        }
        let hops = bounds.windows(2).map(|w| w[0]..w[1]).collect();
        stream = stream.with_chain(Chain { hops, query_of_code }).map_err(|e| e.to_string())?;
    }
    Ok(stream)
}
