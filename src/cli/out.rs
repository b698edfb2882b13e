//! `--out` and its like: whether a name says what will be there, asked before the work. A file is not called otherwise than what is
//! written into it, and a folder is not called as a file is.

use std::path::Path;

/// Ends of names that say what is in a file: no folder is made under such a name.
const OF_FILES: [&str; 24] = [
    "apng",
    "avi",
    "csv",
    "gif",
    "jpeg",
    "jpg",
    "json",
    "jsonl",
    "md",
    "mnemo",
    "mp4",
    "npy",
    "npz",
    "parquet",
    "pdf",
    "png",
    "ron",
    "safetensors",
    "svg",
    "tsv",
    "txt",
    "webm",
    "webp",
    "zip",
];

/// Checks the name of a file that `option` gives: it must end in one of `kinds`, since `what` is written so.
///
/// # Errors
/// A sentence with the names that can be, `--out is a.txt: the name of a sweep's table ends in .parquet`.
pub fn file(option: &str, path: &Path, what: &str, kinds: &[&str]) -> Result<(), String> {
    if kinds.iter().any(|kind| ends_in(path, kind)) {
        return Ok(());
    }
    let kinds = kinds.iter().map(|kind| format!(".{kind}")).collect::<Vec<_>>().join(" or ");
    Err(format!("{option} is {}: {what} ends in {kinds}", path.display()))
}

/// Checks the name of a folder that `option` gives for `what`. One that is there already may be called as it likes.
///
/// # Errors
/// A sentence, if it is called as a file is.
pub fn folder(option: &str, path: &Path, what: &str) -> Result<(), String> {
    match OF_FILES.iter().find(|kind| ends_in(path, kind)) {
        Some(kind) if !path.exists() => {
            Err(format!("{option} is {}: {what}, and a name that ends in .{kind} is that of a file", path.display()))
        }
        _ => Ok(()),
    }
}

/// True if a name ends so, in small letters or capitals.
pub fn ends_in(path: &Path, kind: &str) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_is_written() {
        let parquet = |name: &str| file("--out", Path::new(name), "a sweep's name", &["parquet"]);
        assert_eq!((parquet("a.parquet"), parquet("b/A.PARQUET")), (Ok(()), Ok(())));
        for wrong in ["x.csv", "parquet", "a.parquet.txt", ""] {
            assert_eq!(parquet(wrong), Err(format!("--out is {wrong}: a sweep's name ends in .parquet")));
        }
        let two = file("--out", Path::new("x.gif"), "a picture's name", &["png", "svg"]);
        assert_eq!(two, Err("--out is x.gif: a picture's name ends in .png or .svg".to_owned()));
    }

    #[test]
    fn a_folder_is_not_called_as_a_file_is() {
        let home = tempfile::tempdir().unwrap();
        let of = |name: &str| folder("--out", &home.path().join(name), "the trace goes into a folder");
        assert_eq!([of("out"), of("session.trace"), of("v1.2"), of(".csv")], [Ok(()), Ok(()), Ok(()), Ok(())]);
        let path = home.path().join("x.Svg").display().to_string();
        let words = "the trace goes into a folder, and a name that ends in .svg is that of a file";
        assert_eq!(of("x.Svg"), Err(format!("--out is {path}: {words}")));
        // Somebody has called it so.
        std::fs::create_dir(home.path().join("x.Svg")).unwrap();
        assert_eq!(of("x.Svg"), Ok(()));
    }
}
