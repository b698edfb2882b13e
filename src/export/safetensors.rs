//! `trace.safetensors`: the same arrays under the same names.
//!
//! The format: a length of 64 bits, a header of JSON (name, kind of number, shape and place of every array, and a map of texts),
//! then the numbers without gaps. Places are of 64 bits, so that arrays of any size fit. The map of texts holds `mnemoscope` (the
//! kind of file), `version` (of the program), `session` (RON), `session_sha256`, and `metadata`: what every array means, as JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::Watch;
use super::inventory::{Dtype, Inventory, Made};
use super::npz::write_numbers;

fn name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F32 => "F32",
        Dtype::F64 => "F64",
        Dtype::I32 => "I32",
        Dtype::I64 => "I64",
    }
}

/// The length and the header of a file with these arrays, each `(name, kind of number, shape)`, in this order.
fn header<'a>(arrays: impl Iterator<Item = (&'a str, Dtype, &'a [usize])>, texts: &BTreeMap<&str, &str>) -> io::Result<Vec<u8>> {
    let mut all = Map::new();
    all.insert("__metadata__".to_owned(), json!(texts));
    let mut at = 0_u64;
    for (title, dtype, shape) in arrays {
        let end = at + shape.iter().map(|n| *n as u64).product::<u64>() * dtype.size() as u64;
        all.insert(title.to_owned(), json!({ "dtype": name(dtype), "shape": shape, "data_offsets": [at, end] }));
        at = end;
    }
    let mut text = serde_json::to_vec(&Value::Object(all))?;
    // The numbers begin at a multiple of eight bytes.
    text.resize(text.len().next_multiple_of(8), b' ');
    let mut header = (text.len() as u64).to_le_bytes().to_vec();
    header.append(&mut text);
    Ok(header)
}

/// Writes the file.
///
/// # Errors
/// If `out` cannot be written to, or the export was cancelled.
pub(crate) fn write(
    out: &mut impl Write,
    inventory: &Inventory<'_>,
    texts: &BTreeMap<&str, &str>,
    watch: &mut Watch<'_>,
) -> io::Result<()> {
    let arrays = inventory.entries().iter().map(|e| (e.name.as_str(), e.dtype, e.shape.as_slice()));
    out.write_all(&header(arrays, texts)?)?;
    let mut made = Made::default();
    for entry in inventory.entries() {
        write_numbers(out, inventory, entry, &mut made, watch)?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another reader's checks of a file of more than 4 GiB: the numbers are a hole in the file, which costs no disk.
    #[cfg(unix)]
    #[test]
    fn an_array_of_more_than_4_gib_is_found_by_another_reader() {
        let texts = BTreeMap::from([("mnemoscope", "bundle 1")]);
        let (long, large): (&[usize], &[usize]) = (&[3], &[2, 3, 200_000_000]);
        let header = header([("a", Dtype::I64, long), ("b", Dtype::F32, large), ("c", Dtype::I32, long)].into_iter(), &texts).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&header).unwrap();
        file.set_len(header.len() as u64 + 24 + 4_800_000_000 + 12).unwrap();
        #[allow(unsafe_code, reason = "nobody else knows of this file")]
        // SAFETY: the file has no name, so that nobody else can change it while it is mapped.
        let map = unsafe { memmap2::Mmap::map(&file) }.unwrap();
        let read = ::safetensors::SafeTensors::deserialize(&map).unwrap();
        let b = read.tensor("b").unwrap();
        assert_eq!((b.shape(), b.data().len()), (large, 4_800_000_000));
        assert_eq!(read.tensor("c").unwrap().data().as_ptr() as usize - map.as_ptr() as usize, header.len() + 24 + 4_800_000_000);
        let (_, metadata) = ::safetensors::SafeTensors::read_metadata(&map).unwrap();
        assert_eq!(metadata.metadata().as_ref().unwrap()["mnemoscope"], "bundle 1");
    }
}
