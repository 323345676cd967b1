//! The provider's description, and its README.

use aerostat_sdk::{Effect, readme};

use super::*;

#[test]
fn it_describes_its_endpoints_and_its_annotations() {
    let description = Host::new().run(Hetzner::describe).unwrap();
    assert_eq!((&*description.name, description.get_batch_size, description.list_page_size), ("hcloud", 1, 50));
    assert_eq!(description.provider_id_prefixes, ["hcloud://", "hrobot://"]);
    let names = |host: Host| -> Vec<String> {
        host.run(Hetzner::describe).unwrap().endpoints.into_iter().map(|it| it.name).collect()
    };
    assert_eq!(names(Host::new()), ["hcloud"]);
    assert_eq!(names(Host::new().setting("robot.enabled", "true")), ["hcloud", "robot"]);
    // The vendor's 39, and one for a single port.
    let keys: std::collections::BTreeSet<_> = description.annotations.iter().map(|it| it.key.as_str()).collect();
    assert_eq!((description.annotations.len(), keys.len()), (40, 40));
    assert!(keys.iter().all(|it| it.starts_with("load-balancer.hetzner.cloud/")));
}

#[test]
fn adv_161_each_write_counts_as_what_it_does() {
    let description = Host::new().run(Hetzner::describe).unwrap();
    let paths = |effect| -> Vec<&str> {
        let rules = description.endpoints[0].allow.iter().filter(|it| it.effect == effect);
        rules.flat_map(|it| &it.paths).map(String::as_str).collect()
    };
    assert_eq!(paths(Effect::Delete), ["/load_balancers/*"]);
    assert_eq!(paths(Effect::Write), ["/load_balancers", "/load_balancers/*/actions/change_type", "/certificates"]);
    let detachments = [
        "/load_balancers/*",
        "/load_balancers/*/actions/disable_public_interface",
        "/load_balancers/*/actions/detach_from_network",
        "/load_balancers/*/actions/remove_target",
        "/load_balancers/*/actions/delete_service",
        "/networks/*/actions/delete_route",
    ];
    assert_eq!(paths(Effect::Detach), detachments, "a PUT replaces all labels");
    assert_eq!(paths(Effect::Update).len(), 8);
}

#[test]
fn settings_that_cannot_work_are_refused_at_load() {
    for (name, value, allowed) in [
        ("addressFamily", "both", "ipv4, ipv6 or dualstack"),
        ("robot.enabled", "yes", "true or false"),
        ("loadBalancers.location", "Falkenstein", "the name of a location such as fsn1"),
        ("loadBalancers.algorithm", "random", "round_robin or least_connections"),
        ("loadBalancers.privateSubnetIPRange", "10.0.0.0", "a network such as 10.0.1.0/24"),
        ("loadBalancers.healthCheckInterval", "0", "a time such as 30s, from 1s to 3600s in whole seconds"),
        ("pollInterval", "500ms", "between 1s and 5m"),
    ] {
        let refused = Host::new().setting(name, value).run(Hetzner::describe).unwrap_err();
        assert_eq!(refused, Error::invalid(format_args!("setting {name}: {value:?} is not {allowed}")));
    }
    let both = Host::new().setting("loadBalancers.location", "fsn1").setting("loadBalancers.networkZone", "eu-central");
    let why = "settings loadBalancers.location and loadBalancers.networkZone cannot both be set";
    assert_eq!(both.run(Hetzner::describe), Err(Error::invalid(why)));
}

#[test]
fn the_readme_shows_what_is_described() {
    let description = Host::new().run(Hetzner::describe).unwrap();
    let filled = readme::filled(include_str!("../../README.md"), &description, "load-balancer.hetzner.cloud/");
    // UPDATE_EXPECT=1 rewrites the file; the failure says so.
    expect_test::expect_file!["../../README.md"].assert_eq(&filled);
}
