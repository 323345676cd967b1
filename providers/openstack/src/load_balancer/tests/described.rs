//! The provider's description, and its README.

use aerostat_sdk::{Effect, Provider as _, readme, testing};

use super::*;

fn described(settings: &[(&str, &str)]) -> aerostat_sdk::Description {
    let host = Host::new().setting("region", "RegionOne");
    let host = settings.iter().fold(host, |it, (name, value)| it.setting(name, value));
    host.run(OpenStack::describe).unwrap()
}

#[test]
fn all_annotations_of_openstacks_own_controller_are_there() {
    let description = described(&[]);
    assert_eq!(testing::warnings(&description), [""; 0]);
    let keys: std::collections::BTreeSet<_> = description.annotations.iter().map(|it| it.key.as_str()).collect();
    let own = keys.iter().filter(|it| it.starts_with("loadbalancer.openstack.org/")).count();
    // 31, one of which has another beginning, and the deprecated one for source ranges.
    assert_eq!((keys.len(), own), (32, 30));
    assert_eq!(description.writes_annotations.len(), 2);
}

#[test]
fn the_key_manager_is_asked_only_where_it_keeps_certificates() {
    let names = |description: aerostat_sdk::Description| -> Vec<String> {
        description.endpoints.into_iter().map(|it| it.name).collect()
    };
    assert_eq!(names(described(&[])), ["compute", "network", "load-balancer"]);
    let with = described(&[("loadBalancers.containerStore", "barbican")]);
    assert_eq!(names(with), ["compute", "network", "load-balancer", "key-manager"]);
}

#[test]
fn each_write_to_load_balancers_counts_as_what_it_does() {
    let description = described(&[]);
    let endpoint = description.endpoints.iter().find(|it| it.name == "load-balancer").unwrap();
    let paths = |effect| -> Vec<&str> {
        endpoint.allow.iter().filter(|it| it.effect == effect).flat_map(|it| &it.paths).map(String::as_str).collect()
    };
    assert_eq!(paths(Effect::Delete), ["/v2.0/lbaas/loadbalancers/*"]);
    assert_eq!(paths(Effect::Write), ["/v2.0/lbaas/loadbalancers"]);
    assert_eq!(paths(Effect::Detach).len(), 6, "the PUT of members replaces them");
}

#[test]
fn the_readme_shows_what_is_described() {
    let filled = readme::filled(include_str!("../../../README.md"), &described(&[]), "loadbalancer.openstack.org/");
    // UPDATE_EXPECT=1 rewrites the file; the failure says so.
    expect_test::expect_file!["../../../README.md"].assert_eq(&filled);
}
