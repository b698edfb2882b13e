//! A folder that several files come into together: all of them, or none.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::WriteError;

/// A folder for a bundle. What of it had to be made is taken away again when this is dropped and nothing has come into it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The folders that were made, the outermost first.
    made: Vec<PathBuf>,
}

impl Folder {
    /// The folder `path`, made if it is not there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn make(path: &Path) -> Result<Self, WriteError> {
        let missing = path.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists()).map(Path::to_owned);
        let mut made: Vec<PathBuf> = missing.collect();
        made.reverse();
        std::fs::create_dir_all(path).map_err(|e| WriteError::of(path, &e))?;
        Ok(Self { path: path.to_owned(), made })
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Only what is empty goes: an error says that something is in it.
        self.made.iter().rev().all(|folder| std::fs::remove_dir(folder).is_ok());
    }
}

/// Files on their way into a folder: in a folder of their own inside it, until all are there.
#[derive(Debug)]
pub(crate) struct Staging<'a> {
    folder: &'a Folder,
    stage: TempDir,
    names: Vec<String>,
}

impl<'a> Staging<'a> {
    /// # Errors
    /// If the folder cannot be written to.
    pub fn begin(folder: &'a Folder) -> Result<Self, WriteError> {
        let stage = tempfile::Builder::new().prefix(".mnemoscope-").suffix(".part").tempdir_in(&folder.path);
        Ok(Self { folder, stage: stage.map_err(|e| WriteError::beside(&folder.path, &folder.path, &e))?, names: Vec::new() })
    }

    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(&mut self, name: &str) -> Result<BufWriter<File>, WriteError> {
        let file = File::create(self.stage.path().join(name)).map_err(|e| WriteError::of(&self.folder.path.join(name), &e))?;
        self.names.push(name.to_owned());
        Ok(BufWriter::with_capacity(1 << 16, file))
    }

    /// Ends a file: all of it is on the disk then.
    ///
    /// # Errors
    /// If the disk is full.
    pub fn end(&self, name: &str, file: BufWriter<File>) -> Result<(), WriteError> {
        let sync = |mut file: BufWriter<File>| {
            file.flush()?;
            file.get_ref().sync_all()
        };
        sync(file).map_err(|e| WriteError::of(&self.folder.path.join(name), &e))
    }

    /// What went wrong with a file.
    pub fn error(&self, name: &str, error: &io::Error) -> WriteError {
        WriteError::of(&self.folder.path.join(name), error)
    }

    /// Puts the files into the folder. Those in their places, and those of `old`, go; if one cannot take its place all is as before.
    ///
    /// # Errors
    /// If a file cannot take its place.
    pub fn commit(self, old: &[String]) -> Result<Vec<PathBuf>, WriteError> {
        let kept = self.stage.path().join("old");
        std::fs::create_dir(&kept).map_err(|e| WriteError::of(&kept, &e))?;
        let mut moved: Vec<(PathBuf, PathBuf)> = Vec::new();
        match self.move_all(old, &kept, &mut moved) {
            Ok(()) => Ok(self.names.iter().map(|name| self.folder.path.join(name)).collect()),
            Err(error) => {
                for (from, to) in moved.iter().rev() {
                    if let Err(error) = std::fs::rename(to, from) {
                        log::error!("{}: cannot be put back to {}: {error}", to.display(), from.display());
                    }
                }
                Err(error)
            }
        }
    }

    fn move_all(&self, old: &[String], kept: &Path, moved: &mut Vec<(PathBuf, PathBuf)>) -> Result<(), WriteError> {
        let mut rename = |from: PathBuf, to: PathBuf, named: &Path| {
            std::fs::rename(&from, &to).map_err(|e| WriteError::of(named, &e))?;
            moved.push((from, to));
            Ok(())
        };
        let mut going: Vec<&String> = self.names.iter().chain(old).collect();
        going.sort_unstable();
        going.dedup();
        for name in going {
            let place = self.folder.path.join(name);
            if place.is_dir() {
                return Err(WriteError { file: place.display().to_string(), reason: "a folder has that name".to_owned() });
            }
            if place.exists() {
                rename(place.clone(), kept.join(name), &place)?;
            }
        }
        for name in &self.names {
            let place = self.folder.path.join(name);
            rename(self.stage.path().join(name), place.clone(), &place)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(staging: &mut Staging<'_>, name: &str, text: &str) {
        let mut file = staging.create(name).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        staging.end(name, file).unwrap();
    }

    fn content(path: &Path) -> Vec<(String, String)> {
        let read = |e: std::fs::DirEntry| (e.file_name().into_string().unwrap(), std::fs::read_to_string(e.path()).unwrap_or_default());
        let mut all: Vec<_> = std::fs::read_dir(path).unwrap().map(|e| read(e.unwrap())).collect();
        all.sort();
        all
    }

    #[test]
    fn files_come_together_and_old_ones_go() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::make(&root.path().join("a/b")).unwrap();
        std::fs::write(folder.path().join("one"), "old").unwrap();
        std::fs::write(folder.path().join("gone"), "old").unwrap();
        std::fs::write(folder.path().join("mine"), "old").unwrap();
        let mut staging = Staging::begin(&folder).unwrap();
        write(&mut staging, "one", "new");
        write(&mut staging, "two", "new");
        assert_eq!(std::fs::read_to_string(folder.path().join("one")).unwrap(), "old", "not before all are there");
        let files = staging.commit(&["gone".to_owned(), "never".to_owned()]).unwrap();
        assert_eq!(files, ["one", "two"].map(|n| folder.path().join(n)));
        let own = |n: &str, t: &str| (n.to_owned(), t.to_owned());
        assert_eq!(content(folder.path()), [own("mine", "old"), own("one", "new"), own("two", "new")]);
    }

    #[test]
    fn if_one_cannot_take_its_place_all_is_as_before() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::make(root.path()).unwrap();
        std::fs::write(root.path().join("one"), "old").unwrap();
        std::fs::create_dir(root.path().join("two")).unwrap();
        let before = content(root.path());
        let mut staging = Staging::begin(&folder).unwrap();
        write(&mut staging, "one", "new");
        write(&mut staging, "two", "new");
        let error = staging.commit(&[]).unwrap_err().to_string();
        assert!(error.contains("two: cannot be written: a folder has that name"), "{error}");
        assert_eq!(content(root.path()), before);
    }

    #[test]
    fn a_folder_that_was_made_for_nothing_goes_again() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/b/c");
        let folder = Folder::make(&path).unwrap();
        drop(Staging::begin(&folder).unwrap());
        drop(folder);
        assert_eq!(content(root.path()), []);
        let folder = Folder::make(&path).unwrap();
        std::fs::write(path.join("x"), "").unwrap();
        drop(folder);
        assert!(path.join("x").exists());
    }
}
