//! One piece of work on a thread of its own: how far it is, what it has found so far, how it ended, and a way to stop it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::Wake;

/// Findings that wait to be taken in before the work waits for the window.
const WAITING: usize = 64;

/// What a thread tells.
enum Told<T> {
    Share(f32),
    Part(T),
    End(Result<(), String>),
}

/// The window's end. Dropping it stops the work.
pub struct Work<T> {
    inbox: Receiver<Told<T>>,
    cancel: Arc<AtomicBool>,
    share: f32,
    end: Option<Result<(), String>>,
}

impl<T> std::fmt::Debug for Work<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Work").field("share", &self.share).field("end", &self.end).finish_non_exhaustive()
    }
}

/// The thread's end.
pub struct Teller<T> {
    outbox: Sender<Told<T>>,
    cancel: Arc<AtomicBool>,
    wake: Wake,
}

impl<T: Send + 'static> Work<T> {
    /// Starts a thread. What `job` returns is how the work ended; a sentence where it failed.
    #[must_use]
    pub fn start(name: &str, wake: &Wake, job: impl FnOnce(&Teller<T>) -> Result<(), String> + Send + 'static) -> Self {
        let (outbox, inbox) = bounded(WAITING);
        let cancel = Arc::new(AtomicBool::new(false));
        let teller = Teller { outbox, cancel: Arc::clone(&cancel), wake: Arc::clone(wake) };
        let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            let end = job(&teller);
            teller.tell(Told::End(end));
        });
        let end = spawned.err().map(|e| Err(format!("the system gives no thread: {e}")));
        Self { inbox, cancel, share: 0.0, end }
    }

    /// Takes in what has been found since the last call, and whether anything at all was told.
    pub fn receive(&mut self) -> (Vec<T>, bool) {
        let (mut parts, mut news) = (Vec::new(), false);
        for told in self.inbox.try_iter() {
            news = true;
            match told {
                Told::Share(share) => self.share = share,
                Told::Part(part) => parts.push(part),
                Told::End(end) => self.end = Some(end),
            }
        }
        (parts, news)
    }

    /// Asks the thread to stop; what it has found stays.
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// True while the thread works.
    #[must_use]
    pub fn running(&self) -> bool {
        self.end.is_none()
    }

    /// How far it is, from 0 to 1.
    #[must_use]
    pub fn share(&self) -> f32 {
        self.share
    }

    /// Why it failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.end.as_ref().and_then(|e| e.as_ref().err()).map(String::as_str)
    }
}

impl<T> Drop for Work<T> {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}

impl<T> Teller<T> {
    /// Tells how far the work is, from 0 to 1.
    pub fn share(&self, share: f32) {
        self.tell(Told::Share(share));
    }

    /// Hands over a finding; waits while the window has many to take in.
    pub fn part(&self, part: T) {
        self.tell(Told::Part(part));
    }

    /// True once the work is to stop.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// The same, for code that polls a flag.
    #[must_use]
    pub fn flag(&self) -> &AtomicBool {
        &self.cancel
    }

    fn tell(&self, told: Told<T>) {
        if self.outbox.send(told).is_err() {
            // The window has dropped its end: nobody wants the rest.
            self.cancel.store(true, Ordering::Relaxed);
        } else {
            (self.wake)();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn wake() -> Wake {
        Arc::new(|| {})
    }

    fn wait<T: Send + 'static>(work: &mut Work<T>) -> Vec<T> {
        let (mut all, start) = (Vec::new(), Instant::now());
        while work.running() && start.elapsed() < Duration::from_secs(20) {
            all.extend(work.receive().0);
            std::thread::sleep(Duration::from_millis(1));
        }
        all
    }

    #[test]
    fn findings_come_in_order_and_the_end_is_known() {
        let mut work = Work::start("test", &wake(), |teller| {
            (0..200).for_each(|i| teller.part(i));
            teller.share(0.5);
            Err("no more".to_owned())
        });
        assert_eq!(wait(&mut work), (0..200).collect::<Vec<_>>());
        assert_eq!((work.error(), work.share(), work.running()), (Some("no more"), 0.5, false));
    }

    #[test]
    fn a_cancelled_work_ends_and_a_dropped_one_too() {
        let (sender, ended) = bounded(2);
        let job = move |teller: &Teller<u32>| {
            while !teller.cancelled() {
                teller.part(1);
            }
            sender.send(()).map_err(|e| e.to_string())
        };
        let mut work = Work::start("test", &wake(), job.clone());
        work.cancel();
        wait(&mut work);
        assert!(!work.running() && work.error().is_none());
        // The thread waits for room in the channel when its other end goes.
        drop(Work::start("test", &wake(), job));
        ended.recv_timeout(Duration::from_secs(20)).unwrap();
        ended.recv_timeout(Duration::from_secs(20)).unwrap();
    }
}
