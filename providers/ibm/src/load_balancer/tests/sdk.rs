//! Our requests beside those of the official SDK (ibm-vpc 0.36.0), recorded in `tests/golden/ibm-vpc-sdk.json` by
//! `tests/ibm/record.py`.

use aerostat_sdk::testing::{Body, Request, answer};
use aerostat_sdk::{Instances as _, PersistentVolumes as _, Provider as _, Volume};

use super::*;
use crate::tests::{asked, instance, page_of, published, refused, settings};

/// A request as the recordings tell it: the ids of pools, listeners and routes that are changed have words in their place.
fn told(request: &Request) -> Value {
    let method = format!("{:?}", request.method).to_uppercase().replace("METHOD::", "");
    let is_write = method != "GET";
    let place = |part: &String| match part.split_once('-') {
        Some(("pool", _)) => if is_write { "POOL" } else { "pool-1" }.to_owned(),
        Some(("listener", _)) if is_write => "LISTENER".to_owned(),
        Some(("r006", rest)) if rest.starts_with("k8s-") => "ROUTE".to_owned(),
        Some(("made", _)) => "ROUTE".to_owned(),
        Some(("r006", rest)) if rest.starts_with("own-") || rest == "nodes" => "GROUP".to_owned(),
        Some(("rule", _)) => "RULE".to_owned(),
        _ => part.clone(),
    };
    let path: Vec<String> = request.path.iter().map(place).collect();
    let query: serde_json::Map<String, Value> =
        request.query.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let content = request.headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.clone());
    let mut body: Value = match &request.body {
        Some(Body::Bytes(bytes)) => serde_json::from_slice(bytes).unwrap(),
        _ => Value::Null,
    };
    if body["default_pool"]["id"].is_string() {
        body["default_pool"]["id"] = "POOL".into();
    }
    json!({ "method": method, "path": format!("/v1/{}", path.join("/")), "query": query, "contentType": content, "body": body })
}

#[test]
fn each_request_is_the_one_that_the_sdk_sends() {
    let recorded: Value = serde_json::from_str(include_str!("../../../../../tests/golden/ibm-vpc-sdk.json")).unwrap();
    let all: Vec<Value> = (1..=150).map(instance).collect();
    let machines = settings().answers(move |request| {
        published::check(request);
        let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
        match path[..] {
            ["instances"] if asked(request, "name").is_some() => page_of(request, "instances", &all[..1]),
            ["instances"] => page_of(request, "instances", &all),
            ["instances", _] => answer(200, all[0].to_string()),
            ["floating_ips"] => page_of(request, "floating_ips", &[]),
            _ => refused(404, "not_found"),
        }
    });
    machines.run(|| {
        let _ = Ibm::identity();
        let page = Ibm::list(None, 100).unwrap();
        let _ = Ibm::list(page.next.as_deref(), 100);
        let _ = Ibm::get(&Node::named("node-1"));
        let _ = Ibm::get(&Node::named("node-1").with_provider_id("ibm://acc///c1/0717_1"));
        let volume = Volume {
            name: "pvc-1".to_owned(),
            source: "vpc.block.csi.ibm.io".to_owned(),
            handle: "r014-1".to_owned(),
            attributes: Vec::new(),
            extra: Vec::new(),
        };
        let _ = Ibm::get_topology(&volume);
    });
    let mut sent: Vec<Value> = machines.sent().iter().map(told).collect();
    sent.extend(life().iter().map(told));
    sent.extend(crate::routes::tests::life().iter().map(told));
    let grouped = Played::new(FakeVpc::default()).with("allowedSecurityGroups", "*");
    grouped.settle(&mut annotated("vpc-security-group", "clients-1"));
    let _ = grouped.host.run(|| <Ibm as aerostat_sdk::LoadBalancerInventory>::list(None, 100));
    sent.extend(grouped.host.sent().iter().map(told));
    let lives = [ranges::life(), network::life(), way_out::life(), owners::life()];
    sent.extend(lives.iter().flatten().map(told));
    for (name, expected) in recorded.as_object().unwrap() {
        assert!(sent.contains(expected), "{name}: {expected}\n{sent:#?}");
    }
    let known: Vec<&Value> = recorded.as_object().unwrap().values().collect();
    let form = |it: &Value| (it["method"].clone(), it["path"].clone());
    for own in &sent {
        assert!(known.iter().any(|it| form(it) == form(own)), "the SDK's request for this is not recorded: {own}");
    }
}
