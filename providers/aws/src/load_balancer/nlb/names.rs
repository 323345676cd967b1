//! The names of target groups and security groups, byte for byte as the vendor's controller makes them.

use aerostat_sdk::Owner;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// How much of a namespace and of a name stands in a name.
const WORD: usize = 8;
/// How many digits of a hash stand in it.
const DIGITS: usize = 10;

/// The properties that the name of a target group tells apart: none of them can be changed without another target group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupKey<'a> {
    /// The id of the cluster in tags.
    pub(super) cluster: &'a str,
    pub(super) owner: &'a Owner,
    pub(super) port: u16,
    pub(super) node_port: u16,
    /// `TCP`, `UDP`, `TLS`.
    pub(super) protocol: &'a str,
    /// `TCP`, `HTTP`, `HTTPS`.
    pub(super) health_protocol: &'a str,
    /// In seconds.
    pub(super) interval: u32,
}

impl GroupKey<'_> {
    /// The name: `k8s-default-web-0123456789`.
    pub(super) fn name(&self) -> String {
        let mut hash = Sha1::new();
        for part in [self.cluster, &self.owner.namespace, &self.owner.name] {
            hash.update(part);
        }
        hash.update(self.port.to_string());
        hash.update(self.node_port.to_string());
        hash.update(self.protocol);
        hash.update("instance");
        hash.update(self.health_protocol);
        hash.update(self.interval.to_string());
        format!("{}{}", prefix(self.owner), digits(&hash.finalize()))
    }
}

/// The beginning of the names of all target groups of a Service. Others may begin with it too.
pub(super) fn prefix(owner: &Owner) -> String {
    format!("k8s-{}-{}-", word(&owner.namespace), word(&owner.name))
}

/// The name of a Network Load Balancer's own security group. It holds the Service's UID.
pub(super) fn security_group(owner: &Owner) -> String {
    let mut hash = Sha256::new();
    for part in [&owner.cluster, &owner.name, &owner.namespace, &owner.uid] {
        hash.update(part);
    }
    format!("{}{}", prefix(owner), digits(&hash.finalize()))
}

/// The first letters and digits of a name.
fn word(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).take(WORD).collect()
}

/// The first hexadecimal digits of a hash.
fn digits(hash: &[u8]) -> String {
    hash.iter()
        .flat_map(|it| [it >> 4, it & 15])
        .filter_map(|it| char::from_digit(it.into(), 16))
        .take(DIGITS)
        .collect()
}

/// The name in the ARN of a Network Load Balancer:
/// `arn:<partition>:elasticloadbalancing:<region>:<account>:loadbalancer/net/<name>/<id>`.
pub(crate) fn name_in(arn: &str) -> Option<&str> {
    let resource = arn.strip_prefix("arn:")?.split(':').nth(4)?;
    let (name, id) = resource.strip_prefix("loadbalancer/net/")?.split_once('/')?;
    (!name.is_empty() && !id.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use aerostat_sdk::LoadBalancer;

    use super::*;

    /// The expected hashes are those of sha1sum and sha256sum over the parts, one after the other.
    #[test]
    fn names_are_those_of_the_vendor() {
        let owner = LoadBalancer::of("kube-system", "my-web-server", "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11").owner;
        let key = GroupKey {
            cluster: "prod",
            owner: &owner,
            port: 80,
            node_port: 30_080,
            protocol: "TCP",
            health_protocol: "TCP",
            interval: 30,
        };
        assert_eq!(key.name(), "k8s-kubesyst-mywebser-177c1fa4c3");
        assert_eq!(security_group(&owner), "k8s-kubesyst-mywebser-0960f69674");
    }
}
