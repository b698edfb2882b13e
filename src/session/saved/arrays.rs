//! Arrays in the archive: an entry `NAME.npy` each, and what the manifest says of it.

use std::io::{self, Read, Seek, Write};

use serde::{Deserialize, Serialize};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::each_block;
use crate::export::npz;
use crate::trace::Values;

/// What NumPy's format 1.0 begins with.
const NUMPY: &[u8; 8] = b"\x93NUMPY\x01\x00";

/// Entries larger than this need the larger form of the archive.
const LARGE: u64 = 1 << 31;

/// The type of an array's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Type {
    #[serde(rename = "<f4")]
    F32,
    #[serde(rename = "<f8")]
    F64,
    #[serde(rename = "<i4")]
    I32,
}

/// An array as the manifest has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Described {
    /// Its last name: the entry is `FOLDER/NAME.npy`.
    pub name: String,
    #[serde(rename = "type")]
    pub of: Type,
    pub shape: Vec<usize>,
}

impl Described {
    /// How many numbers it has.
    fn numbers(&self) -> Option<usize> {
        self.shape.iter().try_fold(1_usize, |product, &side| product.checked_mul(side))
    }

    fn width(&self) -> usize {
        match self.of {
            Type::F64 => 8,
            Type::F32 | Type::I32 => 4,
        }
    }
}

/// How an entry is stored.
pub(super) fn stored(bytes: u64) -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(bytes > LARGE)
}

/// Writes an array under `folder`.
pub(super) fn put<W: Write + Seek>(
    zip: &mut ZipWriter<W>,
    folder: &str,
    name: &str,
    shape: Vec<usize>,
    values: &Values,
) -> io::Result<Described> {
    let of = match values {
        Values::F32(_) => Type::F32,
        Values::F64(_) => Type::F64,
        Values::I32(_) => Type::I32,
    };
    let described = Described { name: name.to_owned(), of, shape };
    zip.start_file(format!("{folder}/{name}.npy"), stored(values.bytes() as u64 + 1024)).map_err(io::Error::other)?;
    let descr = match of {
        Type::F32 => "<f4",
        Type::F64 => "<f8",
        Type::I32 => "<i4",
    };
    zip.write_all(&npz::header(descr, &described.shape))?;
    let mut result = Ok(());
    each_block(values, |bytes| {
        if result.is_ok() {
            result = zip.write_all(bytes);
        }
    });
    result.map(|()| described)
}

/// Reads an entry whole, if it has no more than `limit` bytes. Its checksum has been compared at the end.
pub(super) fn entry<R: Read + Seek>(zip: &mut ZipArchive<R>, name: &str, limit: u64) -> Result<Vec<u8>, String> {
    let mut file = zip.by_name(name).map_err(|e| format!("`{name}` cannot be read: {e}"))?;
    if file.compression() != CompressionMethod::Stored {
        return Err(format!("`{name}` is compressed, but this format stores its entries as they are"));
    }
    if file.size() > limit {
        return Err(format!("`{name}` is said to have {} bytes, more than there can be", file.size()));
    }
    let mut bytes = Vec::new();
    // The size is what the archive says: only what is there is taken in.
    let wanted = file.size();
    (&mut file).take(limit + 1).read_to_end(&mut bytes).map_err(|e| format!("`{name}` cannot be read: {e}"))?;
    if bytes.len() as u64 != wanted {
        return Err(format!("`{name}` has {} bytes, but {wanted} are expected", bytes.len()));
    }
    Ok(bytes)
}

/// Reads an array of `folder` back.
pub(super) fn get<R: Read + Seek>(zip: &mut ZipArchive<R>, folder: &str, array: &Described, limit: u64) -> Result<Values, String> {
    let name = format!("{folder}/{}.npy", array.name);
    let bytes = entry(zip, &name, limit)?;
    let wrong = |what: &str| format!("`{name}` {what}");
    let start =
        bytes.strip_prefix(NUMPY).and_then(|rest| Some(NUMPY.len() + 2 + usize::from(u16::from_le_bytes([*rest.first()?, *rest.get(1)?]))));
    let data = start.and_then(|start| bytes.get(start..)).ok_or_else(|| wrong("does not begin as an array does"))?;
    let numbers = array.numbers().ok_or_else(|| wrong("is said to be too large"))?;
    if numbers.checked_mul(array.width()) != Some(data.len()) {
        return Err(wrong(&format!("has {} bytes of numbers, but {:?} are expected", data.len(), array.shape)));
    }
    Ok(match array.of {
        Type::F32 => Values::F32(data.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()),
        Type::I32 => Values::I32(data.chunks_exact(4).map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()),
        Type::F64 => {
            Values::F64(data.chunks_exact(8).map(|b| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]])).collect())
        }
    })
}

/// The same, if its numbers are float32.
pub(super) fn reals<R: Read + Seek>(zip: &mut ZipArchive<R>, folder: &str, array: &Described, limit: u64) -> Result<Vec<f32>, String> {
    match get(zip, folder, array, limit)? {
        Values::F32(values) => Ok(values),
        _ => Err(format!("`{folder}/{}` is no array of float32", array.name)),
    }
}

/// The same, if its numbers are whole and not below 0.
pub(super) fn sizes<R: Read + Seek>(zip: &mut ZipArchive<R>, folder: &str, array: &Described, limit: u64) -> Result<Vec<u32>, String> {
    let wrong = || format!("`{folder}/{}` is no array of whole numbers from 0", array.name);
    match get(zip, folder, array, limit)? {
        Values::I32(values) => values.into_iter().map(|v| u32::try_from(v).map_err(|_| wrong())).collect(),
        _ => Err(wrong()),
    }
}
