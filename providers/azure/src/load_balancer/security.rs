//! Security rules: who may reach which ports of a Service.

use std::net::IpAddr;

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Error, IpFamily, LoadBalancer, Protocol, Result};

use super::annotations as rows;
use super::names::allow_rule;

/// Everybody outside.
const INTERNET: &str = "Internet";

/// The clients that may reach a Service, as it is desired.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecurityGoal {
    /// For each family, protocol, and each source or list of sources, one.
    pub(crate) allowed: Vec<AllowGoal>,
    /// Whether all others are kept out.
    pub(crate) denies_others: bool,
    /// Whether nodes are reached at their own addresses, and node ports.
    pub(crate) at_nodes: Vec<IpFamily>,
}

/// Sources that may reach ports.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct AllowGoal {
    pub(crate) family: IpFamily,
    pub(crate) protocol: &'static str,
    /// Sorted.
    pub(crate) sources: Vec<String>,
    /// Sorted as texts.
    pub(crate) ports: Vec<String>,
}

impl AllowGoal {
    /// Its rule's name.
    pub(crate) fn name(&self) -> String {
        allow_rule(self.family, self.protocol, &self.sources, &self.ports)
    }
}

impl SecurityGoal {
    /// The clients that may reach a Service; `None` if nothing is to be written for it.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the annotation, its value, and the allowed values.
    pub(crate) fn of(service: &LoadBalancer, is_internal: bool, families: &[IpFamily]) -> Result<Option<Self>> {
        let annotations = Annotations::of(service);
        let tags = annotations.read(&rows::ALLOWED_TAGS)?.unwrap_or_default();
        let mut ranges = service.source_ranges.clone();
        ranges.extend(annotations.read(&rows::ALLOWED_RANGES)?.unwrap_or_default());
        ranges.sort_unstable();
        ranges.dedup();
        let denies_others = annotations.get(&rows::DENY_OTHERS)?;
        if !service.source_ranges.is_empty() && !tags.is_empty() {
            return Err(Error::invalid(format_args!(
                "annotation {} cannot be set beside spec.loadBalancerSourceRanges: move the networks to annotation {}",
                rows::ALLOWED_TAGS.name,
                rows::ALLOWED_RANGES.name
            )));
        }
        if annotations.get(&rows::NO_SECURITY_RULE)? {
            return Ok(None);
        }
        let no_floating = annotations.get(&rows::NO_FLOATING)?;
        let at_nodes: Vec<IpFamily> =
            families.iter().copied().filter(|it| no_floating || (is_internal && *it == IpFamily::Ipv6)).collect();
        let takes_all = ranges.iter().any(|it| it.ends_with("/0"));
        let is_open = !is_internal && tags.is_empty() && (ranges.is_empty() || takes_all);
        let mut goal = Self { allowed: Vec::new(), denies_others, at_nodes };
        for family in families {
            let own: Vec<String> = ranges.iter().filter(|it| is_of_family(it, *family)).cloned().collect();
            let mut sources: Vec<Vec<String>> = tags.iter().map(|it| vec![it.clone()]).collect();
            match is_open {
                true => sources.push(vec![INTERNET.to_owned()]),
                false if !own.is_empty() => sources.push(own),
                false => {}
            }
            for (protocol, word) in [(Protocol::Tcp, "Tcp"), (Protocol::Udp, "Udp"), (Protocol::Sctp, "*")] {
                let ports = ports(service, protocol, goal.at_nodes.contains(family))?;
                let all = sources.iter().filter(|_| !ports.is_empty());
                let goals = all.map(|entry| AllowGoal {
                    family: *family,
                    protocol: word,
                    sources: entry.clone(),
                    ports: ports.clone(),
                });
                goal.allowed.extend(goals);
            }
        }
        Ok(Some(goal))
    }
}

/// Ports of a protocol, sorted as texts.
fn ports(service: &LoadBalancer, protocol: Protocol, at_nodes: bool) -> Result<Vec<String>> {
    let own = service.ports.iter().filter(|it| it.protocol == protocol);
    let ports = own.map(|it| if at_nodes { it.required_node_port() } else { Ok(it.port) }.map(|it| it.to_string()));
    let mut ports: Vec<String> = ports.collect::<Result<_>>()?;
    ports.sort_unstable();
    ports.dedup();
    Ok(ports)
}

fn is_of_family(range: &str, family: IpFamily) -> bool {
    let address = range.split('/').next().and_then(|it| it.parse::<IpAddr>().ok());
    address.is_some_and(|it| it.is_ipv6() == (family == IpFamily::Ipv6))
}
