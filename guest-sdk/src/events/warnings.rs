//! Warnings on a Service that is served all the same, one for each subject.

use std::fmt::Display;

use crate::bindings::host::aerostat::cloud::events::EventKind;
use crate::host;
use crate::key::shown;

/// Warnings about a Service, collected while a call decides what to write and emitted at its end: a call that fails before says
/// only why.
///
/// ```
/// use aerostat_sdk::{events::Warnings, testing::Host};
///
/// let mut warnings = Warnings::default();
/// warnings.immutable("type", "small", "large");
/// let host = Host::new();
/// host.run(|| warnings.emit());
/// let message = "type stays small: it cannot become large once the load balancer is built";
/// assert_eq!((&*host.events()[0].reason, &*host.events()[0].message), ("LoadBalancerImmutable", message));
/// ```
#[derive(Debug, Default, Eq, PartialEq)]
#[must_use = "warnings are events only after `emit`"]
pub struct Warnings(Vec<(&'static str, String)>);

impl Warnings {
    /// Any warning. `reason` is UpperCamelCase, `message` a sentence.
    pub fn add(&mut self, reason: &'static str, message: impl Display) {
        self.0.push((reason, message.to_string()));
    }

    /// An annotation's value that is not allowed and has a meaning all the same, or that has no effect.
    pub fn tolerated(&mut self, name: &str, value: &str, meaning: &str) {
        self.add("AnnotationTolerated", format_args!("annotation {name}: {} {meaning}", shown(value)));
    }

    /// A field of a load balancer that cannot be changed and differs from what the Service asks for.
    pub fn immutable(&mut self, field: &str, live: &str, desired: &str) {
        let why = format_args!("{field} stays {live}: it cannot become {desired} once the load balancer is built");
        self.add("LoadBalancerImmutable", why);
    }

    /// Makes events of them.
    pub fn emit(self) {
        for (reason, message) in self.0 {
            host::emit_event(None, EventKind::Warning, reason, &message);
        }
    }
}
