//! What the tasks share: parameters that most of them have, their logit scale, and how a recall stream is put together.

use ndarray::{Array2, Array3, ArrayView1, Axis, concatenate};

use super::TaskError;
use super::random::Draw;
use crate::param::{ParamKind, ParamSpec, Resolved};
use crate::stream::{Labels, Roles, Stream, StreamParts, Targets};

/// The logit scale of the recall tasks, whose keys are unit vectors (TASKS.md).
pub const BETA: f32 = 20.0;

/// The most reads that a task gives: each is scored against every code, on every lane.
pub const MAX_READS: usize = 8192;

/// A whole number on a logarithmic slider.
pub const fn int(name: &'static str, title: &'static str, doc: &'static str, min: i64, max: i64, default: i64) -> ParamSpec {
    ParamSpec { name, title, doc, kind: ParamKind::Int { min, max, default, log: true } }
}

/// A whole number on a plain slider: for ranges of a few.
pub const fn few(name: &'static str, title: &'static str, doc: &'static str, min: i64, max: i64, default: i64) -> ParamSpec {
    ParamSpec { name, title, doc, kind: ParamKind::Int { min, max, default, log: false } }
}

/// A share, from 0 to 1.
pub const fn share(name: &'static str, title: &'static str, doc: &'static str, default: f64) -> ParamSpec {
    ParamSpec { name, title, doc, kind: ParamKind::Float { min: 0.0, max: 1.0, default, log: false } }
}

/// The length of the stream.
pub const fn tokens(default: i64) -> ParamSpec {
    int("T", "tokens T", "Writes in the stream, all of its tokens together.", 16, 131_072, default)
}

/// Numbers in a key.
pub const DK: ParamSpec = int("dk", "key dim dk", "Numbers in a key.", 1, 256, 64);
/// Numbers in a value.
pub const DV: ParamSpec = int("dv", "value dim dv", "Numbers in a value.", 1, 256, 64);
/// Codes.
pub const VALUES: ParamSpec =
    int("values", "values", "Different values there are: an answer by chance is right once in so many.", 2, 4096, 128);

/// Noise on keys and queries.
pub const fn noise(default: f64) -> ParamSpec {
    let doc = "Length of the noise on every key and query, which are then brought back to length 1.";
    ParamSpec { name: "noise", title: "noise", doc, kind: ParamKind::Float { min: 0.0, max: 10.0, default, log: false } }
}

/// Filler keys.
pub const FILLERS: ParamSpec = int(
    "fillers",
    "filler keys",
    "Different keys of the filler. A filler key carries a fresh value at every visit: nothing to remember, much to collide with.",
    1,
    4096,
    64,
);

/// [rows, columns] in float64 as the one head [1, rows, columns] in float32.
pub fn one_head(rows: &Array2<f64>) -> Array3<f32> {
    rows.mapv(|x| x as f32).insert_axis(Axis(0))
}

/// Refuses more reads than [`MAX_READS`], in the name of the parameter `name`.
pub fn check_reads(params: &Resolved, name: &str, reads: usize) -> Result<(), TaskError> {
    if reads <= MAX_READS {
        return Ok(());
    }
    Err(params.conflict(name, format!("that makes {reads} questions, and there may be {MAX_READS}")).into())
}

/// How a key of dk numbers is divided between a name and its number: dk / 2 rounded down, and the rest.
pub fn halves(params: &Resolved) -> Result<(usize, usize), TaskError> {
    let dk = params.size("dk");
    if dk < 2 {
        return Err(params.conflict("dk", "a key of a name and a number needs at least 2").into());
    }
    Ok((dk / 2, dk - dk / 2))
}

/// `names` names, each coming `times` times, in a random order: the name, and which of its times it is, counted from 0.
pub fn shuffled_visits(draw: &mut Draw, names: usize, times: usize) -> Vec<(usize, usize)> {
    let mut seen = vec![0; names];
    let visit = |i: usize| {
        let name = i / times;
        seen[name] += 1;
        (name, seen[name] - 1)
    };
    draw.permutation(names * times).into_iter().map(visit).collect()
}

