//! A test's word on one load balancer.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::failure::Failure;

/// The cloud's word on the load balancer of one Service.
#[derive(Clone, Debug)]
pub struct LoadBalancer {
    /// Where it is reached.
    pub ingress: Vec<Ingress>,
    /// How long it takes to ensure it.
    pub delay: Duration,
    /// How long it takes to give it other nodes.
    pub update_delay: Duration,
    /// The answer when it is to be there.
    pub failure: Option<Failure>,
    /// The answer when it is to have other nodes, and is the same otherwise.
    pub update_failure: Option<Failure>,
    /// The answers when it is to be gone, one failure after the other.
    pub delete_failures: Vec<Failure>,
}

/// Where a load balancer is reached.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ingress {
    /// An address.
    pub ip: Option<String>,
    /// A name.
    pub hostname: Option<String>,
    /// `VIP` or `Proxy`.
    pub ip_mode: Option<String>,
}

/// The load balancer that was asked for.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub(super) struct Desired {
    pub(super) cluster: String,
    pub(super) nodes: Vec<String>,
    /// All the rest, in any words.
    pub(super) rest: String,
}

impl Default for LoadBalancer {
    fn default() -> LoadBalancer {
        LoadBalancer {
            ingress: vec![Ingress { ip: Some("192.0.2.1".to_owned()), ..Ingress::default() }],
            delay: Duration::ZERO,
            update_delay: Duration::ZERO,
            failure: None,
            update_failure: None,
            delete_failures: Vec::new(),
        }
    }
}
