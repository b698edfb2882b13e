//! Edits are kept by themselves, so that a crash loses none: in a file of the window's own, written in the background, whole or not at
//! all, and taken away when the window closes or its session is saved.
//!
//! Beside the file lies a lock that the window's process holds as long as it lives; the system lets go of it however the process
//! ends. A file whose lock nobody holds is that of a window that crashed: [`crashed`] finds those, and holds their locks, so that of two
//! windows only one asks about them.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use serde::{Deserialize, Serialize};

use crate::export::write_atomic;
use crate::session::Session;

/// An edit is written when nothing has been edited for so long,
const QUIET: Duration = Duration::from_millis(700);

/// or at the latest so long after it was made.
const LATEST: Duration = Duration::from_secs(5);

/// Windows of this process so far, so that each has a file of its own.
static WINDOWS: AtomicU32 = AtomicU32::new(0);

/// Edits as they are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The session's file, if it has one.
    pub path: Option<PathBuf>,
    /// When: seconds since 1970.
    pub seconds: u64,
    /// The session.
    pub session: Session,
}

/// The same in the file: the session as its own text, so that one of an older version can be read.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Kept", deny_unknown_fields)]
struct Text {
    path: Option<PathBuf>,
    seconds: u64,
    session: String,
}

impl Kept {
    fn write(&self, file: &Path) -> Result<(), String> {
        let session = self.session.to_ron().map_err(|e| e.to_string())?;
        let text = Text { path: self.path.clone(), seconds: self.seconds, session };
        let text = ron::ser::to_string_pretty(&text, ron::ser::PrettyConfig::default()).map_err(|e| e.to_string())?;
        write_atomic(file, |out| std::io::Write::write_all(out, text.as_bytes())).map_err(|e| e.to_string())
    }

    fn read(file: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
        let Text { path, seconds, session } = ron::from_str(&text).map_err(|e| e.to_string())?;
        let session = Session::from_ron(&session, &file.display().to_string()).map_err(|e| e.to_string())?;
        Ok(Self { path, seconds, session })
    }

    /// How long ago they were kept, in words.
    #[must_use]
    pub fn ago(&self) -> String {
        ago(now().saturating_sub(self.seconds))
    }
}

/// So many seconds in words: `3 minutes ago`.
fn ago(seconds: u64) -> String {
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute")];
    match units.into_iter().find(|(length, _)| seconds >= *length) {
        Some((length, unit)) if seconds / length == 1 => format!("a{} {unit} ago", if unit == "hour" { "n" } else { "" }),
        Some((length, unit)) => format!("{} {unit}s ago", seconds / length),
        None => "less than a minute ago".to_owned(),
    }
}

enum Message {
    Keep(Box<Kept>),
    Forget,
}

/// Keeps the edits of one window.
#[derive(Debug)]
pub struct Autosave {
    /// `None` only while it is dropped.
    messages: Option<Sender<Message>>,
    thread: Option<JoinHandle<()>>,
    /// True: what is kept stays when the window goes.
    stays: Arc<AtomicBool>,
    /// What was sent last; `None`: nothing is kept.
    last: Option<Session>,
}

impl Autosave {
    /// Starts the thread that writes into the folder, which is made when something is to be kept.
    ///
    /// # Errors
    /// If the operating system gives no thread.
    pub fn new(folder: &Path) -> std::io::Result<Self> {
        let number = WINDOWS.fetch_add(1, Ordering::Relaxed);
        let file = folder.join(format!("{}-{number}-{}.ron", std::process::id(), now()));
        let (messages, inbox) = unbounded();
        let stays = Arc::new(AtomicBool::new(false));
        let stay = Arc::clone(&stays);
        let thread = thread::Builder::new().name("autosave".to_owned()).spawn(move || Writer { file, lock: None }.work(&inbox, &stay))?;
        Ok(Self { messages: Some(messages), thread: Some(thread), stays, last: None })
    }