/// Keys [name ; number] / sqrt 2, of length 1, for every pair of rows of `names` and `numbers`.
pub fn joined(names: &Array2<f64>, numbers: &Array2<f64>, pairs: &[(usize, usize)]) -> Array2<f64> {
    let (left, right): (Vec<usize>, Vec<usize>) = pairs.iter().copied().unzip();
    let mut keys = Array2::zeros((pairs.len(), names.ncols() + numbers.ncols()));
    for (mut key, (name, number)) in keys.rows_mut().into_iter().zip(left.into_iter().zip(right)) {
        let parts: [ArrayView1<'_, f64>; 2] = [names.row(name), numbers.row(number)];
        for (to, from) in key.iter_mut().zip(parts.iter().flatten()) {
            *to = from / std::f64::consts::SQRT_2;
        }
    }
    keys
}

/// A recall stream of one head, before it is one: float64 arrays, codes by their places in the codebook.
pub struct Recall {
    /// The codes [V, dv].
    pub book: Array2<f64>,
    /// [T, dk].
    pub keys: Array2<f64>,
    /// The code that each write carries `[T]`.
    pub codes: Vec<usize>,
    /// [R, dk].
    pub queries: Array2<f64>,
    /// How many writes each read sees `[R]`, never decreasing.
    pub after: Vec<u32>,
    /// The right code of each read `[R]`.
    pub target: Vec<usize>,
    /// Names, texts, roles.
    pub labels: Labels,
}

impl Recall {
    /// The stream.
    pub fn stream(self) -> Result<Stream, TaskError> {
        let book = self.book.mapv(|x| x as f32);
        Ok(Stream::new(StreamParts {
            keys: one_head(&self.keys),
            values: book.select(Axis(0), &self.codes).insert_axis(Axis(0)),
            queries: one_head(&self.queries),
            after: self.after,
            beta: BETA,
            targets: Targets::Codes { codebook: book, target: self.target.iter().map(|&c| c as u32).collect() },
            labels: self.labels,
        })?)
    }
}

/// Facts among fillers: the keys [T, dk] before noise, the codes, the texts and roles of the writes.
pub struct Mixed {
    pub keys: Array2<f64>,
    pub codes: Vec<usize>,
    pub tokens: Vec<String>,
    pub of_write: Vec<u8>,
}

impl Mixed {
    /// `t` filler writes (role 0): keys drawn among `fillers` of their own, each with a code below `values` drawn anew.
    pub fn filler(draw: &mut Draw, t: usize, fillers: usize, dk: usize, values: usize) -> Self {
        let filler_keys = draw.directions(fillers, dk);
        let pick = draw.many_below(fillers, t);
        let codes = draw.many_below(values, t);
        let tokens = pick.iter().zip(&codes).map(|(f, c)| format!("filler {f} = {c}")).collect();
        Self { keys: filler_keys.select(Axis(0), &pick), codes, tokens, of_write: vec![0; t] }
    }

    /// Puts a fact in the place of write `i`.
    pub fn put(&mut self, i: usize, key: ArrayView1<'_, f64>, code: usize, token: String, role: u8) {
        self.keys.row_mut(i).assign(&key);
        self.codes[i] = code;
        self.tokens[i] = token;
        self.of_write[i] = role;
    }

    /// The writes of `self`, then those of `other`, whose keys have as many numbers.
    pub fn then(mut self, other: Self) -> Self {
        self.keys = concatenate![Axis(0), self.keys, other.keys];
        self.codes.extend(other.codes);
        self.tokens.extend(other.tokens);
        self.of_write.extend(other.of_write);
        self
    }
}

/// Roles by their names.
pub fn roles(names: &[&str], of_write: Vec<u8>, of_read: Vec<u8>, marked: Option<u8>) -> Roles {
    Roles { names: names.iter().map(|&n| n.to_owned()).collect(), of_write, of_read, marked }
}

#[cfg(test)]
pub mod testing {
    //! For the tests of every task: a stream by parameters, and what to hold all of them to.

    use super::*;
    use crate::param::Params;
    use crate::task::Task;

    pub fn make(task: &dyn Task, params: &Params, seed: u64) -> Result<Stream, TaskError> {
        let resolved = Resolved::new(&format!("task {}", task.name()), task.params(), params)?;
        task.generate(&resolved, seed)
    }

    pub fn message(task: &dyn Task, params: &Params) -> String {
        make(task, params, 0).unwrap_err().to_string()
    }

    /// The codebook and the right codes.
    pub fn codes(stream: &Stream) -> (&Array2<f32>, &[u32]) {
        let Targets::Codes { codebook, target } = stream.targets() else { panic!("recall has codes") };
        (codebook, target)
    }

    /// FNV-1a over the bits of keys, values and queries: another number on any other bit.
    pub fn bits(stream: &Stream) -> [u64; 3] {
        [stream.keys(), stream.values(), stream.queries()].map(|array| {
            let step = |h: u64, v: &f32| (h ^ u64::from(v.to_bits())).wrapping_mul(0x0100_0000_01b3);
            array.iter().fold(0xcbf2_9ce4_8422_2325, step)
        })
    }

    /// What holds for every recall task: reads are in order and see their answer, whose value is the right code's; keys and
    /// queries are unit vectors; every write carries a code; texts are there for all.
    pub fn check_recall(stream: &Stream) {
        assert!(stream.is_unit(1e-5));
        let (book, target) = codes(stream);
        let labels = stream.labels();
        assert!(book.rows().into_iter().all(|r| (r.dot(&r) - 1.0).abs() < 1e-5));
        if let Some(at) = &labels.answer_at {
            for (read, &i) in at.iter().enumerate() {
                assert!(i < stream.after()[read], "read {read} is asked before its answer is written");
                let value = stream.values().slice(ndarray::s![0, i as usize, ..]);
                assert_eq!(value, book.row(target[read] as usize), "read {read}");
            }
        }
        let codes: std::collections::HashSet<Vec<u32>> = book.rows().into_iter().map(|r| r.iter().map(|x| x.to_bits()).collect()).collect();
        for value in stream.values().rows() {
            assert!(codes.contains(&value.iter().map(|x| x.to_bits()).collect::<Vec<_>>()));
        }
        assert!(labels.tokens.is_some() && labels.read_tokens.is_some() && !labels.title.is_empty() && !labels.about.is_empty());
    }

    /// Where a stream's writes have the role `name`.
    pub fn writes_of(stream: &Stream, name: &str) -> Vec<u32> {
        let roles = &stream.labels().roles;
        let role = roles.names.iter().position(|n| n == name).unwrap_or_else(|| panic!("no role {name}")) as u8;
        (0..stream.writes() as u32).filter(|&i| roles.of_write[i as usize] == role).collect()
    }

    /// The largest cosine between a key of the writes `a` and one of the writes `b`.
    pub fn nearest_pair(stream: &Stream, a: &[u32], b: &[u32]) -> f32 {
        let keys = stream.keys_of(0);
        let dot = |&i: &u32, &j: &u32| keys.row(i as usize).dot(&keys.row(j as usize));
        a.iter().flat_map(|i| b.iter().map(move |j| dot(i, j))).fold(f32::NEG_INFINITY, f32::max)
    }
}
