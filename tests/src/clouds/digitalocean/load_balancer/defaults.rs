//! Fields that an answer may leave out, because they are as by default.

use serde_json::{Map, Value, json};

use super::{Attributes, ForwardingRule};

/// The attributes that published examples leave out. `ipv6` is another: it is never shown where there is none.
const ATTRIBUTES: [&str; 8] = [
    "firewall",
    "http_idle_timeout_seconds",
    "network",
    "network_stack",
    "project_id",
    "size_unit",
    "tls_cipher_policy",
    "type",
];

/// The attribute of a forwarding rule that a published example leaves out.
const OF_RULES: [&str; 1] = ["tls_passthrough"];

/// Takes out of a load balancer as it is shown what is as by default, of the attributes that published examples leave out.
pub(crate) fn leave_out_defaults(object: &mut Value) {
    without(object, &ATTRIBUTES, &json!(Attributes::default()));
    let default = json!(ForwardingRule::new("tcp", 80, "tcp", 80));
    for rule in object["forwarding_rules"].as_array_mut().into_iter().flatten() {
        without(rule, &OF_RULES, &default);
    }
}

fn without(object: &mut Value, names: &[&str], default: &Value) {
    let shown: &mut Map<_, _> = object.as_object_mut().expect("the simulator shows objects");
    shown.retain(|name, value| !(names.contains(&name.as_str()) && *value == default[name]));
}
