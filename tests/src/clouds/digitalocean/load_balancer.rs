//! A load balancer, from what a test says about it to the whole object that the service shows.

mod attributes;
mod defaults;
mod rules;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::SystemTime;

use serde_json::{Value, json};

pub use self::attributes::{Attributes, Firewall, ForwardingRule, HealthCheck, StickySessions};

pub(super) use self::attributes::Desired;
pub(super) use self::defaults::leave_out_defaults;
pub(super) use self::rules::{Neighbours, check, droplets};

use super::region;

/// A load balancer of the account.
#[derive(Clone, Debug)]
pub struct LoadBalancer {
    /// A UUID.
    pub id: String,
    /// Where it is in its life.
    pub status: LoadBalancerStatus,
    /// Assigned when it becomes active, unless the creation named one.
    pub ip: Option<Ipv4Addr>,
    /// Assigned when it becomes active, if its network stack has IPv6.
    pub ipv6: Option<Ipv6Addr>,
    /// Names of tags. Requests say them at creation only, and the service does not show them.
    pub tags: Vec<String>,
    /// The attributes that were asked for, with the service's defaults where nothing was.
    pub attributes: Attributes,
    /// When it was asked for. Tests that need an older one move it.
    pub created_at: SystemTime,
    /// When it was changed last: for a while it takes no other change.
    pub changed_at: SystemTime,
    /// When its size was changed last.
    pub resized_at: Option<SystemTime>,
    /// How often it was read, by id or in a list.
    pub reads: usize,
    /// Whether lists show it, once they are up to date. One that is not listed can still be asked for by id.
    pub listed: bool,
}

/// The service's word on the state of a load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadBalancerStatus {
    /// Being created.
    New,
    /// Serving.
    Active,
    /// Its creation failed.
    Errored,
}

impl LoadBalancer {
    /// An active load balancer in `fra1` of the service's default type, which forwards TCP port 80 to no droplet, with an address made from
    /// its id.
    #[must_use]
    pub fn new(id: &str, name: &str) -> LoadBalancer {
        let rule = ForwardingRule::new("tcp", 80, "tcp", 80);
        let [.., last] = id.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte)).to_be_bytes();
        LoadBalancer {
            status: LoadBalancerStatus::Active,
            // The last of the three ranges set aside for documentation: the service gives the others away.
            ip: Some(Ipv4Addr::new(192, 0, 2, last)),
            ..LoadBalancer::being_created(id.to_owned(), Attributes::new(name, "fra1", vec![rule]), SystemTime::now())
        }
    }

    /// One that was just asked for.
    pub(super) fn being_created(id: String, attributes: Attributes, now: SystemTime) -> LoadBalancer {
        LoadBalancer {
            id,
            status: LoadBalancerStatus::New,
            ip: None,
            ipv6: None,
            tags: Vec::new(),
            attributes,
            created_at: now,
            changed_at: now,
            resized_at: None,
            reads: 0,
            listed: true,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.attributes.name
    }

    /// The object as the service shows it. `droplet_ids` are its targets as they are now.
    pub(super) fn object(&self, droplet_ids: &[u64]) -> Value {
        let mut object = json!(self.attributes);
        object["id"] = json!(self.id);
        object["status"] = json!(match self.status {
            LoadBalancerStatus::New => "new",
            LoadBalancerStatus::Active => "active",
            LoadBalancerStatus::Errored => "errored",
        });
        object["ip"] = self.ip.map_or(json!(""), |it| json!(it));
        if let Some(ipv6) = self.ipv6 {
            object["ipv6"] = json!(ipv6);
        }
        if let Some(size) = attributes::size(self.attributes.size_unit) {
            object["size"] = json!(size);
        }
        let created = jiff::Timestamp::try_from(self.created_at).expect("tests live in this age");
        object["created_at"] = json!(created.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        object["region"] = region::object(&self.attributes.region);
        object["droplet_ids"] = json!(droplet_ids);
        object
    }
}
