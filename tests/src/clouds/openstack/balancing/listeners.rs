//! Listeners of Octavia.

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::objects::{begin, claimed, found, over_quota, wanted, write};
use super::presented;
use super::values::{self, fields, number, over, word};
use crate::clouds::openstack::errors::{self, Refused};
use crate::clouds::openstack::kind::Kind;
use crate::clouds::openstack::world::{World, text};

/// The protocols of a listener.
const PROTOCOLS: [&str; 8] = ["HTTP", "HTTPS", "PROMETHEUS", "PROXY", "SCTP", "TCP", "TERMINATED_HTTPS", "UDP"];

/// The fields of a request that are places of other objects.
const PLACES: [&str; 5] = ["default_pool", "loadbalancer_id", "loadbalancers", "l7policies", "listener_id"];

/// `POST /listeners`.
pub(super) fn create(world: &mut World, body: &Value) -> Result<Answer, Refused> {
    let asked = wanted(body, Kind::Listener)?;
    let balancer = text(asked, "loadbalancer_id");
    found(world, Kind::LoadBalancer, balancer)?;
    if asked["default_pool"].is_object() {
        return Err(errors::octavia(500, "'dict' object has no attribute '_sa_instance_state'"));
    }
    let balancer = claimed(world, Kind::LoadBalancer, balancer)?;
    if !world.allows(Kind::Listener, 1) {
        return Err(over_quota(Kind::Listener));
    }
    let id = add(world, &balancer, asked)?;
    if let Some(pool) = asked["default_pool_id"].as_str() {
        found(world, Kind::Pool, pool)?;
    }
    let pool = asked["default_pool_id"].as_str().map(str::to_owned);
    begin(world, &balancer, pool.as_deref(), None);
    let made = found(world, Kind::Listener, &id)?;
    Ok(Answer::created(&json!({ "listener": presented::one(world, Kind::Listener, made) })))
}

/// `PUT /listeners/{id}`.
pub(super) fn update(world: &mut World, id: &str, body: &Value) -> Result<Answer, Refused> {
    let asked = wanted(body, Kind::Listener)?;
    found(world, Kind::Listener, id)?;
    check(asked)?;
    let mut changed = fields(asked, &PLACES);
    for (key, value) in &mut changed {
        match key.as_str() {
            "allowed_cidrs" => *value = values::networks(value)?,
            "insert_headers" if value.is_null() => *value = json!({}),
            "protocol" | "protocol_port" => {
                return Err(errors::octavia(
                    400,
                    &format!("Invalid input for field/attribute {key}. Unknown attribute"),
                ));
            }
            _ => {}
        }
    }
    let balancer = claimed(world, Kind::Listener, id)?;
    let answer = write(world, Kind::Listener, id, changed)?;
    begin(world, &balancer, None, Some(id));
    Ok(answer)
}

impl World {
    /// Adds a listener to a load balancer, done already, as a person does.
    ///
    /// # Panics
    ///
    /// Panics if Octavia would refuse it.
    pub fn build_listener(&mut self, balancer: &str, asked: &Value) {
        add(self, balancer, asked).expect("the test asks for a listener that can be");
        self.begin(balancer, "PENDING_UPDATE");
        self.finish(balancer);
    }
}

/// Adds a listener to a load balancer that is claimed. Answers its id.
pub(super) fn add(world: &mut World, balancer: &str, asked: &Value) -> Result<String, Refused> {
    check(asked)?;
    let (protocol, port) = (text(asked, "protocol"), &asked["protocol_port"]);
    let other = world
        .with(Kind::Listener, "_balancer", balancer)
        .find(|it| it["protocol_port"] == *port && transport(text(it, "protocol")) == transport(protocol));
    if let Some(other) = other {
        let message = format!(
            "Another Listener on this Load Balancer is already using protocol {} and protocol_port {port}",
            text(other, "protocol")
        );
        return Err(errors::octavia(409, &message));
    }
    if protocol == "TERMINATED_HTTPS" && asked["default_tls_container_ref"].is_null() {
        return Err(errors::octavia_validation(
            "An SNI or default certificate container reference must be provided with TERMINATED_HTTPS listeners.",
        ));
    }
    let stamp = world.stamp();
    let defaults = json!({
        "name": "", "description": "", "provisioning_status": "PENDING_CREATE", "operating_status": "OFFLINE",
        "admin_state_up": true, "connection_limit": -1, "default_tls_container_ref": null, "sni_container_refs": [],
        "default_pool_id": null, "insert_headers": {}, "created_at": stamp, "updated_at": null, "timeout_client_data": 50000,
        "timeout_member_connect": 5000, "timeout_member_data": 50000, "timeout_tcp_inspect": 0, "tags": [],
        "client_ca_tls_container_ref": null, "client_authentication": "NONE", "client_crl_container_ref": null,
        "allowed_cidrs": null, "tls_ciphers": null, "tls_versions": null, "alpn_protocols": null, "hsts_max_age": null,
        "hsts_include_subdomains": false, "hsts_preload": false, "_balancer": balancer,
    });
    let mut made = over(defaults, fields(asked, &PLACES));
    made["allowed_cidrs"] = values::networks(&asked["allowed_cidrs"])?;
    Ok(world.insert(Kind::Listener, made))
}

fn check(asked: &Value) -> Result<(), Refused> {
    word(asked, "protocol", &PROTOCOLS)?;
    number(asked, "protocol_port", (1, 65_535))?;
    number(asked, "connection_limit", (-1, i64::MAX))?;
    for key in ["timeout_client_data", "timeout_member_connect", "timeout_member_data", "timeout_tcp_inspect"] {
        number(asked, key, (0, 31_536_000_000))?;
    }
    Ok(())
}

/// The transport of a protocol: on one port there is one listener of each.
fn transport(protocol: &str) -> &str {
    match protocol {
        "UDP" | "SCTP" => protocol,
        _ => "TCP",
    }
}
