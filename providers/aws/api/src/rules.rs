//! Rules by operation, and what its requests carry.

use aerostat_sdk::{Effect, Endpoint};

use crate::service::AwsApi;

/// The ids of instances.
pub const INSTANCES: &[&str] = &["i-*"];

/// An operation that changes something, and what its requests carry.
#[derive(Clone, Copy, Debug)]
pub struct ChangeOperation<'a> {
    /// The effect of its requests.
    pub effect: Effect,
    /// Its name.
    pub operation: &'a str,
    /// The names that may stand in its requests.
    pub only: &'a [&'a str],
    /// Names, with what may stand in them.
    pub values: &'a [(&'a str, &'a [&'a str])],
}

/// The endpoint of an API.
#[must_use]
#[inline]
pub fn endpoint(api: AwsApi, purpose: &str, example: &str) -> Endpoint {
    Endpoint::new(api.endpoint, purpose, example).operation_parameter("Action").parameter("Version", api.version)
}

/// Allows operations that read, with whatever they carry.
#[must_use]
#[inline]
pub fn reads(endpoint: Endpoint, api: AwsApi, operations: &[&str]) -> Endpoint {
    let actions: Vec<_> = operations.iter().map(|it| action(api, it)).collect();
    endpoint.allow_operations(Effect::Read, operations.iter().copied(), actions.iter().map(String::as_str))
}

/// Allows operations that change something, each with what it carries.
#[must_use]
#[inline]
pub fn changes(endpoint: Endpoint, api: AwsApi, operations: &[ChangeOperation<'_>]) -> Endpoint {
    operations.iter().fold(endpoint, |endpoint, ChangeOperation { effect, operation, only, values }| {
        let action = action(api, operation);
        let endpoint = endpoint.allow_operations(*effect, [*operation], [action.as_str()]).only(only.iter().copied());
        values.iter().fold(endpoint, |it, (name, values)| it.only_values(name, values.iter().copied()))
    })
}

/// The action that IAM asks for has the operation's name.
#[inline]
fn action(api: AwsApi, operation: &str) -> String {
    format!("{}:{operation}", api.service)
}
