//! The listeners, one for each port.

use super::call::NlbCall;
use super::desired::{NlbDesired, NlbDesiredPort};
use super::groups::GroupIds;
use super::step::NlbStop;
use crate::api::fields::{borrowed, counted, without};
use crate::api::network_listeners::{self as listeners, NlbListener, NlbProtocol};
use crate::api::network_load_balancers::NlbBalancer;

/// Certificates in one request: the most that the API takes.
const CERTIFICATES: usize = 15;

impl NlbCall<'_> {
    /// Deletes those of ports that the Service has no more, and those in the way of another protocol; then makes and changes the rest.
    pub(super) fn write_listeners(
        &self,
        balancer: &NlbBalancer,
        desired: &NlbDesired,
        groups: &GroupIds,
    ) -> Result<(), NlbStop> {
        let live = listeners::all(&self.region, &balancer.id)?;
        let is_right = |it: &NlbListener| desired.ports.iter().any(|port| is_at(it, port));
        let is_in_the_way = |it: &NlbListener| desired.ports.iter().any(|port| shares_port(it, port));
        let wrong = live.iter().filter(|it| !is_right(it));
        for it in wrong.filter(|it| self.names.is_ours(&it.description) || is_in_the_way(it)) {
            if it.status == "Deleting" {
                return Err(NlbStop::Waits(format!("listener {} is being deleted", it.id)));
            }
            self.send("DeleteListener", &[("ListenerId", &it.id)])?;
        }
        for port in &desired.ports {
            let group = groups.get(&port.group).map(String::as_str).unwrap_or_default();
            match live.iter().find(|it| is_at(it, port)) {
                Some(live) => self.write_listener(live, port, group)?,
                None => {
                    // One of another protocol at the same port is gone first.
                    if live.iter().any(|it| shares_port(it, port)) {
                        self.jobs.settle(&self.region)?;
                    }
                    self.make_listener(&balancer.id, port, group)?;
                }
            }
        }
        Ok(())
    }

    fn make_listener(&self, balancer: &str, port: &NlbDesiredPort, group: &str) -> Result<(), NlbStop> {
        let number = port.port.to_string();
        let token = self.token(&format!("l{}-{}", port.port, port.protocol.word()))?;
        let mut pairs = vec![
            ("ClientToken", &*token),
            ("ListenerDescription", &*port.description),
            ("ListenerPort", &*number),
            ("ListenerProtocol", port.protocol.word()),
            ("LoadBalancerId", balancer),
            ("ServerGroupId", group),
        ];
        pairs.extend(port.listening.pairs());
        self.send("CreateListener", &pairs)?;
        if port.certificates.as_ref().is_none_or(Vec::is_empty) {
            return Ok(());
        }
        self.jobs.settle(&self.region)?;
        Err(NlbStop::Waits(format!("the further certificates of port {} come next", port.port)))
    }

    /// Lets a listener have the further certificates that its port asks for: first those that are missing.
    fn write_certificates(&self, listener: &str, port: &NlbDesiredPort) -> Result<(), NlbStop> {
        let Some(wanted) = &port.certificates else { return Ok(()) };
        let live = listeners::certificates(&self.region, listener)?;
        let (missing, unwanted) = (without(wanted, &live), without(&live, wanted));
        for (action, ids) in [("Associate", missing), ("Disassociate", unwanted)] {
            for some in ids.chunks(CERTIFICATES) {
                // It takes one change at a time.
                self.jobs.settle(&self.region)?;
                let some: Vec<&str> = some.iter().map(String::as_str).collect();
                let some = counted("AdditionalCertificateIds", &some);
                let mut pairs = vec![("ListenerId", listener)];
                pairs.extend(borrowed(&some));
                self.send(&format!("{action}AdditionalCertificatesWithListener"), &pairs)?;
            }
        }
        Ok(())
    }

    fn write_listener(&self, live: &NlbListener, port: &NlbDesiredPort, group: &str) -> Result<(), NlbStop> {
        let is_elsewhere = live.group != group || live.description != port.description;
        let is_other = is_elsewhere || port.listening.differ(|name| live.value(name));
        if live.is_changing() {
            return Err(NlbStop::Waits(format!("listener {} is {}", live.id, live.status)));
        }
        if is_other {
            let mut pairs =
                vec![("ListenerId", &*live.id), ("ListenerDescription", &*port.description), ("ServerGroupId", group)];
            pairs.extend(port.listening.pairs());
            self.send("UpdateListenerAttribute", &pairs)?;
        }
        if live.status == "Stopped" {
            self.send("StartListener", &[("ListenerId", &live.id)])?;
        }
        self.write_certificates(&live.id, port)
    }
}

/// Whether a listener is that of a port.
fn is_at(live: &NlbListener, port: &NlbDesiredPort) -> bool {
    (live.port, live.protocol) == (port.port, port.protocol)
}

/// Whether a listener and a port cannot stand beside each other: udp stands beside the others.
fn shares_port(live: &NlbListener, port: &NlbDesiredPort) -> bool {
    let is_udp = |it: NlbProtocol| it == NlbProtocol::Udp;
    live.port == port.port && is_udp(live.protocol) == is_udp(port.protocol)
}
