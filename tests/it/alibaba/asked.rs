//! Each call that the provider makes is the call that the vendor's own client makes: the same action with the same parameters, at the same
//! place, and a signature that the client's signer makes of its bytes, too.

use std::collections::{BTreeMap, BTreeSet};

use cloud_provider::{ExternalTrafficPolicy, Protocol, Volume};
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};
use tests::clouds::alibaba::{KEY_ID, KEY_SECRET, Recorded, ZONES};
use tests::sdk::VendorClient;
use tests::simulator::Authorization;
use tests::vendor::{AlibabaCloud, Service, Vendor as _, manifest, node, port};

use crate::life::Life;
use crate::setup::Rig;

const CLIENT: VendorClient = VendorClient("alibaba");
/// Parameters of many values, or of a long text: the vendor's Terraform provider sends them in the form, too, and queries end at 8 KiB.
const LONG: [&str; 1] = ["BackendServers"];

/// The parameter that is a text in JSON, which the client writes of its members.
const IN_JSON: &str = "ProxyProtocolV2Config";

/// Actions that clusters compare: those of nodes and their routes.
pub(crate) const ELSEWHERE: [&str; 7] = [
    "ecs/DescribeNetworkInterfaces",
    "ecs/ModifyNetworkInterfaceAttribute",
    "vpc/CreateRouteEntries",
    "vpc/DeleteRouteEntries",
    "vpc/DescribeRouteEntryList",
    "vpc/DescribeRouteTableList",
    "vpc/DescribeVpcAttribute",
];

/// Parameters as the client's models have them: `Tag.1.Key` is the member of an item of a list.
fn nested(query: &[(String, String)]) -> Value {
    let mut nested = json!({});
    for (name, value) in query {
        let mut at = &mut nested;
        let parts: Vec<&str> = name.split('.').collect();
        for (part, next) in parts.iter().zip(parts.iter().skip(1).map(Some).chain([None])) {
            let is_list = next.is_some_and(|it| it.parse::<usize>().is_ok());
            let empty = if is_list { json!([]) } else { json!({}) };
            at = match part.parse::<usize>() {
                Ok(number) => {
                    let list = at.as_array_mut().unwrap();
                    while list.len() < number {
                        list.push(empty.clone());
                    }
                    &mut list[number - 1]
                }
                Err(_) => at.as_object_mut().unwrap().entry(*part).or_insert(empty),
            };
        }
        *at = if name == IN_JSON { serde_json::from_str(value).unwrap() } else { json!(value) };
    }
    nested
}

/// The parameters that stand in the query, as they were sent.
fn in_query(request: &Recorded) -> BTreeSet<String> {
    let query = request.target.split_once('?').map_or("", |(_, query)| query);
    url::form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name.into_owned()).collect()
}

/// The first request of each action that names these parameters.
fn different(requests: &[Recorded]) -> Vec<&Recorded> {
    let mut found: BTreeMap<(&str, Vec<&str>), &Recorded> = BTreeMap::new();
    for request in requests {
        let mut names: Vec<&str> = request.query.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        found.entry((&request.path, names)).or_insert(request);
    }
    found.into_values().collect()
}

