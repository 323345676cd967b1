//! What its author should know about a Service that is served all the same: warnings, one for each subject.

use aerostat_sdk::annotations::shown;
use aerostat_sdk::events;

/// Warnings, collected while the wish is made, so that a wish which fails says only why.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Warnings(Vec<(&'static str, String)>);

impl Warnings {
    /// A value that is not as described, and means something nevertheless.
    pub(super) fn tolerated(&mut self, name: &str, value: &str, meaning: &str) {
        self.add("AnnotationTolerated", format!("annotation {name}: {} {meaning}", shown(value)));
    }

    /// Something that cannot be changed and differs from the wish.
    pub(super) fn kept(&mut self, field: &str, live: &str, wanted: &str) {
        self.add(
            "LoadBalancerImmutable",
            format!("{field} stays {live}: it cannot become {wanted} once the load balancer is built"),
        );
    }

    pub(super) fn add(&mut self, reason: &'static str, message: String) {
        self.0.push((reason, message));
    }

    /// Makes events of them.
    pub(super) fn emit(self) {
        for (reason, message) in self.0 {
            events::warning(None, reason, &message);
        }
    }
}
