//! Kubernetes events, told in words.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Event;

/// Tells events, and counts them.
#[derive(Default)]
pub(crate) struct Events {
    told: BTreeMap<String, usize>,
}

impl Events {
    /// Whom an event is about and what it says, unless that is the Lease, and whether it is a warning.
    pub(crate) fn tell(&mut self, event: &Event) -> Option<(String, String, bool)> {
        let about = &event.involved_object;
        if about.kind.as_deref() == Some("Lease") && event.type_.as_deref() != Some("Warning") {
            return None;
        }
        let reason = event.reason.clone().unwrap_or_default();
        *self.told.entry(reason.clone()).or_default() += 1;
        let times = event.count.filter(|it| *it > 1).map(|it| format!(" (×{it})")).unwrap_or_default();
        let message = event.message.as_deref().unwrap_or_default();
        let line = format!("event        {reason}{times}: {message}");
        Some((about.name.clone().unwrap_or_default(), line, event.type_.as_deref() == Some("Warning")))
    }

    /// How often events with this reason were told.
    pub(crate) fn told(&self, reason: &str) -> usize {
        self.told.get(reason).copied().unwrap_or_default()
    }
}
