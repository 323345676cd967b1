//! The description, and the page.

use aerostat_sdk::{Error, Provider, readme, testing};

use super::*;
use crate::Alibaba;

#[test]
fn endpoints_are_those_of_the_region() {
    let description = settings().run(Alibaba::describe).unwrap();
    let places: Vec<_> = description.endpoints.iter().map(|it| (&*it.name, &*it.example_base_url)).collect();
    assert_eq!(
        places,
        [
            ("ecs", "https://ecs.cn-hangzhou.aliyuncs.com"),
            ("slb", "https://slb.cn-hangzhou.aliyuncs.com"),
            ("nlb", "https://nlb.cn-hangzhou.aliyuncs.com"),
            ("vpc", "https://vpc.cn-hangzhou.aliyuncs.com"),
        ]
    );
    for endpoint in &description.endpoints {
        assert_eq!(endpoint.parameters, [("RegionId".to_owned(), "cn-hangzhou".to_owned())]);
    }
    assert!(Host::new().run(Alibaba::describe).is_ok(), "before anything is configured");
}

#[test]
fn settings_that_cannot_work_are_refused() {
    for (name, value) in [
        ("region", "cn hangzhou"),
        ("vpc", "hangzhou"),
        ("vpc", "vpc-"),
        ("routeTable", "main"),
        ("dualStack", "IPv6"),
        ("clusterID", "a b"),
        ("vswitches", "b"),
    ] {
        let right = [("region", "cn-hangzhou"), ("vpc", "vpc-1")].into_iter().filter(|(it, _)| *it != name);
        let host = right.fold(Host::new().setting(name, value), |host, (name, value)| host.setting(name, value));
        let refused = host.run(Alibaba::describe).unwrap_err();
        assert!(matches!(&refused, Error::Invalid(why) if why.contains(name) && why.contains(value)), "{refused:?}");
    }
}

#[test]
fn the_description_has_no_warnings() {
    let description = settings().run(Alibaba::describe).unwrap();
    assert_eq!(testing::warnings(&description), [""; 0]);
    assert_eq!((&*description.name, description.list_page_size), ("alicloud", 100));
}

#[test]
fn the_readme_shows_what_is_described() {
    let description = settings().run(Alibaba::describe).unwrap();
    let filled = readme::filled(include_str!("../../README.md"), &description, crate::load_balancer::PREFIX);
    // UPDATE_EXPECT=1 rewrites the file; the failure says so.
    expect_test::expect_file!["../../README.md"].assert_eq(&filled);
}
