//! Actions: the service's work after it has answered.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

/// When an action ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taking {
    /// After so much time. The answer to the request that starts it says `running` in any case.
    Time(Duration),
    /// After it, or what it is about, was read by id so many times, each time as `running`.
    Reads(usize),
    /// Never.
    Forever,
}

/// Something that is being done, or was.
#[derive(Clone, Debug)]
pub(super) struct Action {
    pub(super) id: u64,
    /// For example `add_target`.
    pub(super) command: &'static str,
    /// The resources of the action: first the one that it changes.
    pub(super) resources: Vec<Resource>,
    pub(super) started: SystemTime,
    pub(super) finished: Option<SystemTime>,
    pub(super) failed: bool,
    /// How often it or what it changes was read.
    pub(super) reads: usize,
}

/// Something with an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) kind: &'static str,
    pub(super) id: u64,
}

impl Action {
    /// Whether it should have ended by now.
    pub(super) fn is_due(&self, taking: Taking, now: SystemTime) -> bool {
        self.is_running()
            && match taking {
                Taking::Time(time) => self.started + time <= now,
                Taking::Reads(count) => self.reads >= count,
                Taking::Forever => false,
            }
    }

    pub(super) fn is_running(&self) -> bool {
        self.finished.is_none()
    }

    pub(super) fn status(&self) -> &'static str {
        match (self.finished, self.failed) {
            (None, _) => "running",
            (Some(_), false) => "success",
            (Some(_), true) => "error",
        }
    }

    /// Whether it changes this.
    pub(super) fn changes(&self, resource: Resource) -> bool {
        self.resources.first() == Some(&resource)
    }

    /// The object as the service shows it.
    pub(super) fn object(&self) -> Value {
        json!({
            "id": self.id,
            "command": self.command,
            "status": self.status(),
            "progress": if self.is_running() { 0 } else { 100 },
            "started": rfc3339(self.started),
            "finished": self.finished.map(rfc3339),
            "resources": self.resources.iter().map(|it| json!({ "id": it.id, "type": it.kind })).collect::<Vec<_>>(),
            "error": self.failed.then(|| json!({ "code": "action_failed", "message": "Action failed" })),
        })
    }
}

/// A time as the service shows it.
pub(super) fn rfc3339(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).expect("tests live in this age");
    time.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
}
