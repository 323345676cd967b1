//! The contents of an account, as `tests/moto/aws/control.py` tells them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Everything that belongs to load balancers and routes.
#[derive(Clone, Debug, Deserialize)]
pub struct State {
    /// Load balancers of the second kind.
    pub network: Vec<LoadBalancer>,
    /// Their target groups.
    pub targets: Vec<TargetGroup>,
    /// Classic Load Balancers.
    pub classic: Vec<ClassicLoadBalancer>,
    /// Security groups.
    pub security: Vec<SecurityGroup>,
    /// Routes but those inside the VPC.
    pub routes: Vec<RouteEntry>,
}

/// Key and value.
pub type Tags = BTreeMap<String, String>;

/// A Network Load Balancer.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct LoadBalancer {
    /// Its ARN.
    pub id: String,
    /// Its name.
    pub name: String,
    /// `network`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `internet-facing` or `internal`.
    pub scheme: String,
    /// `provisioning` or `active`.
    pub state: String,
    /// Its DNS name.
    pub host: String,
    /// The ids of its subnets.
    pub subnets: Vec<String>,
    /// The ids of its security groups.
    pub groups: Vec<String>,
    /// Its tags.
    pub tags: Tags,
    /// Where it listens.
    pub listeners: Vec<Listener>,
}

impl LoadBalancer {
    /// Whether a listener forwards to the target group with this ARN.
    #[must_use]
    pub fn forwards_to(&self, group: &str) -> bool {
        self.listeners.iter().any(|it| it.forwards.iter().any(|it| it == group))
    }
}

/// One port of a Network Load Balancer.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct Listener {
    /// Its ARN.
    pub id: String,
    /// The port.
    pub port: u16,
    /// `TCP`, `UDP`, `TLS`.
    pub protocol: String,
    /// The ARN of its certificate.
    pub certificate: Option<String>,
    /// The ARNs of the target groups that it forwards to.
    pub forwards: Vec<String>,
}

/// A target group.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct TargetGroup {
    /// Its ARN.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The node port.
    pub port: u16,
    /// `TCP`, `UDP`, `TLS`.
    pub protocol: String,
    /// The ids of the registered instances.
    pub machines: Vec<String>,
    /// The ids of those that drain.
    pub draining: Vec<String>,
    /// Its attributes.
    pub attributes: Tags,
    /// Its tags.
    pub tags: Tags,
}

/// A Classic Load Balancer.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct ClassicLoadBalancer {
    /// Its name.
    pub name: String,
    /// `internet-facing` or `internal`.
    pub scheme: String,
    /// Its DNS name.
    pub host: String,
    /// The ids of its subnets.
    pub subnets: Vec<String>,
    /// The ids of its security groups.
    pub groups: Vec<String>,
    /// The ids of the registered instances.
    pub machines: Vec<String>,
    /// Protocol and port outside, protocol and port inside.
    pub listeners: Vec<(String, u16, String, u16)>,
    /// The question of its health check: `TCP:30080`.
    pub check: Option<String>,
    /// The names of its policies.
    pub policies: Vec<String>,
    /// Its tags.
    pub tags: Tags,
}

/// A security group.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct SecurityGroup {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its tags.
    pub tags: Tags,
    /// The traffic that may come in.
    pub rules: Vec<Permission>,
}

/// One rule of a security group.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct Permission {
    /// `tcp`, `udp`, `icmp` or `-1`.
    pub protocol: String,
    /// The first and the last.
    pub ports: (Option<i32>, Option<i32>),
    /// A range of addresses, or the id of a security group.
    pub peer: Option<String>,
    /// The description that somebody has written.
    pub description: Option<String>,
}

/// A route.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct RouteEntry {
    /// Where to.
    pub destination: Option<String>,
    /// The id of the instance that it leads to.
    pub instance: Option<String>,
    /// `active` or `blackhole`.
    pub state: String,
    /// The id of its table.
    pub table: String,
}
