//! Files that are there whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use thiserror::Error;

/// Why a file cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}: cannot be written: {reason}")]
pub struct WriteError {
    /// The file.
    pub file: String,
    /// Why.
    pub reason: String,
}

impl WriteError {
    /// What went wrong with the file or folder at `path`.
    #[must_use]
    pub fn of(path: &Path, error: &std::io::Error) -> Self {
        Self { file: path.display().to_string(), reason: error.to_string() }
    }

    /// What went wrong where something that is to become `path` was to begin, under a name of its own, in `folder`: what is wrong with the
    /// folder, in words.
    #[must_use]
    pub fn beside(path: &Path, folder: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        let shown = folder.display();
        // The first part of the way that is there, which may be a file.
        let there = folder.ancestors().find(|p| p.exists()).filter(|p| !p.is_dir());
        let reason = match (error.kind(), there) {
            (NotFound | NotADirectory, Some(file)) => format!("{} is not a folder", file.display()),
            (NotFound, None) => format!("the folder {shown} does not exist"),
            // The error itself names a file that nobody has heard of.
            (kind, _) => format!("no file can be made in the folder {shown}: {kind}"),
        };
        Self { file: path.display().to_string(), reason }
    }
}

/// Writes a file through `fill`: into a temporary file of the same folder, which takes the name `path` once everything is on
/// the disk. If `fill` or the disk fails, what was at `path` before stays as it was.
///
/// # Errors
/// If the folder does not exist or cannot be written to, or `fill` fails.
pub fn write_atomic(path: &Path, fill: impl FnOnce(&mut BufWriter<&mut File>) -> std::io::Result<()>) -> Result<(), WriteError> {
    let failed = |e: std::io::Error| WriteError::of(path, &e);
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".mnemoscope-").suffix(".part");
    #[cfg(unix)]
    {
        // A temporary file is its owner's alone; a file that was saved is as the user's mask says.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut temporary = builder.tempfile_in(folder).map_err(|e| WriteError::beside(path, folder, &e))?;
    let mut writer = BufWriter::with_capacity(1 << 16, temporary.as_file_mut());
    fill(&mut writer).and_then(|()| writer.flush()).map_err(failed)?;
    drop(writer);
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write_atomic(&path, |f| f.write_all(b"first")).unwrap();
        let error = write_atomic(&path, |f| {
            f.write_all(b"sec")?;
            Err(std::io::Error::other("the disk is full"))
        });
        assert_eq!(error.unwrap_err().to_string(), format!("{}: cannot be written: the disk is full", path.display()));
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left in the folder");
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let said = |path: &Path| write_atomic(path, |_| Ok(())).unwrap_err().to_string();
        let path = folder.path().join("no").join("a.txt");
        let missing = format!("the folder {} does not exist", folder.path().join("no").display());
        assert_eq!(said(&path), format!("{}: cannot be written: {missing}", path.display()));
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        for path in [file.join("a.txt"), file.join("deep/a.txt")] {
            assert_eq!(said(&path), format!("{}: cannot be written: {} is not a folder", path.display(), file.display()));
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
