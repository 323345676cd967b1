//! The instance of a node, lists of them, the project's identity, and volumes.

use aerostat_sdk::{
    Address, Error, Instance, Instances, Node, PersistentVolumes, Provider, Result, State, Topology, Volume, readme,
    testing,
};

use super::*;
use crate::Gcp;

fn by_id(zone: &str) -> Node {
    Node::named("node-1").with_provider_id(format!("gce://p1/{zone}/node-1"))
}

fn one() -> Zones {
    Zones { instances: vec![instance("europe-west1-b", "node-1")], ..Zones::default() }
}

fn get(host: &Host, node: &Node) -> Result<Option<Instance>> {
    host.run(|| Gcp::get(node))
}

fn expected() -> Instance {
    Instance::new("node-1", "gce://p1/europe-west1-b/node-1")
        .machine_type("e2-standard-2")
        .zone("europe-west1-b")
        .region("europe-west1")
        .addresses([
            Address::internal_ip("10.132.0.2"),
            Address::external_ip("198.51.100.2"),
            Address::internal_dns("node-1.europe-west1-b.c.p1.internal"),
            Address::hostname("node-1"),
        ])
        .extra("tag", "node")
        .extra("subnet", "default")
}

/// The answer about the one instance, changed.
fn changed(change: impl FnOnce(&mut Value)) -> Instance {
    let mut zones = one();
    change(&mut zones.instances[0]);
    get(&zones.host(), &by_id("europe-west1-b")).unwrap().unwrap()
}

#[test]
fn gcp_001_and_002_and_013_instances_are_found_by_their_ids() {
    let host = one().host();
    assert_eq!(get(&host, &by_id("europe-west1-b")), Ok(Some(expected())));
    assert_eq!(get(&host, &by_id("europe-west1-c")), Ok(None));
    assert_eq!(host.requests().len(), 2);
    assert!(host.requests()[0].starts_with("GET compute /zones/europe-west1-b/instances/node-1?fields=name,zone"));
}

#[test]
fn absence_is_told_by_the_api_alone() {
    for body in ["", "<html>", r#"{ "error": { "code": 404, "message": "no route" } }"#] {
        let host = settings().answers(move |_| answer(404, body));
        assert!(matches!(get(&host, &by_id("europe-west1-b")), Err(Error::Unavailable(_))), "{body}");
    }
    let host = settings().answers(|_| refused(503, "backendError"));
    assert!(matches!(get(&host, &by_id("europe-west1-b")), Err(Error::Unavailable(_))));
}

#[test]
fn gcp_005_and_006_refusals_are_sorted_by_their_reasons() {
    let ask = |status, reason: &'static str| {
        get(&settings().answers(move |_| refused(status, reason)), &by_id("europe-west1-b")).unwrap_err()
    };
    assert!(matches!(ask(403, "rateLimitExceeded"), Error::RetryAfter(_)));
    assert!(matches!(ask(429, "userRateLimitExceeded"), Error::RetryAfter(_)));
    assert!(
        matches!(ask(403, "accessNotConfigured"), Error::Denied(why) if why.contains("Enable the Compute Engine API"))
    );
    assert!(matches!(ask(403, "forbidden"), Error::Denied(_)));
    assert!(ask(403, "quotaExceeded").is_quota());
    assert!(matches!(ask(400, "invalid"), Error::Invalid(_)));
    assert!(matches!(ask(400, "resourceNotReady"), Error::Unavailable(_)));
}

#[test]
fn gcp_004_stopped_instances_are_those_that_were_stopped() {
    for status in ["TERMINATED", "STOPPED", "SUSPENDED"] {
        assert_eq!(changed(|it| it["status"] = json!(status)).state, State::Stopped, "{status}");
    }
    for status in
        ["PROVISIONING", "STAGING", "RUNNING", "STOPPING", "SUSPENDING", "REPAIRING", "PENDING", "PENDING_STOP"]
    {
        assert_eq!(changed(|it| it["status"] = json!(status)).state, State::Running, "{status}");
    }
}

