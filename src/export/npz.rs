//! `trace.npz`: every channel and derived array of every lane, for `numpy.load`.
//!
//! - `after` `[R]`: how many writes each read saw.
//! - `target` `[R]` (the right code) or `target_values` [R, dv], and `answer_at` `[R]` (the write that holds the answer), where the
//!   stream has them.
//! - `<lane>.<name>`: a channel [heads, entries] or [heads, entries, width]. Heads are key/value heads or query heads, entries
//!   writes, reads or steps of the lane, as the channel says.
//! - a channel of lists: `<lane>.<name>`, all lists of the first head one after the other, then those of the second, and so on; and
//!   `<lane>.<name>_offsets` [heads, entries + 1]: list i of head h is `x[offsets[h, i]:offsets[h, i + 1]]`.
//! - a derived array ([`crate::layer::Derived`]) `<lane>.<name>` [key/value heads, ..]. Where a channel has the same name, the
//!   derived array takes its place: it is the one that the reference defines (OVQ's `sizes` starts with the 0 rows of the start).
//! - `<lane>.final.<name>` [heads, ..]: the lane's last state, once the run is complete.
//!
//! Real numbers are float32 (float64 from a run in double precision), whole numbers int32, `after` and offsets int64. Nothing is
//! copied on the way: the columns of a trace are written one after the other.
//!
//! Tables of steps x writes or steps x rows (LoLA's `scores`, OVQ's `counts`) are left out by their layers above a number of
//! entries that each states, and any array of [`MAX_ARRAY_BYTES`] or more is left out here; the export says so.

use std::io::{self, Seek, Write};
use std::sync::Arc;

use ndarray_npy::{NpzWriter, WriteNpyError, WriteNpyExt, WriteNpzError};

use super::Watch;
use crate::layer::{Derived, Snapshot};
use crate::session::plan::{Plan, PlanLane};
use crate::stream::{Stream, Targets};
use crate::trace::{Channel, LaneTrace, Values, Width};

/// An array this large does not fit into an entry of a plain zip archive, which every reader knows.
pub const MAX_ARRAY_BYTES: u64 = (4 << 30) - (1 << 20);

/// Bytes in front of the dictionary in NumPy's header: magic, version, length.
const HEADER_START: usize = 10;

/// A piece of an array's numbers.
enum Part<'a> {
    Values(&'a Values),
    Long(&'a [i64]),
}

/// An array that is written from pieces, none of which is copied.
struct Array<'a> {
    shape: Vec<usize>,
    parts: Vec<Part<'a>>,
}

impl Array<'_> {
    fn dtype(&self) -> &'static str {
        // Columns that are still empty have the default precision; the first with numbers decides.
        let full = |p: &&Part<'_>| !matches!(p, Part::Values(v) if v.is_empty());
        match self.parts.iter().find(full).or(self.parts.first()) {
            Some(Part::Values(Values::F64(_))) => "<f8",
            Some(Part::Values(Values::I32(_))) => "<i4",
            Some(Part::Long(_)) => "<i8",
            Some(Part::Values(Values::F32(_))) | None => "<f4",
        }
    }

    fn bytes(&self) -> u64 {
        let part = |p: &Part<'_>| match p {
            Part::Values(v) => v.bytes(),
            Part::Long(v) => v.len() * 8,
        };
        self.parts.iter().map(|p| part(p) as u64).sum()
    }

    /// The header of NumPy's format 1.0: magic, version, length, and a Python dictionary padded to a multiple of 64 bytes.
    fn header(&self) -> Vec<u8> {
        let sizes = match self.shape.as_slice() {
            [one] => format!("{one},"),
            several => several.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
        };
        let mut text = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({sizes}), }}", self.dtype());
        let padding = 63 - (HEADER_START + text.len()) % 64;
        text.extend(std::iter::repeat_n(' ', padding));
        text.push('\n');
        let mut header = b"\x93NUMPY\x01\x00".to_vec();
        header.extend_from_slice(&(text.len() as u16).to_le_bytes());
        header.extend_from_slice(text.as_bytes());
        header
    }
}

