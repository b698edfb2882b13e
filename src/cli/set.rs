//! `--set lane.param=value`: changes to a session before it is checked.

use super::CliError;
use super::source::known;
use crate::layer;
use crate::param::{ParamValue, Resolved};
use crate::session::{OWNER_OF_TASK as TASK, Session, Source};
use crate::task::task;

/// Carries out one change. Names and the value's own limits are checked here, so that the message is about the change; what
/// depends on the stream or on other parameters is checked with the rest of the session.
pub fn apply(session: &mut Session, change: &str) -> Result<(), CliError> {
    let usage = |text: String| CliError::Usage(format!("--set {change}: {text}"));
    let parts = change.split_once('=').and_then(|(place, value)| Some((place.rsplit_once('.')?, value.trim())));
    let Some(((owner, name), value)) = parts else {
        return Err(usage("it must be LANE.PARAMETER=VALUE, for example `LoLA.cache=128`".to_owned()));
    };
    let (owner, name, value) = (owner.trim(), name.trim(), ParamValue::parse(value));
    if let Some(lane) = session.lanes.iter_mut().find(|l| l.name == owner) {
        let Some(kind) = layer::kind(&lane.layer) else {
            return Err(usage(format!("lane `{owner}` has the layer `{}`, which does not exist", lane.layer)));
        };
        lane.params.set(name, value);
        return Resolved::new(&lane.name, kind.params(), &lane.params).map(|_| ()).map_err(|e| usage(e.to_string()));
    }
    match &mut session.source {
        Source::Task(source) if owner == TASK => {
            let Some(task) = task(&source.name) else {
                return Err(usage(format!("the session has the task `{}`, which does not exist", source.name)));
            };
            source.params.set(name, value);
            Resolved::new(&format!("task {}", source.name), task.params(), &source.params).map(|_| ()).map_err(|e| usage(e.to_string()))
        }
        Source::Capture(_) if owner == TASK => Err(usage("the session has a capture, not a task".to_owned())),
        _ => {
            let lanes = known(owner, session.lanes.iter().map(|l| l.name.as_str()));
            Err(usage(format!("there is no lane `{owner}`; the session has {lanes}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Params;
    use crate::session::{LaneSpec, TaskSource};

    fn session() -> Session {
        let lanes = vec![LaneSpec::new("OVQ 1.5", "ovq", Params::default()), LaneSpec::new("LoLA", "lola", Params::default())];
        Session { lanes, ..Session::default() }
    }

    fn message(change: &str) -> String {
        apply(&mut session(), change).unwrap_err().to_string()
    }

    #[test]
    fn a_change_reaches_its_lane_even_with_a_dot_in_the_name() {
        let mut session = session();
        apply(&mut session, "OVQ 1.5.n_max=64").unwrap();
        apply(&mut session, "LoLA.score = fifo").unwrap();
        assert_eq!(session.lanes[0].params.get("n_max"), Some(&ParamValue::Int(64)));
        assert_eq!(session.lanes[1].params.get("score"), Some(&ParamValue::Text("fifo".to_owned())));
    }

    #[test]
    fn messages_name_lane_parameter_value_limit_and_the_nearest_name() {
        let text = message("LoLA.cache=99999");
        assert!(text.contains("LoLA.cache is 99999, but must be from 0 to 16384"), "{text}");
        let text = message("LoLA.cahce=3");
        assert!(text.contains("LoLA has no parameter `cahce`") && text.contains("did you mean `cache`?"), "{text}");
        let text = message("lola.cache=3");
        assert!(text.contains("there is no lane `lola`") && text.contains("did you mean `LoLA`?"), "{text}");
        assert!(message("LoLA.cache").contains("must be LANE.PARAMETER=VALUE"));
        assert!(message("task.haystack=3").contains("a capture, not a task"));
    }

    #[test]
    fn a_task_has_parameters_too() {
        let source = Source::Task(TaskSource { name: "needles".to_owned(), params: Params::default() });
        let mut session = Session { source, ..session() };
        let text = apply(&mut session, "task.no_such=3").unwrap_err().to_string();
        assert!(text.contains("task needles has no parameter `no_such`"), "{text}");
    }
}