#[test]
fn gcp_007_and_008_ids_of_other_projects_ask_nothing() {
    for id in ["aws:///z/i-1", "gce://p2/europe-west1-b/node-1"] {
        let refused = get(&settings(), &Node::named("node-1").with_provider_id(id));
        assert!(matches!(refused, Err(Error::Invalid(why)) if why.contains(id)));
    }
}

#[test]
fn gcp_009_nodes_without_ids_are_found_by_their_names() {
    let host = one().host();
    let whole = Node::named("node-1.c.p1.internal");
    let found = get(&host, &whole).unwrap().unwrap();
    assert_eq!(found.provider_id.as_deref(), Some("gce://p1/europe-west1-b/node-1"));
    assert_eq!(found.addresses.last(), Some(&Address::hostname("node-1.c.p1.internal")));
    assert_eq!(get(&host, &Node::named("node-2")), Ok(None));
    assert_eq!(get(&settings(), &Node::named("Node_1")), Ok(None));
    assert_eq!(host.requests().len(), 2);
}

#[test]
fn gcp_009_names_that_two_zones_have_are_refused() {
    let mut zones = one();
    zones.instances.push(instance("us-east1-b", "node-1"));
    assert!(get(&zones.clone().host(), &Node::named("node-1")).unwrap().is_some(), "another region's is no node");
    zones.instances.push(instance("europe-west1-c", "node-1"));
    let host = zones.host();
    assert!(matches!(get(&host, &Node::named("node-1")), Err(Error::Invalid(why)) if why.contains("europe-west1-c")));
    assert_eq!(host.events().len(), 1);
}

#[test]
fn gcp_003_zones_without_answer_prove_no_absence() {
    let zones = Zones { warnings: vec![("europe-west1-c", "UNREACHABLE")], ..one() };
    let asked = get(&zones.clone().host(), &Node::named("node-2"));
    assert!(matches!(asked, Err(Error::Unavailable(why)) if why.contains("europe-west1-c")));
    let page = zones.host().run(|| Gcp::list(None, 500)).unwrap();
    let [gap] = &page.gaps[..] else { panic!("{:?}", page.gaps) };
    assert_eq!((gap.zone.as_deref(), page.instances.len()), (Some("europe-west1-c"), 1));
    let elsewhere = Zones { warnings: vec![("us-east1-b", "UNREACHABLE")], ..one() };
    assert!(elsewhere.host().run(|| Gcp::list(None, 500)).unwrap().gaps.is_empty());
}

#[test]
fn gcp_010_to_012_addresses_follow_the_interfaces() {
    let ips = |change: &dyn Fn(&mut Value), stack: &str| {
        let mut zones = one();
        change(&mut zones.instances[0]["networkInterfaces"][0]);
        let host = settings().setting("stackType", stack).answers(move |request| zones.answer(request));
        let found = get(&host, &by_id("europe-west1-b")).unwrap().unwrap();
        found.addresses.iter().map(|it| it.value.clone()).take(found.addresses.len() - 2).collect::<Vec<_>>()
    };
    assert_eq!(ips(&|it| it["accessConfigs"][0]["natIP"] = json!(""), "IPV4"), ["10.132.0.2"]);
    let both = |it: &mut Value| it["ipv6Address"] = json!("fd20::2");
    assert_eq!(ips(&both, "IPV4_IPV6"), ["10.132.0.2", "198.51.100.2", "fd20::2"]);
    assert_eq!(ips(&both, "IPV6"), ["fd20::2", "10.132.0.2", "198.51.100.2"]);
    let outer = |interface: &mut Value| {
        interface["ipv6AccessType"] = json!("EXTERNAL");
        interface["ipv6AccessConfigs"] = json!([{ "externalIpv6": "2001:db8::1" }, { "externalIpv6": "2001:db8::2" }]);
    };
    assert_eq!(ips(&outer, "IPV4_IPV6").last().map(String::as_str), Some("2001:db8::2"));
}

