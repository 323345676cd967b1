//! Certificates of listeners with https for further domains ("domain extensions").

use serde_json::Value;

use super::errors::AcsRefusal;
use super::fields::{items, text};
use super::product::SLB;

/// A certificate for a domain.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct SlbDomain {
    pub(crate) id: String,
    pub(crate) domain: String,
    pub(crate) certificate: String,
}

/// All of the listener at a port.
pub(crate) fn all(region: &str, balancer: &str, port: &str) -> Result<Vec<SlbDomain>, AcsRefusal> {
    let pairs = [("LoadBalancerId", balancer), ("ListenerPort", port)];
    let answer = SLB.call("DescribeDomainExtensions", region, &pairs)?;
    let domain = |shown: &Value| SlbDomain {
        id: text(shown, "DomainExtensionId"),
        domain: text(shown, "Domain"),
        certificate: text(shown, "ServerCertificateId"),
    };
    Ok(items(&answer, "DomainExtensions", "DomainExtension").iter().map(domain).collect())
}

/// Makes one at a port, changes it, or deletes it: this action, with these parameters.
pub(crate) fn write(region: &str, action: &str, pairs: &[(&str, &str)]) -> Result<(), AcsRefusal> {
    SLB.call(action, region, pairs).map(drop)
}
