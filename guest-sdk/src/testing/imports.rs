//! The component's imports, off wasm: what the test's host says.

use std::rc::Rc;

use super::host::{CURRENT, Event, Host, Outcome};
use crate::Cluster;
use crate::bindings::host::aerostat::cloud::events::EventKind;
use crate::bindings::host::aerostat::cloud::http::{Location, Request};
use crate::bindings::host::aerostat::cloud::log::Level;

fn host() -> Host {
    CURRENT.with_borrow(|it| it.clone()).expect("off wasm a provider runs inside testing::Host::run")
}

pub(crate) fn settings() -> Vec<(String, String)> {
    host().0.borrow().settings.clone()
}

pub(crate) fn current_cluster() -> Option<Cluster> {
    host().0.borrow().cluster.clone()
}

pub(crate) fn now() -> u64 {
    host().0.borrow().now
}

pub(crate) fn send(request: &Request) -> Outcome {
    let Host(state) = host();
    state.borrow_mut().requests.push(request.clone());
    let answers = Rc::clone(&state.borrow().answers);
    answers(request)
}

pub(crate) fn throttle(endpoint: &str, milliseconds: u32, reason: &str) {
    host().0.borrow_mut().throttles.push(format!("{endpoint} {milliseconds} ms: {reason}"));
}

pub(crate) fn resolve_url(url: &str) -> Option<Location> {
    host().0.borrow().locations.iter().find(|(it, _)| it == url).map(|(_, location)| location.clone())
}

pub(crate) fn emit_event(about: Option<&str>, kind: EventKind, reason: &str, message: &str) {
    let about = about.map(str::to_owned);
    let event = Event { about, kind, reason: reason.to_owned(), message: message.to_owned() };
    host().0.borrow_mut().events.push(event);
}

pub(crate) fn write_log(level: Level, message: &str, fields: &[(String, String)]) {
    let level = match level {
        Level::Debug => "DEBUG",
        Level::Info => "INFO",
        Level::Warn => "WARN",
        Level::Error => "ERROR",
    };
    let fields: String = fields.iter().map(|(key, value)| format!(" {key}={value}")).collect();
    host().0.borrow_mut().log.push(format!("{level} {message}{fields}"));
}
