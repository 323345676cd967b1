//! The writes of the vendor's own manager: `tests/golden/alibaba`.

use std::collections::BTreeMap;

use aerostat_sdk::testing::Request;
use aerostat_sdk::{LoadBalancer, Node, Port};
use serde_json::{Value, json};

use super::played::UID;
use super::{action, published};

/// A Service of the recordings.
pub(crate) fn recorded_service(name: &str, port: Port) -> LoadBalancer {
    let service = LoadBalancer::of("default", name, UID).with_port(port);
    (1..=3).map(recorded_node).fold(service, LoadBalancer::with_node)
}

/// A node of the recordings.
pub(crate) fn recorded_node(number: usize) -> Node {
    Node::named(format!("node-{number}")).with_provider_id(format!("cn-hangzhou.i-bp{number:016}"))
}

/// Writes: the action, and what it carries.
pub(crate) type Written = Vec<(String, BTreeMap<String, Value>)>;

/// A write with what can be compared: not the token, our tags, the ids that the cloud gives, nor the five keys of the vendor's own in a
/// list of machines.
fn comparable(action: &str, pairs: impl Iterator<Item = (String, String)>) -> (String, BTreeMap<String, Value>) {
    const GIVEN: [&str; 8] = [
        "ClientToken",
        "RegionId",
        "LoadBalancerId",
        "VServerGroupId",
        "VServerGroup",
        "ServerGroupId",
        "SecurityGroupId",
        "SecurityGroupIds.1",
    ];
    let is_compared = |name: &str| {
        let own_tag = ["Tag.3.", "Tag.4."].iter().any(|it| name.starts_with(it));
        !own_tag && !GIVEN.contains(&name)
    };
    let value = |name: &str, text: String| match name {
        "BackendServers" => {
            let servers: Vec<Value> = serde_json::from_str(&text).unwrap();
            let field = |server: &Value, upper: &str, lower: &str| {
                if server[upper].is_null() { server[lower].clone() } else { server[upper].clone() }
            };
            let server = |server: &Value| {
                json!([
                    field(server, "ServerId", "serverId"),
                    field(server, "Port", "port"),
                    field(server, "Weight", "weight"),
                    field(server, "Type", "type"),
                    field(server, "Description", "description")
                ])
            };
            servers.iter().map(server).collect()
        }
        _ => text.into(),
    };
    let pairs = pairs.filter(|(name, _)| is_compared(name)).map(|(name, text)| {
        let value = value(&name, text);
        (name, value)
    });
    (action.to_owned(), pairs.collect())
}

/// The writes of a recording at these products.
pub(crate) fn recorded(file: &str, products: &[&str]) -> Written {
    let path = format!("{}/../../tests/golden/alibaba/{file}.json", env!("CARGO_MANIFEST_DIR"));
    // The UID is a word there.
    let own = LoadBalancer::of("default", "web", UID).name;
    let named = |text: String, name: &str| text.replace(&format!("a<uid-of-{name} without dashes, 31>"), &own);
    let text = ["web", "intra", "dns", "n1"].into_iter().fold(std::fs::read_to_string(path).unwrap(), named);
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let requests = recorded["requests"].as_array().unwrap().iter();
    let requests = requests.filter(|it| products.contains(&it["api"].as_str().unwrap()));
    let told = requests.map(|request| {
        let pairs = request["params"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()));
        comparable(request["action"].as_str().unwrap(), pairs)
    });
    told.filter(|(action, _)| !is_read(action)).collect()
}

fn is_read(action: &str) -> bool {
    ["Describe", "List", "Get"].iter().any(|it| action.starts_with(it))
}

/// Ours, where a group of a Classic Load Balancer is made together with its machines: as the two requests of the vendor's.
pub(crate) fn ours(sent: &[Request]) -> Written {
    let mut written = Written::new();
    for request in sent.iter().filter(|it| !is_read(action(it))) {
        let pairs = published::parameters(request).into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (action, mut pairs) = comparable(action(request), pairs);
        let servers = if action == "CreateVServerGroup" { pairs.remove("BackendServers") } else { None };
        written.push((action, pairs));
        if let Some(servers) = servers {
            let pairs = [("BackendServers".to_owned(), servers)].into_iter().collect();
            written.push(("AddVServerGroupBackendServers".to_owned(), pairs));
        }
    }
    written
}
