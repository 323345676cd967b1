//! Rules by operation, and what its requests carry.

use aerostat_sdk::{Effect, Endpoint, Result, settings as given};

use crate::api::AwsApi;
use crate::settings;

/// The ids of instances, security groups and subnets.
pub(super) const INSTANCES: &[&str] = &["i-*"];
pub(super) const GROUPS: &[&str] = &["sg-*"];
pub(super) const SUBNETS: &[&str] = &["subnet-*"];

/// An operation that changes something, and what its requests carry: names that may stand, and names with what may stand in
/// them.
pub(super) struct ChangeOperation<'a> {
    pub(super) effect: Effect,
    pub(super) operation: &'a str,
    pub(super) only: &'a [&'a str],
    pub(super) values: &'a [(&'a str, &'a [&'a str])],
}

/// The cluster's own things, as far as they are configured: a description is asked for before that, too.
pub(crate) struct Own {
    /// The VPC, or a pattern for any.
    pub(super) vpc: String,
    /// The route table, or a pattern for any.
    pub(super) table: String,
    /// The key of the cluster's tag, or a pattern for that of any cluster.
    pub(super) tag: String,
}

impl Own {
    /// # Errors
    ///
    /// `invalid`, naming the setting, its value and the allowed values.
    pub(crate) fn read() -> Result<Self> {
        let id = given::read(&settings::CLUSTER_ID)?.unwrap_or_else(|| "*".to_owned());
        Ok(Self {
            vpc: given::read(&settings::VPC)?.unwrap_or_else(|| "vpc-*".to_owned()),
            table: given::read(&settings::ROUTE_TABLE)?.unwrap_or_else(|| "rtb-*".to_owned()),
            tag: format!("kubernetes.io/cluster/{id}"),
        })
    }
}

pub(super) fn endpoint(api: AwsApi, purpose: &str, example: &str) -> Endpoint {
    Endpoint::new(api.endpoint, purpose, example).operation_parameter("Action").parameter("Version", api.version)
}

/// Allows operations that read, with whatever they carry.
pub(super) fn reads(endpoint: Endpoint, api: AwsApi, operations: &[&str]) -> Endpoint {
    let actions: Vec<_> = operations.iter().map(|it| action(api, it)).collect();
    endpoint.allow_operations(Effect::Read, operations.iter().copied(), actions.iter().map(String::as_str))
}

/// Allows operations that change something, each with what it carries.
pub(super) fn changes(endpoint: Endpoint, api: AwsApi, operations: &[ChangeOperation<'_>]) -> Endpoint {
    operations.iter().fold(endpoint, |endpoint, ChangeOperation { effect, operation, only, values }| {
        let action = action(api, operation);
        let endpoint = endpoint.allow_operations(*effect, [*operation], [action.as_str()]).only(only.iter().copied());
        values.iter().fold(endpoint, |it, (name, values)| it.only_values(name, values.iter().copied()))
    })
}

/// The action that IAM asks for has the operation's name.
fn action(api: AwsApi, operation: &str) -> String {
    format!("{}:{operation}", api.service)
}