    /// The session is edited; `kept` makes what is to be kept of it, if it has not been asked for already.
    pub fn keep(&mut self, session: &Session, kept: impl FnOnce() -> (Session, Option<PathBuf>)) {
        // Where the playhead stands is kept too, but is no edit.
        if self.last.as_ref().is_some_and(|last| last.is_but_for_view(session)) {
            return;
        }
        self.last = Some(session.clone());
        let (session, path) = kept();
        self.send(Message::Keep(Box::new(Kept { path, seconds: now(), session })));
    }

    /// There is nothing to keep: the session is as in its file.
    pub fn forget(&mut self) {
        if self.last.take().is_some() {
            self.send(Message::Forget);
        }
    }

    fn send(&self, message: Message) {
        if self.messages.as_ref().is_none_or(|m| m.send(message).is_err()) {
            log::error!("the thread that keeps edits has ended");
        }
    }

    /// Ends as a crash would: what is kept stays. For tests.
    #[doc(hidden)]
    pub fn crash(self) {
        self.stays.store(true, Ordering::Relaxed);
    }
}

impl Drop for Autosave {
    fn drop(&mut self) {
        // A window that goes because the program panics has not been closed by its user.
        if thread::panicking() {
            self.stays.store(true, Ordering::Relaxed);
        }
        self.messages = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            log::error!("the thread that keeps edits had panicked");
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs())
}

/// The thread's own side.
struct Writer {
    file: PathBuf,
    lock: Option<File>,
}

impl Writer {
    fn work(mut self, inbox: &Receiver<Message>, stays: &AtomicBool) {
        let mut waiting: Option<(Box<Kept>, Instant)> = None;
        loop {
            let message = match &waiting {
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some((_, first)) => inbox.recv_timeout(QUIET.min(LATEST.saturating_sub(first.elapsed()))),
            };
            match message {
                Ok(Message::Keep(kept)) => {
                    let first = waiting.take().map_or_else(Instant::now, |(_, first)| first);
                    waiting = Some((kept, first));
                }
                Ok(Message::Forget) => {
                    waiting = None;
                    self.remove();
                }
                Err(RecvTimeoutError::Timeout) => self.write(waiting.take()),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if stays.load(Ordering::Relaxed) {
            self.write(waiting.take());
        } else {
            self.remove();
        }
    }

    fn write(&mut self, kept: Option<(Box<Kept>, Instant)>) {
        let Some((kept, _)) = kept else { return };
        if let Err(error) = self.locked().and_then(|()| kept.write(&self.file)) {
            log::warn!("edits are not kept: {error}");
        }
    }

    /// Makes the folder and takes the lock, the first time.
    fn locked(&mut self) -> Result<(), String> {
        if self.lock.is_none() {
            let folder = self.file.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
            let lock = open_lock(&self.file).map_err(|e| e.to_string())?;
            lock.try_lock().map_err(|e| e.to_string())?;
            self.lock = Some(lock);
        }
        Ok(())
    }

    fn remove(&mut self) {
        if self.lock.is_some() {
            remove(&self.file);
            self.lock = None;
        }
    }
}

fn lock_of(file: &Path) -> PathBuf {
    file.with_extension("lock")
}

fn open_lock(file: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).write(true).truncate(false).open(lock_of(file))
}

/// Takes what is kept away, and its lock after it.
fn remove(file: &Path) {
    for file in [file, &lock_of(file)] {
        match std::fs::remove_file(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => log::warn!("{}: {error}", file.display()),
            _ => {}
        }
    }
}

/// The edits of a window that crashed. As long as this lives no other window is offered them.
#[derive(Debug)]
pub struct Crashed {
    /// Where they are kept.
    pub file: PathBuf,
    /// What is kept.
    pub kept: Kept,
    /// Held, until this goes.
    _lock: File,
}

impl Crashed {
    /// Takes them away.
    pub fn discard(self) {
        remove(&self.file);
    }
}

/// The edits of all windows that crashed, the newest last. Those of windows that live are left alone, whatever program they are of, and
/// so is a file that cannot be understood.
#[must_use]
pub fn crashed(folder: &Path) -> Vec<Crashed> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let files = entries.filter_map(|e| Some(e.ok()?.path())).filter(|p| p.extension().is_some_and(|e| e == "ron"));
    let mut all: Vec<Crashed> = files.filter_map(|file| claim(&file)).collect();
    all.sort_by_key(|c| c.kept.seconds);
    all
}

