//! Changes of load balancers that take time.

use serde_json::{Value, json};

use super::ending::Pending;
use super::kind::Kind;
use super::world::{World, text};

/// The kinds of objects that belong to a load balancer.
const PARTS: [Kind; 4] = [Kind::Listener, Kind::Pool, Kind::Member, Kind::HealthMonitor];

impl World {
    /// Begins a change of a load balancer. What it and its parts become is in their status already.
    pub(super) fn begin(&mut self, balancer: &str, status: &str) {
        let end = self.behaviour.provisioning.begun(self.time());
        let name = self.get(Kind::LoadBalancer, balancer).map_or("", |it| text(it, "name"));
        let fails = self.behaviour.creations_fail || self.behaviour.failing_names.contains(name);
        let fails = fails && status == "PENDING_CREATE";
        self.set_status(Kind::LoadBalancer, balancer, status);
        self.pending.insert(balancer.to_owned(), Pending { end, fails });
    }

    /// Lets the change of a load balancer end now.
    pub fn finish(&mut self, balancer: &str) {
        if let Some(pending) = self.pending.remove(balancer) {
            self.end(balancer, pending);
        }
    }

    /// Ends what ends by now.
    pub(super) fn end_due(&mut self) {
        let now = self.time();
        let ended: Vec<_> =
            self.pending.iter().filter(|(_, it)| it.end.is_due(now)).map(|(id, _)| id.clone()).collect();
        ended.iter().for_each(|id| self.finish(id));
    }

    /// Counts that a load balancer was read.
    pub(super) fn count_read(&mut self, balancer: &str) {
        if let Some(pending) = self.pending.get_mut(balancer) {
            pending.end.count_read();
        }
    }

    /// Sets `provisioning_status`.
    pub(super) fn set_status(&mut self, kind: Kind, id: &str, status: &str) {
        if let Some(object) = self.get_mut(kind, id) {
            object["provisioning_status"] = json!(status);
        }
    }

    fn end(&mut self, balancer: &str, pending: Pending) {
        let Some(object) = self.get(Kind::LoadBalancer, balancer) else { return };
        if text(object, "provisioning_status") == "PENDING_DELETE" {
            self.take_away(balancer);
            return;
        }
        let stamp = self.stamp();
        for kind in PARTS {
            for id in self.ids(kind, |it| text(it, "_balancer") == balancer && is_pending(it)) {
                let gone = self.get(kind, &id).is_some_and(|it| text(it, "provisioning_status") == "PENDING_DELETE");
                if gone {
                    self.remove(kind, &id);
                } else if let Some(it) = self.get_mut(kind, &id) {
                    settle_one(it, pending.fails, &stamp);
                }
            }
        }
        if let Some(it) = self.get_mut(Kind::LoadBalancer, balancer) {
            settle_one(it, pending.fails, &stamp);
        }
    }

    /// Takes a load balancer away with all that belongs to it, in Neutron, too.
    pub fn take_away(&mut self, balancer: &str) {
        for kind in PARTS {
            for id in self.ids(kind, |it| text(it, "_balancer") == balancer) {
                self.remove(kind, &id);
            }
        }
        self.pending.remove(balancer);
        let Some(gone) = self.remove(Kind::LoadBalancer, balancer) else { return };
        // A port that somebody else made stays.
        if gone["_own_port"] == json!(true) {
            self.remove_port(text(&gone, "vip_port_id"));
        }
    }

    /// Takes a port away: floating IPs lead to it no more.
    pub(super) fn remove_port(&mut self, port: &str) {
        for id in self.ids(Kind::FloatingIp, |it| text(it, "port_id") == port) {
            if let Some(it) = self.get_mut(Kind::FloatingIp, &id) {
                for key in ["port_id", "fixed_ip_address", "router_id", "port_details"] {
                    it[key] = Value::Null;
                }
                it["status"] = json!("DOWN");
            }
        }
        self.remove(Kind::Port, port);
    }
}

fn settle_one(object: &mut Value, fails: bool, stamp: &Value) {
    object["provisioning_status"] = json!(if fails { "ERROR" } else { "ACTIVE" });
    object["updated_at"] = stamp.clone();
    if object["operating_status"] == json!("OFFLINE") && !fails {
        object["operating_status"] = json!("ONLINE");
    }
}

/// Whether an object is changing.
pub(super) fn is_pending(object: &Value) -> bool {
    text(object, "provisioning_status").starts_with("PENDING_")
}
