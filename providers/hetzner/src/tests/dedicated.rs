//! Dedicated servers, whose API is another one.

use super::*;

fn robot(number: u64, name: &str) -> Value {
    json!({
        "server_ip": "198.51.100.7", "server_ipv6_net": "2001:db8:9::", "server_number": number, "server_name": name,
        "product": "AX41 NVMe (x)", "dc": "FSN1-DC18", "status": "ready", "cancelled": false,
    })
}

/// Robot with these servers, and a cloud with these.
fn both(robots: Vec<Value>, servers: Vec<Value>) -> Host {
    let host = cloud(move |request| {
        let path: Vec<_> = request.path.iter().map(String::as_str).collect();
        match (&*request.endpoint, &path[..]) {
            ("robot", ["server"]) => {
                let all: Vec<_> = robots.iter().map(|it| json!({ "server": it })).collect();
                answer(200, json!(all).to_string())
            }
            ("robot", ["reset", _]) => answer(200, r#"{ "reset": { "operating_status": "shut off" } }"#),
            ("robot", _) => answer(404, r#"{ "error": { "status": 404, "code": "SERVER_NOT_FOUND" } }"#),
            _ => answer(200, json!({ "servers": servers, "meta": {} }).to_string()),
        }
    });
    host.setting("robot.enabled", "true").setting("addressFamily", "dualstack")
}

fn node(id: &str) -> Node {
    let addresses = ["10.1.0.7", "198.51.100.7"].map(Address::internal_ip).to_vec();
    Node { addresses, ..Node::named("metal").with_provider_id(id) }
}

#[test]
fn a_dedicated_server_is_found_by_both_forms_of_its_id() {
    for id in ["hrobot://7", "hcloud://bm-7"] {
        let host = both(vec![robot(7, "metal")], Vec::new());
        let found = get(&host, &node(id)).unwrap().unwrap();
        assert_eq!(host.requests(), ["GET robot /server", "GET robot /reset/7"]);
        let addresses = [
            Address::hostname("metal"),
            Address::external_ip("2001:db8:9::1"),
            Address::external_ip("198.51.100.7"),
            Address::internal_ip("10.1.0.7"),
        ];
        let expected = Instance::new("metal", "hrobot://7")
            .state(State::Stopped)
            .machine_type("AX41-NVMe-x")
            .region("fsn1")
            .zone("fsn1-dc18")
            .label("instance.hetzner.cloud/provided-by", "robot")
            .extra("robot-ipv4", "198.51.100.7")
            .addresses(addresses);
        assert_eq!(found, expected);
        let [event] = &host.events()[..] else { panic!("one warning: {:?}", host.events()) };
        assert_eq!((&*event.reason, event.about.as_deref()), ("MisconfiguredInternalIP", Some("metal")));
        assert!(event.message.starts_with("InternalIP 198.51.100.7 of node metal is left out"), "{}", event.message);
    }
}

#[test]
fn internal_addresses_are_kept_only_where_the_operator_says_so() {
    let host = both(vec![robot(7, "metal")], Vec::new()).setting("robot.forwardInternalIPs", "false");
    let found = get(&host, &node("hrobot://7")).unwrap().unwrap();
    assert_eq!(found.addresses.len(), 3);
    assert_eq!(host.events(), []);
}

#[test]
fn another_name_in_robot_is_another_node() {
    let host = both(vec![robot(7, "other")], Vec::new());
    assert_eq!(get(&host, &node("hrobot://7")), Ok(None));
    assert_eq!((&*host.events()[0].reason, host.events()[0].about.as_deref()), ("PossibleNodeDeletion", Some("metal")));
}

#[test]
fn one_that_the_list_lacks_is_asked_about_alone() {
    let host = both(Vec::new(), Vec::new());
    assert_eq!(get(&host, &node("hrobot://7")), Ok(None));
    assert_eq!(host.requests(), ["GET robot /server", "GET robot /server/7"]);
}

#[test]
fn without_robot_a_dedicated_server_is_not_absent() {
    let Err(Error::Invalid(why)) = get(&Host::new(), &node("hrobot://7")) else { panic!("it was asked about") };
    assert!(why.starts_with("node metal is the dedicated server 7, and Robot cannot be asked"), "{why}");
}

#[test]
fn one_name_in_both_is_an_error() {
    let host = both(vec![robot(7, "web-1")], vec![server(42, "web-1")]);
    let Err(Error::Invalid(why)) = get(&host, &Node::named("web-1")) else { panic!("ambiguous") };
    assert!(why.starts_with("cloud server 42 and dedicated server 7 are both called web-1"), "{why}");
    assert_eq!(host.events()[0].reason, "InstanceLookupFailed");
    let host = both(vec![robot(7, "Metal")], vec![server(42, "web-1")]);
    let found = get(&host, &Node::named("metal")).unwrap().unwrap();
    assert_eq!(found.provider_id.as_deref(), Some("hrobot://7"));
}

#[test]
fn a_list_shows_dedicated_servers_after_the_others() {
    let robots = (1..=3).map(|it| robot(it, "metal")).collect();
    let host = both(robots, vec![server(42, "web-1")]);
    let ask = |cursor: Option<&str>| host.run(|| Hetzner::list(cursor, 2)).unwrap();
    let ids = |page: &Page| page.instances.iter().map(|it| it.provider_id.clone().unwrap()).collect::<Vec<_>>();
    let first = ask(None);
    assert_eq!((ids(&first), first.next.as_deref()), (vec!["hcloud://42".to_owned()], Some("robot:1:2")));
    let second = ask(first.next.as_deref());
    assert_eq!(ids(&second), ["hrobot://1", "hrobot://2"]);
    assert_eq!(second.instances[0].addresses, [], "its node keeps its own");
    let third = ask(second.next.as_deref());
    assert_eq!((ids(&third), third.next), (vec!["hrobot://3".to_owned()], None));
}

#[test]
fn a_list_without_robot_has_a_gap() {
    let limit = r#"{ "error": { "status": 403, "code": "RATE_LIMIT_EXCEEDED", "message": "rate limit exceeded" } }"#;
    for (status, body) in [(403, limit), (401, "{}"), (500, "")] {
        let host = cloud(move |request| match &*request.endpoint {
            "robot" => answer(status, body),
            _ => answer(200, json!({ "servers": [], "meta": {} }).to_string()),
        });
        let page = host.setting("robot.enabled", "true").run(|| Hetzner::list(Some("robot:1:50"), 50)).unwrap();
        assert_eq!((page.gaps.len(), page.next), (1, None), "{status}");
    }
}

#[test]
fn a_limit_of_robot_is_waited_for() {
    let limit = r#"{ "error": { "status": 403, "code": "RATE_LIMIT_EXCEEDED", "message": "rate limit exceeded" } }"#;
    let host =
        cloud(move |_| answer(403, limit)).setting("robot.enabled", "true").setting("robot.rateLimitWait", "90s");
    let text = "GET /server at endpoint robot: 403 rate limit exceeded";
    assert_eq!(get(&host, &node("hrobot://7")), Err(Error::retry_after(Duration::from_secs(90), text)));
}