impl WriteNpyExt for Array<'_> {
    fn write_npy<W: Write>(&self, mut writer: W) -> Result<(), WriteNpyError> {
        writer.write_all(&self.header())?;
        for part in &self.parts {
            match part {
                Part::Values(Values::F32(v)) => little(&mut writer, v, f32::to_le_bytes)?,
                Part::Values(Values::F64(v)) => little(&mut writer, v, f64::to_le_bytes)?,
                Part::Values(Values::I32(v)) => little(&mut writer, v, i32::to_le_bytes)?,
                Part::Long(v) => little(&mut writer, v, i64::to_le_bytes)?,
            }
        }
        writer.flush()?;
        Ok(())
    }
}

fn little<T: Copy, const N: usize>(writer: &mut impl Write, numbers: &[T], bytes: fn(T) -> [u8; N]) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(N * 4096);
    for run in numbers.chunks(4096) {
        buffer.clear();
        buffer.extend(run.iter().flat_map(|&x| bytes(x)));
        writer.write_all(&buffer)?;
    }
    Ok(())
}

/// The archive under way.
struct Archive<'a, 'w, W: Write + Seek> {
    zip: NpzWriter<W>,
    left_out: &'a mut Vec<String>,
    watch: &'a mut Watch<'w>,
}

impl<W: Write + Seek> Archive<'_, '_, W> {
    fn add(&mut self, name: &str, array: &Array<'_>) -> io::Result<()> {
        let bytes = array.bytes();
        if bytes >= MAX_ARRAY_BYTES {
            self.left_out
                .push(format!("{name} {:?} is left out: it has {bytes} bytes, and an array may have {MAX_ARRAY_BYTES}", array.shape));
            return Ok(());
        }
        self.zip.add_array(name, array).map_err(into_io)?;
        self.watch.wrote(bytes)
    }

    fn channel(&mut self, lane: &str, channel: &Channel) -> io::Result<()> {
        let (name, heads, entries) = (channel.spec().name, channel.heads(), channel.len());
        let parts = (0..heads).map(|h| Part::Values(channel.values(h))).collect();
        let shape = match channel.spec().width {
            Width::Fixed(1) => vec![heads, entries],
            Width::Fixed(width) => vec![heads, entries, width],
            Width::Ragged => {
                let mut offsets: Vec<i64> = Vec::with_capacity(heads * (entries + 1));
                let mut start = 0;
                for head in 0..heads {
                    offsets.push(start);
                    offsets.extend((0..entries).map(|i| start + channel.range(head, i).end as i64));
                    start += channel.values(head).len() as i64;
                }
                let array = Array { shape: vec![heads, entries + 1], parts: vec![Part::Long(&offsets)] };
                self.add(&format!("{lane}.{name}_offsets"), &array)?;
                vec![usize::try_from(start).unwrap_or(0)]
            }
        };
        self.add(&format!("{lane}.{name}"), &Array { shape, parts })
    }
}

/// Writes the archive. `states` are the lanes' last states, or empty; sentences on what was too large go to `left_out`.
///
/// # Errors
/// If `out` cannot be written to, or the export was cancelled.
pub(crate) fn write<W: Write + Seek>(
    out: W,
    plan: &Plan,
    traces: &[LaneTrace],
    states: &[Arc<Snapshot>],
    left_out: &mut Vec<String>,
    watch: &mut Watch<'_>,
) -> io::Result<()> {
    let mut archive = Archive { zip: NpzWriter::new(out), left_out, watch };
    let after: Vec<i64> = plan.stream.after().iter().copied().map(i64::from).collect();
    archive.add("after", &Array { shape: vec![after.len()], parts: vec![Part::Long(&after)] })?;
    write_answers(&mut archive, &plan.stream)?;
    for (at, (lane, trace)) in plan.lanes.iter().zip(traces).enumerate() {
        write_lane(&mut archive, lane, trace)?;
        for array in states.get(at).into_iter().flat_map(|s| &s.arrays) {
            let (shape, parts) = (array.shape.clone(), vec![Part::Values(&array.values)]);
            archive.add(&format!("{}.final.{}", lane.name, array.name), &Array { shape, parts })?;
        }
    }
    archive.zip.finish().map_err(into_io)?;
    Ok(())
}

