//! Kubernetes events, in words.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Event;

/// Those that are not shown: who leads, and that the nodes of one provider are no backends of another one.
const HIDDEN: [&str; 2] = ["LeaderElection", "NotABackend"];

/// Describes events, and counts them.
#[derive(Default)]
pub(crate) struct Events {
    counts: BTreeMap<String, usize>,
}

impl Events {
    /// The name of the object, the text, and whether it is a warning. Nothing for those that are hidden.
    pub(crate) fn describe(&mut self, event: &Event) -> Option<(String, String, bool)> {
        let about = &event.involved_object;
        let reason = event.reason.clone().unwrap_or_default();
        if HIDDEN.contains(&reason.as_str()) {
            return None;
        }
        *self.counts.entry(reason.clone()).or_default() += 1;
        let times = event.count.filter(|it| *it > 1).map(|it| format!(" (×{it})")).unwrap_or_default();
        let message = event.message.as_deref().unwrap_or_default();
        let line = format!("event        {reason}{times}: {message}");
        // The Lease's name is longer than the place for names.
        let is_lease = about.kind.as_deref() == Some("Lease");
        let name = if is_lease { "the Lease".to_owned() } else { about.name.clone().unwrap_or_default() };
        Some((name, line, event.type_.as_deref() == Some("Warning")))
    }

    /// How many events had this reason.
    pub(crate) fn count(&self, reason: &str) -> usize {
        self.counts.get(reason).copied().unwrap_or_default()
    }
}
