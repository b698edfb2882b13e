//! Small plans for the tests of this module.

use std::sync::Arc;

use ndarray::Array3;

use crate::param::Params;
use crate::session::plan::Plan;
use crate::session::{BackendChoice, Session, Source, TaskSource};
use crate::stream::{Labels, Roles, Stream, StreamParts, Targets};

/// A plan without lanes over `writes` writes of one head; the writes 10 to 12 are marked as a needle.
pub fn plan(writes: usize, step: usize) -> Arc<Plan> {
    let rows = Array3::from_elem((1, writes, 2), 0.5f32);
    let mut of_write = vec![0; writes];
    for role in of_write.iter_mut().skip(10).take(3) {
        *role = 1;
    }
    let labels = Labels {
        title: "test".to_owned(),
        tokens: Some((0..writes).map(|i| format!(" t{i}")).collect()),
        roles: Roles { names: vec!["hay".to_owned(), "needle".to_owned()], of_write, of_read: vec![0; writes], marked: Some(1) },
        ..Labels::default()
    };
    let parts = StreamParts {
        keys: rows.clone(),
        values: rows.clone(),
        queries: rows,
        after: (1..=writes as u32).collect(),
        beta: 1.0,
        targets: Targets::None,
        labels,
    };
    let session = Session {
        source: Source::Task(TaskSource { name: "test".to_owned(), params: Params::default() }),
        lanes: Vec::new(),
        backend: BackendChoice::Cpu,
        ..Session::default()
    };
    Arc::new(Plan { session, stream: Arc::new(Stream::new(parts).unwrap()), lanes: Vec::new(), step })
}