#[test]
fn gcp_014_many_instances_are_pages_of_one_list() {
    let zone = |it: usize| ["europe-west1-b", "europe-west1-c", "us-east1-b"][it % 3];
    let host =
        Zones { instances: (0..1_200).map(|it| instance(zone(it), &format!("n-{it}"))).collect(), ..Zones::default() }
            .host();
    let (mut cursor, mut names) = (None, 0);
    loop {
        let page = host.run(|| Gcp::list(cursor.as_deref(), 500)).unwrap();
        assert!(page.gaps.is_empty());
        names += page.instances.len();
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((names, host.requests().len()), (800, 3));
    assert!(host.requests()[1].ends_with("&pageToken=500"));
}

#[test]
fn identity_is_made_of_numbers() {
    let host = settings().setting("networkProject", "host-1").setting("network", "shared");
    let host = host.answers(|request| match &*path_of(request, "host-1").join("/") {
        "projects/p1" => answer(200, r#"{ "id": "11", "name": "p1" }"#),
        "projects/host-1" => answer(200, r#"{ "id": "22", "name": "host-1" }"#),
        "projects/host-1/global/networks/shared" => answer(200, r#"{ "id": "33" }"#),
        _ => refused(404, "notFound"),
    });
    let identity = host.run(Gcp::identity).unwrap();
    assert_eq!(identity.as_deref(), Some("project 11, network 33 of project 22, region europe-west1"));
    let refused = settings().answers(|_| refused(404, "notFound")).run(Gcp::identity);
    assert!(matches!(refused, Err(Error::Invalid(why)) if why.contains("setting project")));
    let other = settings().answers(|_| answer(200, r#"{ "id": "11", "name": "p2" }"#)).run(Gcp::identity);
    let why = "baseUrl of endpoint compute leads to project p2, and setting project says p1";
    assert!(matches!(&other, Err(Error::Invalid(it)) if it.contains(why)), "{other:?}");
}

#[test]
fn volumes_are_where_their_handles_say() {
    let ask = |handle: &str| {
        let volume = Volume {
            name: "pv".to_owned(),
            source: "pd.csi.storage.gke.io".to_owned(),
            handle: handle.to_owned(),
            attributes: Vec::new(),
            extra: Vec::new(),
        };
        settings().run(|| Gcp::get_topology(&volume))
    };
    let place = Topology::new(Some("europe-west1".to_owned()), ["europe-west1-b"]);
    assert_eq!(ask("projects/p1/zones/europe-west1-b/disks/data-1"), Ok(Some(place)));
    let region = Topology::new(Some("europe-west1".to_owned()), [""; 0]);
    assert_eq!(ask("projects/p1/regions/europe-west1/disks/data-1"), Ok(Some(region)));
    for handle in ["", "data-1", "projects/p1/zones/europe-west1-b/disks/", "projects/p1/zones/../disks/d", "vol-1"] {
        assert!(matches!(ask(handle), Err(Error::Invalid(why)) if why.contains(&format!("{handle:?}"))));
    }
}

#[test]
fn the_description_has_no_warnings() {
    let description = settings().run(<Gcp as Provider>::describe).unwrap();
    assert_eq!(testing::warnings(&description), [""; 0]);
    assert_eq!((&*description.name, description.list_page_size), ("gce", 500));
}

#[test]
fn the_readme_shows_what_is_described() {
    let description = settings().run(<Gcp as Provider>::describe).unwrap();
    let filled = readme::filled(include_str!("../../README.md"), &description, "networking.gke.io/");
    // UPDATE_EXPECT=1 rewrites the file; the failure says so.
    expect_test::expect_file!["../../README.md"].assert_eq(&filled);
}
