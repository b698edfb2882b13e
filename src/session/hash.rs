//! What a file is known by: the SHA-256 of its bytes. A session names its capture with it, so that another file of the same name is not
//! taken for it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use super::file::resolve;
use super::plan::PlanError;
use super::{CaptureSource, Source};

/// Bytes read at a time; between two of them a cancel is heard.
const BLOCK: usize = 1 << 20;

/// How many files' hashes are remembered.
const REMEMBERED: usize = 64;

/// A file as it was when its hash was computed: bytes, and when it was changed last.
type Stamp = (u64, Option<SystemTime>);

/// The hashes that were computed, so that a run after every change of a slider does not read the capture again.
static KNOWN: Mutex<BTreeMap<PathBuf, (Stamp, String)>> = Mutex::new(BTreeMap::new());

/// The SHA-256 of a file, in 64 hexadecimal digits. It takes about a second for each gigabyte, the first time; a file that has not
/// changed since is not read again.
///
/// # Errors
/// If the file cannot be read; [`io::ErrorKind::Interrupted`] once `cancel` is set.
pub fn of_file(path: &Path, cancel: &AtomicBool) -> io::Result<String> {
    let mut file = File::open(path)?;
    let about = file.metadata()?;
    let stamp = (about.len(), about.modified().ok());
    let key = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some((then, hash)) = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&key)
        && *then == stamp
    {
        return Ok(hash.clone());
    }
    let mut hasher = Sha256::new();
    let mut block = vec![0; BLOCK];
    loop {
        if cancel.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match file.read(&mut block) {
            Ok(0) => break,
            Ok(read) => hasher.update(&block[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let hash = hex(&hasher.finalize());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() >= REMEMBERED {
        known.clear();
    }
    known.insert(key, (stamp, hash.clone()));
    Ok(hash)
}

/// The SHA-256 of what is in memory, in 64 hexadecimal digits.
#[must_use]
pub fn of_bytes(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |text, byte| text + &format!("{byte:02x}"))
}

/// True for 64 hexadecimal digits.
#[must_use]
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The first digits of a hash, enough to tell two apart.
#[must_use]
pub fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

/// Checks that the capture that a source names is there, and is the file that it names where it says which.
///
/// # Errors
/// [`PlanError::CaptureMissing`], [`PlanError::CaptureDiffers`], or that `cancel` was set.
pub fn check(source: &Source, base: Option<&Path>, cancel: &AtomicBool) -> Result<(), PlanError> {
    let Source::Capture(capture) = source else { return Ok(()) };
    if capture.is_bundled() {
        return Ok(());
    }
    let path = resolve(&capture.path, base);
    let file = path.display().to_string();
    if matches!(path.try_exists(), Ok(false)) {
        return Err(PlanError::CaptureMissing { name: capture.path.display().to_string(), file });
    }
    let Some(expected) = &capture.sha256 else { return Ok(()) };
    match of_file(&path, cancel) {
        Ok(found) if found.eq_ignore_ascii_case(expected) => Ok(()),
        Ok(found) => Err(PlanError::CaptureDiffers { file, expected: expected.clone(), found }),
        Err(_) if cancel.load(Ordering::Relaxed) => Err(PlanError::Cancelled),
        Err(error) => Err(PlanError::CaptureUnread { file, reason: error.to_string() }),
    }
}

/// Gives a capture its hash, where it has none and its file can be read.
pub fn name(capture: &mut CaptureSource, base: Option<&Path>) {
    if capture.is_bundled() || capture.sha256.is_some() {
        return;
    }
    let path = resolve(&capture.path, base);
    match of_file(&path, &AtomicBool::new(false)) {
        Ok(hash) => capture.sha256 = Some(hash),
        Err(error) => log::warn!("{}: {error}; the session does not name it by its content", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_hash_that_everyone_gives_it_and_another_when_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        let hash = |text: &str| {
            std::fs::write(&path, text).unwrap();
            of_file(&path, &AtomicBool::new(false)).unwrap()
        };
        // FIPS 180-2, B.1, and the hash of nothing.
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert!(is_sha256(&hash("abcd")) && !is_sha256("abc") && !is_sha256(&"g".repeat(64)));
        assert!(of_file(folder.path().join("no").as_path(), &AtomicBool::new(false)).is_err());
        std::fs::write(&path, "another, not known yet").unwrap();
        assert_eq!(of_file(&path, &AtomicBool::new(true)).map_err(|e| e.kind()), Err(io::ErrorKind::Interrupted));
    }
}
