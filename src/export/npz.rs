//! `trace.npz`: the arrays for `numpy.load`.
//!
//! A zip archive without compression, one entry an array in NumPy's format 1.0. An array of 4 GiB or more is an entry in the form
//! of zip64, which NumPy reads. What the arrays mean is in the archive too: `metadata`, an array of no dimension that holds a
//! text of JSON (`json.loads(str(trace["metadata"]))`).

use std::io::{self, Seek, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::Watch;
use super::inventory::{Dtype, Entry, Inventory, Made, Part};

/// The name of the array that holds the metadata.
pub(crate) const METADATA: &str = "metadata";

/// An entry this large has the form of zip64: 4 GiB, and room for the header.
const LARGE: u64 = (4 << 30) - (1 << 20);

/// Bytes in front of the dictionary in NumPy's header: magic, version, length.
const HEADER_START: usize = 10;

/// The header of NumPy's format 1.0: magic, version, length, and a Python dictionary padded to a multiple of 64 bytes.
pub(crate) fn header(descr: &str, shape: &[usize]) -> Vec<u8> {
    let sizes = match shape {
        [one] => format!("{one},"),
        several => several.iter().map(usize::to_string).collect::<Vec<_>>().join(", "),
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let padding = 63 - (HEADER_START + text.len()) % 64;
    text.extend(std::iter::repeat_n(' ', padding));
    text.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend_from_slice(&(text.len() as u16).to_le_bytes());
    header.extend_from_slice(text.as_bytes());
    header
}

fn descr(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "<f4",
        Dtype::F64 => "<f8",
        Dtype::I32 => "<i4",
        Dtype::I64 => "<i8",
    }
}

/// Writes the archive.
///
/// # Errors
/// If `out` cannot be written to, or the export was cancelled.
pub(crate) fn write<W: Write + Seek>(out: W, inventory: &Inventory<'_>, metadata: &str, watch: &mut Watch<'_>) -> io::Result<()> {
    let mut zip = ZipWriter::new(out);
    let mut made = Made::default();
    for entry in inventory.entries() {
        begin(&mut zip, &entry.name, entry.bytes())?;
        zip.write_all(&header(descr(entry.dtype), &entry.shape))?;
        write_numbers(&mut zip, inventory, entry, &mut made, watch)?;
    }
    // NumPy's own texts are of four bytes a character.
    let text: Vec<u8> = metadata.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    begin(&mut zip, METADATA, text.len() as u64)?;
    zip.write_all(&header(&format!("<U{}", text.len() / 4), &[]))?;
    zip.write_all(&text)?;
    zip.finish()?.flush()
}

fn begin<W: Write + Seek>(zip: &mut ZipWriter<W>, name: &str, bytes: u64) -> io::Result<()> {
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(bytes >= LARGE);
    Ok(zip.start_file(format!("{name}.npy"), options)?)
}

/// Writes an array's numbers, little-endian and row-major, and no other count of them than its shape says.
pub(crate) fn write_numbers(
    out: &mut impl Write,
    inventory: &Inventory<'_>,
    entry: &Entry,
    made: &mut Made,
    watch: &mut Watch<'_>,
) -> io::Result<()> {
    use crate::trace::Values;
    let mut written = 0;
    inventory.parts(entry, made, &mut |part| {
        let bytes = match (entry.dtype, part) {
            (Dtype::F32, Part::Values(Values::F32(v), at)) => little(out, &v[at], f32::to_le_bytes, watch)?,
            (Dtype::F64, Part::Values(Values::F64(v), at)) => little(out, &v[at], f64::to_le_bytes, watch)?,
            (Dtype::I32, Part::Values(Values::I32(v), at)) => little(out, &v[at], i32::to_le_bytes, watch)?,
            (Dtype::I64, Part::Long(v)) => little(out, v, i64::to_le_bytes, watch)?,
            (_, Part::Values(_, at)) if at.is_empty() => 0,
            _ => return Err(io::Error::other(format!("{}: its heads have different kinds of numbers", entry.name))),
        };
        written += bytes;
        Ok(())
    })?;
    if written == entry.bytes() {
        Ok(())
    } else {
        Err(io::Error::other(format!("{}: {written} bytes of numbers where its shape has {}", entry.name, entry.bytes())))
    }
}

fn little<T: Copy, const N: usize>(out: &mut impl Write, numbers: &[T], bytes: fn(T) -> [u8; N], watch: &mut Watch<'_>) -> io::Result<u64> {
    let mut buffer = Vec::with_capacity(N * numbers.len().min(1 << 14));
    for run in numbers.chunks(1 << 14) {
        buffer.clear();
        buffer.extend(run.iter().flat_map(|&x| bytes(x)));
        out.write_all(&buffer)?;
        watch.wrote(buffer.len() as u64)?;
    }
    Ok((numbers.len() * N) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_what_numpy_writes() {
        for shape in [&[][..], &[7], &[2, 3], &[2, 3, 4]] {
            let bytes = header("<i4", shape);
            assert_eq!(bytes.len() % 64, 0);
            assert_eq!(usize::from(u16::from_le_bytes([bytes[8], bytes[9]])), bytes.len() - 10);
            assert_eq!(bytes.last(), Some(&b'\n'));
        }
        let text = |descr: &str, shape: &[usize]| String::from_utf8(header(descr, shape)[10..].to_vec()).unwrap().trim_end().to_owned();
        assert_eq!(text("<f4", &[7]), "{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }");
        assert_eq!(text("<f8", &[2, 3]), "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }");
        assert_eq!(text("<i4", &[]), "{'descr': '<i4', 'fortran_order': False, 'shape': (), }");
    }
}
