//! The writes of the vendor's own manager, and ours for the same: `tests/golden/alibaba`.

use std::collections::BTreeMap;

use super::*;
use crate::tests::published;

/// A Service of the recordings.
fn recorded_service(name: &str, port: Port) -> LoadBalancer {
    let service = LoadBalancer::of("default", name, UID).with_port(port);
    let node = |it: usize| Node::named(format!("node-{it}")).with_provider_id(format!("cn-hangzhou.i-bp{it:016}"));
    (1..=3).map(node).fold(service, LoadBalancer::with_node)
}

type Written = Vec<(String, BTreeMap<String, Value>)>;

/// A write with what can be compared: not the token, our tags, the ids that the cloud gives, nor the five keys of the vendor's own in a
/// list of machines.
fn comparable(action: &str, pairs: impl Iterator<Item = (String, String)>) -> (String, BTreeMap<String, Value>) {
    let is_compared = |name: &str| {
        let own_tag = ["Tag.3.", "Tag.4."].iter().any(|it| name.starts_with(it));
        !own_tag && !["ClientToken", "RegionId", "LoadBalancerId", "VServerGroupId", "VServerGroup"].contains(&name)
    };
    let value = |name: &str, text: String| match name {
        "BackendServers" => {
            let servers: Vec<Value> = serde_json::from_str(&text).unwrap();
            let field = |it: &Value, upper: &str, lower: &str| {
                if it[upper].is_null() { it[lower].clone() } else { it[upper].clone() }
            };
            let server = |it: &Value| {
                json!([
                    field(it, "ServerId", "serverId"),
                    field(it, "Port", "port"),
                    field(it, "Weight", "weight"),
                    field(it, "Type", "type"),
                    field(it, "Description", "description")
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

/// The writes of a recording.
fn recorded(file: &str) -> Written {
    let path = format!("{}/../../tests/golden/alibaba/{file}.json", env!("CARGO_MANIFEST_DIR"));
    // The UID is a word there.
    let own = LoadBalancer::of("default", "web", UID).name;
    let named = |text: String, name: &str| text.replace(&format!("a<uid-of-{name} without dashes, 31>"), &own);
    let text = ["web", "intra", "dns"].into_iter().fold(std::fs::read_to_string(path).unwrap(), named);
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let requests = recorded["requests"].as_array().unwrap().iter().filter(|it| it["api"] == "slb");
    let told = requests.map(|it| {
        let pairs = it["params"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()));
        comparable(it["action"].as_str().unwrap(), pairs)
    });
    told.filter(|(action, _)| !action.starts_with("Describe") && !action.starts_with("List")).collect()
}

/// Ours, where a group is made together with its machines: as the two requests of the vendor's.
fn ours(sent: &[Request]) -> Written {
    let mut written = Written::new();
    for request in sent.iter().filter(|it| !action(it).starts_with("Describe")) {
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

fn played() -> Played {
    let played = Played::new(FakeSlb::default());
    let host = played.host.clone().setting("vswitches", "vsw-b");
    Played { host, ..played }
}

#[test]
fn writes_are_those_of_the_vendors_manager() {
    let played = played();
    let mut web = recorded_service("web", Port::new(Protocol::Tcp, 80, 30_080));
    assert_eq!(ours(&played.settle(&mut web)), recorded("04-clb-create"));
    web.ports.push(Port::new(Protocol::Tcp, 443, 30_443));
    assert_eq!(ours(&played.settle(&mut web)), recorded("06-clb-port-added"));
    web.ports.pop();
    assert_eq!(ours(&played.settle(&mut web)), recorded("16-clb-port-removed"));
    web = web.with_annotation(format!("{PREFIX}protocol-port"), "http:80");
    assert_eq!(ours(&played.settle(&mut web)), recorded("17-clb-protocol-http"));
    let before = played.host.sent().len();
    assert_eq!(played.host.run(|| Alibaba::delete(&web)), Ok(Deletion::Done));
    assert_eq!(ours(&played.host.sent()[before..]), recorded("18-clb-delete"));
}

#[test]
fn creations_are_those_of_the_vendors_manager() {
    let mut intra = recorded_service("intra", Port::new(Protocol::Tcp, 80, 30_082));
    intra = intra.with_annotation(format!("{PREFIX}address-type"), "intranet");
    assert_eq!(ours(&played().settle(&mut intra)), recorded("19-clb-intranet"));
    let mut dns = recorded_service("dns", Port::new(Protocol::Udp, 53, 30_053));
    assert_eq!(ours(&played().settle(&mut dns)), recorded("20-clb-udp"));
}

#[test]
fn what_the_vendors_manager_left_is_taken_over_without_a_write() {
    let played = played();
    let mut web = recorded_service("web", Port::new(Protocol::Tcp, 80, 30_080));
    played.settle(&mut web);
    let tags = played.live()["Tags"].as_array().unwrap()[..2].to_vec();
    assert_eq!(
        tags.iter().map(|it| it["TagKey"].as_str().unwrap()).collect::<Vec<_>>(),
        ["kubernetes.do.not.delete", "ack.aliyun.com"]
    );
    played.cloud.borrow_mut().cloud().balancers.get_mut("lb-1").unwrap().body["Tags"] = tags.into();
    web.memo = None;
    web.extra.clear();
    assert_eq!(ours(&played.settle(&mut web)), Written::new());
    assert_eq!(web.memo.as_deref(), Some("lb-1"));
}
