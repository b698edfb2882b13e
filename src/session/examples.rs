//! The sessions that are shipped with the program, one a task: lanes that fit the task, in the order of TASKS.md's table.

use std::sync::LazyLock;

use super::{Session, Source};

/// The files, by the names that messages call them. Adding a task is one line here.
const FILES: &[(&str, &str)] = &[
    ("sessions/in_context_recall.ron", include_str!("../../sessions/in_context_recall.ron")),
    ("sessions/needles.ron", include_str!("../../sessions/needles.ron")),
    ("sessions/positional_recall.ron", include_str!("../../sessions/positional_recall.ron")),
    ("sessions/multi_query.ron", include_str!("../../sessions/multi_query.ron")),
    ("sessions/drift.ron", include_str!("../../sessions/drift.ron")),
    ("sessions/regression.ron", include_str!("../../sessions/regression.ron")),
    ("sessions/variable_tracking.ron", include_str!("../../sessions/variable_tracking.ron")),
    ("sessions/free_text.ron", include_str!("../../sessions/free_text.ron")),
];

/// Read once; a file that cannot be read is left out (a test sees to it that there is none).
static EXAMPLES: LazyLock<Vec<Session>> = LazyLock::new(|| {
    let read = |(file, text): &(&str, &str)| Session::from_ron(text, file).inspect_err(|e| log::error!("{e}")).ok();
    FILES.iter().filter_map(read).collect()
});

/// Every shipped session of a task, in the order of the tasks.
#[must_use]
pub fn examples() -> &'static [Session] {
    &EXAMPLES
}

/// The shipped session of the task `name`. It may hold more lanes than can run at once; those over are switched off.
#[must_use]
pub fn example(name: &str) -> Option<&'static Session> {
    EXAMPLES.iter().find(|s| matches!(&s.source, Source::Task(t) if t.name == name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::TASKS;

    #[test]
    fn every_task_has_an_example_and_they_come_in_the_tasks_order() {
        let names: Vec<&str> = TASKS.iter().map(|t| t.name()).collect();
        let of = |s: &Session| if let Source::Task(t) = &s.source { t.name.clone() } else { String::new() };
        assert_eq!(examples().iter().map(of).collect::<Vec<_>>(), names);
        for (name, (file, _)) in names.iter().zip(FILES) {
            assert_eq!(*file, format!("sessions/{name}.ron"));
            assert!(example(name).is_some_and(|s| s.lanes.iter().any(|l| l.enabled && l.layer == "full")));
        }
    }

    #[test]
    fn lanes_that_run_together_have_colours_of_their_own() {
        for session in examples() {
            let mut colours: Vec<_> = session.lanes.iter().filter(|l| l.enabled).map(|l| l.colour).collect();
            assert!(colours.iter().all(Option::is_some) && colours.len() <= crate::session::MAX_LANES);
            colours.sort_unstable();
            assert!(colours.windows(2).all(|w| w[0] != w[1]), "{:?}", session.source);
        }
    }
}
