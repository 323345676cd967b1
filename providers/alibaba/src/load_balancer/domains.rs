//! The certificates of a listener with https for further domains.

use super::desired::DesiredSlbPort;
use super::update::SlbUpdate;
use crate::api::AcsRefusal;
use crate::api::domains::{self, SlbDomain};
use crate::api::listeners::SlbProtocol;

impl SlbUpdate<'_> {
    /// Writes the certificates of the annotation's domains at a port: first those that are missing, then those of another certificate; last go
    /// domains that it does not name, or before that where they take up the listener's quota. Without the annotation they stay as they are. A
    /// new listener has none.
    pub(super) fn write_domains(&self, port: &DesiredSlbPort, is_new: bool) -> Result<(), AcsRefusal> {
        let wanted = &self.desired.domains;
        if wanted.is_empty() || port.protocol != SlbProtocol::Https {
            return Ok(());
        }
        let (balancer, port) = (&*self.balancer.id, port.port.to_string());
        let live = if is_new { Vec::new() } else { domains::all(self.region, balancer, &port)? };
        let write = |action: &str, pairs: &[(&str, &str)]| domains::write(self.region, action, pairs);
        let is_wanted = |domain: &str| wanted.iter().any(|(it, _)| it.eq_ignore_ascii_case(domain));
        let mut others: Vec<&SlbDomain> = live.iter().filter(|it| !is_wanted(&it.domain)).collect();
        let remove = |it: &SlbDomain| write("DeleteDomainExtension", &[("DomainExtensionId", &*it.id)]);
        for (domain, certificate) in wanted {
            let certificate = ("ServerCertificateId", certificate.as_str());
            match live.iter().find(|it| it.domain.eq_ignore_ascii_case(domain)) {
                None => {
                    let at = [("LoadBalancerId", balancer), ("ListenerPort", &*port), ("Domain", domain)];
                    let create = || write("CreateDomainExtension", &[at[0], at[1], at[2], certificate]);
                    match create() {
                        Err(full) if full.error.is_quota() && !others.is_empty() => {
                            others.drain(..).try_for_each(remove)?;
                            create()?;
                        }
                        created => created?,
                    }
                }
                Some(it) if it.certificate != certificate.1 => {
                    write("SetDomainExtensionAttribute", &[("DomainExtensionId", &*it.id), certificate])?;
                }
                Some(_) => {}
            }
        }
        others.into_iter().try_for_each(remove)
    }
}
