//! Machines that take no more volumes, as the cloud has said: another volume that is to come there waits without a question, until one has left.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::SHOWN;
use crate::volume_error::Error;

/// How long the cloud's word counts: no longer than the attachment rests that it was said of, which asks again then.
const COUNTS: Duration = SHOWN;

/// The machines by their node ids.
#[derive(Debug, Default)]
pub(super) struct FullMachines {
    full: HashMap<String, FullMachine>,
    /// When a volume has left a machine last.
    left: HashMap<String, Instant>,
}

#[derive(Debug)]
struct FullMachine {
    /// When the cloud was asked.
    asked: Instant,
    /// The cloud's reason.
    why: String,
}

impl FullMachines {
    /// The cloud, asked at that time, has said of a machine that it takes no more. It counts for nothing where a volume has left it since.
    pub(super) fn add(&mut self, node_id: &str, why: &str, asked: Instant) {
        if self.left.get(node_id).is_none_or(|it| *it < asked) {
            self.full.insert(node_id.to_owned(), FullMachine { asked, why: why.to_owned() });
        }
    }

    /// A volume has left a machine: there is room.
    pub(super) fn has_left(&mut self, node_id: &str, now: Instant) {
        self.full.retain(|it, full| it != node_id && counts(full.asked, now));
        self.left.retain(|_, it| counts(*it, now));
        self.left.insert(node_id.to_owned(), now);
    }

    /// The cloud's reason why a machine takes no more; `None` where it has to be asked.
    pub(super) fn why(&self, node_id: &str, now: Instant) -> Option<&str> {
        self.full.get(node_id).filter(|it| counts(it.asked, now)).map(|it| it.why.as_str())
    }

    /// Forgets all machines: another credential may get other answers.
    pub(super) fn clear(&mut self) {
        self.full.clear();
    }
}

/// Nothing comes to a machine before something has left it.
pub(super) fn full(node_id: &str, why: &str) -> Error {
    Error::Full(format!("machine {node_id} takes no more volumes: {why}"))
}

fn counts(since: Instant, now: Instant) -> bool {
    now.saturating_duration_since(since) < COUNTS
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Cases: csi 58
    #[test]
    fn a_full_machine_is_asked_once_until_a_volume_leaves_it() {
        let (mut machines, now) = (FullMachines::default(), Instant::now());
        assert_eq!(machines.why("n1", now), None);
        machines.add("n1", "15 are there", now);
        machines.add("n2", "no slot", now);
        assert_eq!(machines.why("n1", now + SECOND), Some("15 are there"));
        assert_eq!(machines.why("n1", now + COUNTS), None, "the one that was refused asks again");
        machines.has_left("n1", now + SECOND);
        assert_eq!(machines.why("n1", now + SECOND), None);
        assert_eq!(machines.why("n2", now + SECOND), Some("no slot"), "nothing has left this one");
        machines.add("n1", "15 are there", now + 2 * SECOND);
        assert_eq!(machines.why("n1", now + 2 * SECOND), Some("15 are there"));
        machines.clear();
        assert_eq!((machines.why("n1", now), machines.why("n2", now)), (None, None));
    }

    /// Cases: csi 58
    #[test]
    fn an_answer_from_before_a_volume_left_is_not_remembered() {
        let (mut machines, now) = (FullMachines::default(), Instant::now());
        machines.has_left("n1", now + SECOND);
        machines.add("n1", "15 are there", now);
        assert_eq!(machines.why("n1", now + SECOND), None);
    }
}
