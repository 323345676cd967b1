//! Creation of load balancers.

use std::time::Duration;

use serde_json::{Value, json};
use tests::clouds::digitalocean::{Behaviour, Creation, LoadBalancer, LoadBalancerStatus, Options, Simulator};
use tests::simulator::Cloud;

use crate::client::simulator;
use crate::table::{Known, Step, get, play, post, row, then};

/// The path of the load balancer `$id`.
pub(crate) const ONE: &str = "/v2/load_balancers/$id";
/// An id that no test gives away.
pub(crate) const ID: &str = "4de7ac8b-495b-4884-9a69-1050c6793cd6";

/// The smallest body of a creation.
pub(crate) fn desired(name: &str) -> Value {
    let rule = json!({ "entry_protocol": "tcp", "entry_port": 80, "target_protocol": "tcp", "target_port": 30080 });
    json!({ "name": name, "region": "fra1", "droplet_ids": [1, 2], "forwarding_rules": [rule] })
}

/// Another value for a member.
pub(crate) fn with(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

/// Asks for a load balancer.
pub(crate) fn want<C: Cloud>(desired: Value) -> Step<C> {
    post("/v2/load_balancers", desired)
}

/// Creates a load balancer, and remembers its id under this name.
pub(crate) fn create<C: Cloud>(id: &str, desired: Value) -> Step<C> {
    want(desired).is(202, json!({ "load_balancer": { "id": id } }))
}

/// The load balancer `$id` as it is shown now.
pub(crate) fn show<C: Cloud>(expected: Value) -> Step<C> {
    get(ONE).is(200, json!({ "load_balancer": expected }))
}

/// A simulator with two droplets.
pub(crate) async fn two() -> Simulator {
    simulator(Options::default(), 1, 2).await
}

/// The same, whose load balancers behave like this.
pub(crate) async fn behaving(load_balancers: Behaviour) -> Simulator {
    simulator(Options { load_balancers, ..Options::default() }, 1, 2).await
}

/// A load balancer that says no more than it has to, as it is shown.
fn defaults() -> Value {
    json!({
        "id": null,
        "created_at": null,
        "region": null,
        "name": "web",
        "status": "new",
        "ip": "",
        "type": "REGIONAL",
        "network": "EXTERNAL",
        "network_stack": "IPV4",
        "vpc_uuid": "760e09ef-dc84-11e8-981e-3cfdfeaae000",
        "project_id": "9cc10173-e9ea-4176-9dbc-a4cee4c4ff30",
        "size": "lb-small",
        "size_unit": 1,
        "algorithm": "round_robin",
        "forwarding_rules": [{
            "entry_protocol": "tcp", "entry_port": 80, "target_protocol": "tcp", "target_port": 30080,
            "certificate_id": "", "tls_passthrough": false,
        }],
        "health_check": {
            "protocol": "http", "port": 80, "path": "/", "check_interval_seconds": 10, "response_timeout_seconds": 5,
            "unhealthy_threshold": 5, "healthy_threshold": 3,
        },
        "sticky_sessions": { "type": "none" },
        "firewall": { "deny": [], "allow": [] },
        "droplet_ids": [1, 2],
        "tag": "",
        "redirect_http_to_https": false,
        "enable_proxy_protocol": false,
        "enable_backend_keepalive": false,
        "http_idle_timeout_seconds": 60,
        "disable_lets_encrypt_dns_records": false,
        "tls_cipher_policy": "DEFAULT",
    })
}

/// Attributes that a request may have beside those.
fn said() -> Value {
    json!({
        "type": "REGIONAL_NETWORK",
        "network_stack": "DUALSTACK",
        "size_unit": 3,
        "health_check": {
            "protocol": "tcp", "port": 10256, "check_interval_seconds": 3, "response_timeout_seconds": 4,
            "unhealthy_threshold": 2, "healthy_threshold": 6, "proxy_protocol": false,
        },
        "sticky_sessions": { "type": "cookies", "cookie_name": "DO-LB", "cookie_ttl_seconds": 300 },
        "firewall": { "allow": ["cidr:10.0.0.0/8"], "deny": ["ip:192.0.2.7", "ip:2001:db8::7"] },
        "enable_proxy_protocol": true,
        "enable_backend_keepalive": true,
        "http_idle_timeout_seconds": 600,
        "disable_lets_encrypt_dns_records": true,
        "project_id": "4de7ac8b-495b-4884-9a69-1050c6793cd6",
        "tls_cipher_policy": "STRONG",
        "subnet_uuid": "0b7ee1b3-3d2b-44b1-9a1b-4b6f6f4f0c11",
        "vpc_uuid": "760e09ef-dc84-11e8-981e-3cfdfeaae000",
    })
}

/// The smallest body and more.
pub(crate) fn saying(name: &str, said: &Value) -> Value {
    let mut desired = desired(name);
    desired.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
    desired
}

/// Changes what the simulator remembers of the load balancer `$id`.
pub(crate) fn update(change: fn(&mut LoadBalancer)) -> impl FnOnce(&Simulator, &Known) {
    move |simulator, known| simulator.load_balancers().update(known["$id"].as_str().unwrap(), change)
}

#[tokio::test]
async fn attributes_at_digitalocean() {
    let exactly_the_defaults = |known: &Known| {
        let mut made = known["$made"].clone();
        let (id, created_at) = (made["id"].take(), made["created_at"].take());
        assert_eq!(
            (id.as_str().unwrap().len(), created_at.as_str().unwrap().len()),
            (36, "2026-08-20T09:30:12Z".len())
        );
        assert_eq!(made["region"].take()["slug"], "fra1");
        assert_eq!(made, defaults());
    };
    let kept = with(with(said(), "size", json!("lb-medium")), "ip", json!(""));
    let mut kept = json!({ "load_balancer": kept });
    kept["load_balancer"]["health_check"]["path"] = json!("");
    let own = |name: &str, ip: &str| want(with(desired(name), "ip", json!(ip)));
    play([
        row("attributes that are left out have published defaults", two()).asks([
            want(desired("web")).is(202, json!({ "load_balancer": "$made" })),
            then(move |_, known| exactly_the_defaults(known)),
        ]),
        row("all attributes of a request are kept", two()).asks([want(saying("web.example-1", &said())).is(202, kept)]),
        row("an internal load balancer has a private address", two()).asks([
            create("$id", with(desired("inside"), "network", json!("INTERNAL"))),
            show(json!({ "ip": "~10." })),
        ]),
        row("an own address is taken at creation", two()).asks([
            own("own", "198.51.100.7").is(202, json!({ "load_balancer": { "id": "$id", "ip": "" } })),
            show(json!({ "ip": "198.51.100.7" })),
            own("again", "198.51.100.7").refused(422, "ip 198.51.100.7 is in use"),
            own("again", "192.0.2.1").refused(422, "ip 192.0.2.1 does not belong to this account"),
        ]),
    ])
    .await;
}

#[tokio::test]
async fn creation_takes_its_time_at_digitalocean() {
    let status = |status: &str| show(json!({ "status": status }));
    let listed = |status: &str| get("/v2/load_balancers").is(200, json!({ "load_balancers": [{ "status": status }] }));
    let dual = with(desired("dual"), "network_stack", json!("DUALSTACK"));
    let new = |id: &str| json!({ "load_balancer": { "id": id, "status": "new", "ip": "", "ipv6": null } });
    let of_two = |id: &str, expected: Value| {
        get(format!("/v2/load_balancers/{id}")).is(200, json!({ "load_balancer": expected }))
    };
    let behave = |creation, fail| {
        then(move |simulator: &Simulator, _| {
            simulator.load_balancers().behave(|it| (it.creation, it.creations_fail) = (creation, fail))
        })
    };
    let reads = || behaving(Behaviour { creation: Creation::Reads(2), ..Behaviour::default() });
    let takes = Behaviour { creation: Creation::Takes(Duration::from_hours(1)), ..Behaviour::default() };
    let late = Behaviour { lists_late_by: Duration::from_secs(20), ..Behaviour::default() };
    play([
        row("a new load balancer becomes active with its addresses", two()).asks([
            want(desired("single")).is(202, new("$single")),
            want(dual).is(202, new("$dual")),
            of_two("$single", json!({ "status": "active", "ip": "$one", "ipv6": null })),
            of_two("$dual", json!({ "status": "active", "ip": "$other", "ipv6": "~2001:db8:" })),
            then(|_, known| assert!(known["$one"] != known["$other"] && known["$one"] != "" && known["$other"] != "")),
            of_two("$single", json!({ "ip": "$one" })),
        ]),
        row("creation lasts as many reads as a test says", reads()).asks([
            create("$id", desired("web")),
            status("new"),
            status("new"),
            status("active"),
            status("active"),
        ]),
        row("a list counts as a read of all that it shows", reads()).asks([
            create("$id", desired("web")),
            listed("new"),
            listed("new"),
            listed("active"),
            listed("active"),
        ]),
        row("creation lasts as long as a test says", behaving(takes)).asks([
            create("$id", desired("web")),
            status("new"),
            then(update(|it| it.created_at -= Duration::from_hours(1))),
            status("active"),
        ]),
        row("creation may fail or never end", two()).asks([
            behave(Creation::Stuck, false),
            create("$id", desired("web")),
            status("new"),
            behave(Creation::Takes(Duration::ZERO), true),
            show(json!({ "status": "errored", "ip": "" })),
            then(update(|it| it.status = LoadBalancerStatus::Active)),
            show(json!({ "ip": "$ip" })),
            then(|_, known| assert_ne!(known["$ip"], "")),
        ]),
        row("a late list shows a new load balancer when its time has come", behaving(late)).asks([
            create("$id", desired("web")),
            get("/v2/load_balancers").is(200, json!({ "load_balancers": [], "meta": { "total": 0 } })),
            show(json!({ "id": "$id" })),
            then(update(|it| it.created_at -= Duration::from_secs(20))),
            get("/v2/load_balancers").is(200, json!({ "load_balancers": [{ "id": "$id" }] })),
        ]),
    ])
    .await;
}

#[tokio::test]
async fn names_lists_and_limits_at_digitalocean() {
    let names = |expected: &'static [&'static str]| {
        then(move |simulator: &Simulator, _| {
            let all = simulator.load_balancers().all();
            assert_eq!(all.iter().map(LoadBalancer::name).collect::<Vec<_>>(), expected);
        })
    };
    let first = "https://api.digitalocean.com/v2/load_balancers?page=1&per_page=10";
    let page = json!({
        "load_balancers": (13..=21).map(|it| json!({ "name": format!("web-{it}") })).collect::<Vec<_>>(),
        "meta": { "total": 19 },
        "links": { "pages": { "first": first, "prev": first, "next": null, "last": null } },
    });
    let small = |name: &str| want(with(desired(name), "droplet_ids", json!([2])));
    let reached = "you have reached the limit of load balancers for this account";
    play([
        row("a name is given once if names are unique", two()).asks([
            create("$id", desired("web")),
            want(desired("web")).refused(422, "There is already a load balancer with that name"),
            names(&["web"]),
            then(|it: &Simulator, _| it.load_balancers().behave(|it| it.names_are_unique = false)),
            create("$second", desired("web")),
            names(&["web", "web"]),
        ]),
        row("load balancers are listed in pages", two()).asks([
            then(|simulator: &Simulator, _| {
                let load_balancers = simulator.load_balancers();
                for number in 1..=21 {
                    load_balancers.insert(LoadBalancer::new(&format!("id-{number}"), &format!("web-{number}")));
                }
                load_balancers.update("id-2", |it| it.listed = false);
                load_balancers.remove("id-1");
            }),
            get("/v2/load_balancers?page=2&per_page=10").is(200, page),
            // Their ids are short, which the description does not like.
            then(|it: &Simulator, _| assert!(!it.take_violations().is_empty())),
        ]),
        row(
            "the account has a limit",
            behaving(Behaviour { limit: Some(1), targets: Some(1), ..Behaviour::default() }),
        )
        .asks([
            want(desired("web")).refused(422, "a load balancer can have at most 1 droplets"),
            small("web").status(202),
            small("another").refused(422, reached),
        ]),
    ])
    .await;
}