fn claim(file: &Path) -> Option<Crashed> {
    let lock = open_lock(file).inspect_err(|e| log::warn!("{}: {e}", file.display())).ok()?;
    match lock.try_lock() {
        Ok(()) => {}
        // Its window lives, or another is asking about it.
        Err(TryLockError::WouldBlock) => return None,
        Err(TryLockError::Error(error)) => {
            log::warn!("{}: {error}", file.display());
            return None;
        }
    }
    if !file.exists() {
        // Its window has closed in this very moment.
        remove(file);
        return None;
    }
    let kept = Kept::read(file).inspect_err(|e| log::warn!("{}: the edits kept there cannot be read: {e}", file.display())).ok()?;
    Some(Crashed { file: file.to_owned(), kept, _lock: lock })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .map_or_else(|_| Vec::new(), |all| all.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect());
        names.sort();
        names
    }

    fn wait(so: impl Fn() -> bool) {
        let start = Instant::now();
        while !so() {
            assert!(start.elapsed() < Duration::from_secs(20));
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn edited(seed: u64) -> Session {
        Session { seed, title: "mine".to_owned(), ..Session::default() }
    }

    fn keep(window: &mut Autosave, seed: u64) {
        let session = edited(seed);
        window.keep(&session.clone(), || (session, Some("/a/b.ron".into())));
    }

    #[test]
    fn what_a_crash_leaves_is_found_once_and_a_clean_end_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("deep/autosave");
        let mut clean = Autosave::new(&folder).unwrap();
        keep(&mut clean, 1);
        wait(|| files(&folder).len() == 2);
        assert!(crashed(&folder).is_empty(), "its window lives");
        let mut other = Autosave::new(&folder).unwrap();
        keep(&mut other, 2);
        keep(&mut other, 3);
        other.crash();
        assert_eq!(files(&folder).len(), 4);
        let found = crashed(&folder);
        let seeds: Vec<_> = found.iter().map(|c| (c.kept.session.seed, c.kept.path.clone())).collect();
        assert_eq!(seeds, [(3, Some("/a/b.ron".into()))], "the newest edit, and not that of the window that lives");
        assert_eq!(found[0].kept.session, edited(3));
        assert!(crashed(&folder).is_empty(), "it is being asked about already");
        drop(found);
        let again = crashed(&folder);
        assert_eq!(again.len(), 1, "it was put off");
        again.into_iter().for_each(Crashed::discard);
        assert_eq!(files(&folder).len(), 2);
        drop(clean);
        assert_eq!(files(&folder), Vec::<String>::new());
    }

    #[test]
    fn what_is_saved_is_not_kept() {
        let home = tempfile::tempdir().unwrap();
        let mut window = Autosave::new(home.path()).unwrap();
        keep(&mut window, 1);
        wait(|| files(home.path()).len() == 2);
        window.forget();
        wait(|| files(home.path()).is_empty());
        // Edits of the same session are kept again.
        keep(&mut window, 1);
        wait(|| files(home.path()).len() == 2);
    }

    #[test]
    fn what_cannot_be_read_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in [("a.ron", "("), ("b.ron", "(path: None, seconds: 3, session: \"(version: 99)\")"), ("c.txt", "")] {
            std::fs::write(home.path().join(name), text).unwrap();
        }
        assert!(crashed(home.path()).is_empty() && crashed(&home.path().join("none")).is_empty());
        assert!(home.path().join("a.ron").exists() && home.path().join("b.ron").exists());
    }

    #[test]
    fn times_are_said_in_words() {
        let found: Vec<String> = [0, 59, 60, 150, 3600, 7300, 86_400, 300_000].map(ago).into();
        let expected = [
            "less than a minute ago",
            "less than a minute ago",
            "a minute ago",
            "2 minutes ago",
            "an hour ago",
            "2 hours ago",
            "a day ago",
            "3 days ago",
        ];
        assert_eq!(found, expected);
    }
}