/// Sends what was asked by the vendor's own client, and compares: what became of it is of no concern. Answers the actions.
pub(crate) async fn are_those_of_the_vendors_client(requests: &[Recorded]) -> BTreeSet<String> {
    let ours = different(requests);
    let call = |request: &&Recorded| {
        let (product, action) = request.path.trim_start_matches('/').split_once('/').unwrap();
        json!({ "product": product, "action": action, "parameters": nested(&request.query) })
    };
    let (cloud, url) = crate::sdk::served().await;
    CLIENT.call(&[&url, KEY_ID, KEY_SECRET], &ours.iter().map(call).collect::<Vec<_>>()).await;
    let theirs = cloud.requests();
    assert_eq!(theirs.len(), ours.len());
    let mut wrong = Vec::new();
    for (our, their) in ours.iter().zip(&theirs) {
        let pairs = |it: &Recorded| -> BTreeMap<String, String> {
            let read = |(name, value): &(String, String)| match name == IN_JSON {
                true => (name.clone(), serde_json::from_str::<Value>(value).unwrap().to_string()),
                false => (name.clone(), value.clone()),
            };
            it.query.iter().filter(|(name, _)| name != "RegionId").map(read).collect()
        };
        let places = |it: &Recorded| -> BTreeSet<String> {
            in_query(it).into_iter().filter(|it| it != "RegionId" && !LONG.contains(&it.as_str())).collect()
        };
        if (&our.path, pairs(our)) != (&their.path, pairs(their)) {
            wrong.push(format!("{}: {:?} and theirs {:?}", our.path, pairs(our), pairs(their)));
        }
        if places(our) != places(their) && !their.path.contains("/nlb/") {
            wrong.push(format!("{}: in the query are {:?} and theirs {:?}", our.path, places(our), places(their)));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    are_signed_alike(&ours).await;
    ours.iter().map(|it| it.path.trim_start_matches('/').to_owned()).collect()
}

/// Lets the client's signer sign what we have sent.
async fn are_signed_alike(requests: &[&Recorded]) {
    let signed = |request: &&Recorded| {
        let named = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            let is_signed = name.as_str().starts_with("x-acs-") || name == "host" || name == CONTENT_TYPE;
            is_signed.then(|| (name.to_string(), json!(value.to_str().unwrap())))
        };
        let headers: Map<String, Value> = request.headers.iter().filter_map(named).collect();
        let query = request.target.split_once('?').map_or("", |(_, query)| query);
        let query: BTreeMap<String, String> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        json!({ "sign": { "headers": headers, "query": query, "body": String::from_utf8(request.body.clone()).unwrap() } })
    };
    let calls: Vec<Value> = requests.iter().map(signed).collect();
    let done = CLIENT.call(&["http://127.0.0.1", KEY_ID, KEY_SECRET], &calls).await;
    for (request, signature) in requests.iter().zip(done) {
        let Authorization::Judged(ours) = &request.authorization else { panic!("{request} is not signed") };
        assert_eq!(signature["ok"], *ours, "{request}");
    }
}

/// A Service with a load balancer, and what it is asked to be, one thing after the other.
async fn lives(rig: &Rig, kind: &str, steps: &[&[(&str, &str)]]) {
    let mut service = Service::new(rig).named(kind, &format!("0e2f6f1c-9a5e-4a8e-8f0b-{:012}", kind.len()));
    service.desired.nodes = vec![AlibabaCloud::worker(1), AlibabaCloud::worker(2)];
    if kind == "network" {
        service.desired.load_balancer_class = Some("alibabacloud.com/nlb".to_owned());
        service.set("zone-maps", ZONES);
    }
    for step in steps {
        for (name, value) in *step {
            match *name {
                "ranges" => service.desired.source_ranges = value.split_terminator(',').map(str::to_owned).collect(),
                "nodes" => service.desired.nodes = value.bytes().map(|it| AlibabaCloud::worker(it - b'0')).collect(),
                "udp" => service.desired.ports.push(port(Protocol::Udp, value.parse().unwrap())),
                "tcp" => service.desired.ports.push(port(Protocol::Tcp, value.parse().unwrap())),
                "without" => service.desired.ports.retain(|it| it.port.to_string() != **value),
                "local" => service.desired.external_traffic_policy = ExternalTrafficPolicy::Local(31_000),
                name => service.set(name, value),
            }
        }
        service.served_with().await;
    }
    service.gone().await;
}

/// A disk; load balancers that are kept; a listener that a person has stopped.
async fn seldom(rig: &Rig) {
    let disk = rig.cloud.with(|world| world.add_disk("cn-hangzhou-b"));
    let source = "diskplugin.csi.alibabacloud.com".to_owned();
    let volume = Volume { name: "data".to_owned(), source, handle: disk, ..Volume::default() };
    let topologies = rig.abilities.persistent_volumes.as_ref().unwrap().get_topology(&[volume]).await.answer;
    assert!(matches!(&topologies[..], [Ok(Some(_))]), "{topologies:?}");
    for mut life in [Life::new(rig), Life::network(rig)] {
        life.service.set("preserve-lb-on-delete", "true");
        life.settle().await;
        rig.cloud.with(|world| {
            let all: Vec<String> = world.network_listeners.all().map(|(id, _)| id.to_owned()).collect();
            all.iter().for_each(|id| world.network_listeners.get_mut(id).unwrap()["ListenerStatus"] = json!("Stopped"));
        });
        life.settle().await;
        life.kept().await;
    }
}

#[tokio::test]
async fn calls_of_the_provider_are_those_of_the_vendors_client() {
    let rig = Rig::instant().await;
    rig.list_all(2).await;
    rig.get(node("web-1", &AlibabaCloud::worker(1).provider_id.unwrap())).await.unwrap();
    let classic: [&[(&str, &str)]; 8] = [
        &[("scheduler", "rr"), ("udp", "53")],
        &[("scheduler", "wrr"), ("name", "a-name"), ("additional-resource-tags", "team=web")],
        &[("charge-type", "paybybandwidth"), ("bandwidth", "10"), ("modification-protection", "NonProtection")],
        &[("delete-protection", "off"), ("default-weight", "50")],
        &[("ranges", "10.0.0.0/8,192.0.2.0/24")],
        &[("ranges", "10.0.0.0/8,198.51.100.0/24"), ("nodes", "23")],
        &[("ranges", ""), ("tcp", "443")],
        &[("local", ""), ("without", "80")],
    ];
    lives(&rig, "classic", &classic).await;
    let https: [&[(&str, &str)]; 4] = [
        &[
            ("tcp", "443"),
            ("protocol-port", "https:443,http:80"),
            ("cert-id", "cert-1"),
            ("domain-extensions", "a.example.com:cert-2,*.example.org:cert-3"),
            ("instance-charge-type", "PayBySpec"),
        ],
        &[("scheduler", "wrr"), ("spec", "slb.s2.small")],
        &[("health-check-flag", "on"), ("domain-extensions", "a.example.com:cert-9,*.example.org:cert-3")],
        &[("domain-extensions", "a.example.com:cert-9")],
    ];
    lives(&rig, "https", &https).await;
    let cookies: [&[(&str, &str)]; 4] = [
        &[
            ("protocol-port", "http:80"),
            ("sticky-session", "on"),
            ("sticky-session-type", "insert"),
            ("cookie-timeout", "9"),
        ],
        &[("sticky-session-type", "server"), ("cookie", "route")],
        &[("sticky-session", "off")],
        &[("external-ip-type", "eip")],
    ];
    lives(&rig, "cookies", &cookies).await;
    let further: [&[(&str, &str)]; 4] = [
        &[
            ("protocol-port", "tcpssl:80"),
            ("cert-id", "cert-1"),
            ("additional-cert-ids", "cert-2,cert-3"),
            ("ip-version", "DualStack"),
            ("ipv6-address-type", "internet"),
        ],
        &[("additional-cert-ids", "cert-3"), ("ipv6-address-type", "intranet"), ("bandwidth-package-id", "cbwp-1")],
        &[("proxy-protocol", "on"), ("ppv2-pvl-vpc-id-enabled", "on"), ("bandwidth-package-id", "")],
        &[("cacert", "on"), ("cacert-id", "ca-1,ca-2")],
    ];
    lives(&rig, "network", &further).await;
    rig.cloud.with(|world| world.put_switch("vsw-h", "cn-hangzhou-h", "10.2.0.0/16"));
    let network: [&[(&str, &str)]; 6] = [
        &[("tcp", "443"), ("ranges", "10.0.0.0/8")],
        &[("ranges", "192.0.2.0/24"), ("name", "a-name"), ("idle-timeout", "60")],
        &[("scheduler", "rr"), ("default-weight", "50"), ("address-type", "intranet")],
        &[("ranges", ""), ("nodes", "23"), ("without", "443")],
        &[("zone-maps", "cn-hangzhou-b:vsw-b,cn-hangzhou-h:vsw-h:10.2.0.9:eip-1")],
        &[("local", "")],
    ];
    lives(&rig, "network", &network).await;
    seldom(&rig).await;
    let compared = are_those_of_the_vendors_client(&rig.cloud.requests()).await;
    let shipped = manifest::cloud_config(AlibabaCloud::MANIFEST);
    let all = shipped["endpoints"].as_array().unwrap().iter().flat_map(|endpoint| {
        let rules = endpoint["allow"].as_array().unwrap().iter();
        let actions = rules.flat_map(|it| it["operations"].as_array().unwrap());
        actions.map(|it| format!("{}/{}", endpoint["name"].as_str().unwrap(), it.as_str().unwrap()))
    });
    let others: Vec<String> = all.filter(|it| !compared.contains(it) && !ELSEWHERE.contains(&&**it)).collect();
    assert_eq!(others, [""; 0], "they are allowed, and not compared");
    rig.cloud.assert_valid();
}
