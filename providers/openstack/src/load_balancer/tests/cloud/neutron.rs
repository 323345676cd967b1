//! Neutron in memory: floating IPs, ports, security groups.

use aerostat_sdk::Method;
use aerostat_sdk::testing::{Request, Response, reply};
use serde_json::{Value, json};

use super::{Cloud, merge, query, text};

impl Cloud {
    /// Carries a request to Neutron out.
    pub(super) fn neutron(&mut self, request: &Request, body: &Value) -> Response {
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        let is = |it: &Value, field: &str| query(request, field).is_none_or(|wanted| text(it, field) == wanted);
        match (request.method, &*path) {
            (Method::Get, ["networks"]) if self.is_closed => reply(200, json!({ "networks": [] })),
            (Method::Get, ["networks"]) => reply(200, json!({ "networks": [{ "id": "ext", "name": "ext" }] })),
            (Method::Get, ["subnets"]) => {
                let subnets =
                    ["ext-a", "ext-tiny", "ext-b"].map(|it| json!({ "id": it, "name": it, "cidr": "172.24.4.0/24" }));
                reply(200, json!({ "subnets": subnets }))
            }
            (Method::Get, ["subnets", id]) => reply(200, json!({ "subnet": { "id": id, "cidr": "10.6.0.0/24" } })),
            (Method::Get, ["ports"]) => {
                let servers: Vec<_> =
                    request.query.iter().filter(|(name, _)| name == "device_id").map(|(_, it)| it.as_str()).collect();
                let has_group = |shown: &Value| {
                    query(request, "security_groups")
                        .is_none_or(|group| shown["security_groups"].as_array().unwrap().contains(&json!(group)))
                };
                let is_of =
                    |it: &&Value| (servers.is_empty() || servers.contains(&text(it, "device_id"))) && has_group(it);
                reply(200, json!({ "ports": self.ports.values().filter(is_of).collect::<Vec<_>>() }))
            }
            (Method::Put, ["ports", id]) => merge(&mut self.ports, id, &body["port"]),
            (Method::Get, ["floatingips"]) if self.unlisted > 0 => {
                self.unlisted -= 1;
                reply(200, json!({ "floatingips": [] }))
            }
            (Method::Get, ["floatingips"]) => {
                let is_asked = |it: &&Value| is(it, "port_id") && is(it, "floating_ip_address");
                reply(200, json!({ "floatingips": self.floating.values().filter(is_asked).collect::<Vec<_>>() }))
            }
            (Method::Post, ["floatingips"]) => {
                let mut shown = body["floatingip"].clone();
                if self.full.iter().any(|it| shown["subnet_id"] == **it) {
                    let error =
                        json!({ "type": "IpAddressGenerationFailure", "message": "No more IP addresses available." });
                    return reply(409, json!({ "NeutronError": error }));
                }
                if self.floating.values().any(|it| it["port_id"] == shown["port_id"]) {
                    let error = json!({ "type": "FloatingIPPortAlreadyAssociated", "message": "it already has one" });
                    return reply(409, json!({ "NeutronError": error }));
                }
                let id = self.id();
                shown["id"] = json!(id);
                if shown["floating_ip_address"].is_null() {
                    shown["floating_ip_address"] = json!(format!("172.24.4.{}", self.given));
                }
                self.floating.insert(id, shown.clone());
                reply(201, json!({ "floatingip": shown }))
            }
            (Method::Put, ["floatingips", id]) => merge(&mut self.floating, id, &body["floatingip"]),
            (Method::Delete, ["floatingips", id]) => missing(self.floating.remove(*id).is_some()),
            (Method::Get, ["security-groups"]) => {
                let groups: Vec<_> = self.groups.values().filter(|it| is(it, "name")).collect();
                reply(200, json!({ "security_groups": groups }))
            }
            (Method::Post, ["security-groups"]) => {
                let (id, rule) = (self.id(), self.id());
                let mut shown = body["security_group"].clone();
                shown["id"] = json!(id);
                self.groups.insert(id.clone(), shown.clone());
                let egress = json!({ "id": rule, "security_group_id": id, "direction": "egress", "ethertype": "IPv4" });
                self.rules.insert(rule, egress);
                reply(201, json!({ "security_group": shown }))
            }
            (Method::Delete, ["security-groups", id]) => {
                if self.ports.values().any(|it| it["security_groups"].as_array().unwrap().contains(&json!(id))) {
                    return reply(
                        409,
                        json!({ "NeutronError": { "type": "SecurityGroupInUse", "message": "in use" } }),
                    );
                }
                self.rules.retain(|_, it| it["security_group_id"] != **id);
                missing(self.groups.remove(*id).is_some())
            }
            (Method::Get, ["security-group-rules"]) => {
                let rules: Vec<_> = self.rules.values().filter(|it| is(it, "security_group_id")).collect();
                reply(200, json!({ "security_group_rules": rules }))
            }
            (Method::Post, ["security-group-rules"]) => {
                let id = self.id();
                let mut shown = body["security_group_rule"].clone();
                shown["id"] = json!(id);
                self.rules.insert(id, shown.clone());
                reply(201, json!({ "security_group_rule": shown }))
            }
            (Method::Delete, ["security-group-rules", id]) => missing(self.rules.remove(*id).is_some()),
            _ => panic!("{:?} {path:?}", request.method),
        }
    }
}

fn missing(was_there: bool) -> Response {
    let error = json!({ "NeutronError": { "type": "NotFound", "message": "it is not found" } });
    if was_there { reply(204, "") } else { reply(404, error) }
}