/// What each read should have returned, and where it was said.
fn write_answers<W: Write + Seek>(archive: &mut Archive<'_, '_, W>, stream: &Stream) -> io::Result<()> {
    let mut indices = |name: &str, numbers: &[u32]| {
        let numbers: Vec<i64> = numbers.iter().copied().map(i64::from).collect();
        archive.add(name, &Array { shape: vec![numbers.len()], parts: vec![Part::Long(&numbers)] })
    };
    if let Some(at) = &stream.labels().answer_at {
        indices("answer_at", at)?;
    }
    match stream.targets() {
        Targets::Codes { target, .. } => indices("target", target),
        Targets::Values(values) => {
            let numbers = Values::F32(values.iter().copied().collect());
            archive.add("target_values", &Array { shape: values.shape().to_vec(), parts: vec![Part::Values(&numbers)] })
        }
        Targets::None | Targets::FullAttention => Ok(()),
    }
}

fn write_lane<W: Write + Seek>(archive: &mut Archive<'_, '_, W>, lane: &PlanLane, trace: &LaneTrace) -> io::Result<()> {
    let stream = &lane.setup.stream;
    let heads: Vec<Vec<Derived>> = (0..stream.kv_heads()).map(|h| lane.kind.derived(&lane.setup, trace, h)).collect();
    let first = heads.first().map_or(&[][..], Vec::as_slice);
    for channel in trace.channels().iter().filter(|c| !first.iter().any(|d| d.name == c.spec().name)) {
        archive.channel(&lane.name, channel)?;
    }
    for derived in first {
        let of_head = |arrays: &'_ Vec<Derived>| arrays.iter().position(|d| d.name == derived.name && d.shape == derived.shape);
        let places: Option<Vec<usize>> = heads.iter().map(of_head).collect();
        let name = format!("{}.{}", lane.name, derived.name);
        // Heads of one run have the same shapes; if a layer ever says otherwise, no array is better than a wrong one.
        let Some(places) = places else {
            archive.left_out.push(format!("{name} is left out: its shape is not the same for all heads"));
            continue;
        };
        let parts = heads.iter().zip(places).map(|(arrays, at)| Part::Values(&arrays[at].values)).collect();
        let shape = std::iter::once(heads.len()).chain(derived.shape.iter().copied()).collect();
        archive.add(&name, &Array { shape, parts })?;
    }
    // What a layer derives of nothing names all that it can derive: the difference was too large for it.
    let nothing = lane.trace();
    for possible in lane.kind.derived(&lane.setup, &nothing, 0) {
        if !first.iter().any(|d| d.name == possible.name) {
            archive.left_out.push(format!("{}.{} is left out: it would be too large ({})", lane.name, possible.name, possible.meaning));
        }
    }
    Ok(())
}

fn into_io(error: WriteNpzError) -> io::Error {
    match error {
        WriteNpzError::Npy(WriteNpyError::Io(e)) => e,
        other => io::Error::other(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_what_numpy_writes() {
        let header = |shape: &[usize], values: Values| Array { shape: shape.to_vec(), parts: vec![Part::Values(&values)] }.header();
        for shape in [&[][..], &[7], &[2, 3], &[2, 3, 4]] {
            let bytes = header(shape, Values::I32(vec![1]));
            assert_eq!(bytes.len() % 64, 0);
            assert_eq!(usize::from(u16::from_le_bytes([bytes[8], bytes[9]])), bytes.len() - 10);
            assert_eq!(bytes.last(), Some(&b'\n'));
        }
        let text = |shape: &[usize], values| String::from_utf8(header(shape, values)[10..].to_vec()).unwrap().trim_end().to_owned();
        assert_eq!(text(&[7], Values::F32(vec![1.0])), "{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }");
        assert_eq!(text(&[2, 3], Values::F64(vec![1.0])), "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }");
        assert_eq!(text(&[], Values::I32(vec![1])), "{'descr': '<i4', 'fortran_order': False, 'shape': (), }");
    }
}
