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
    let without = settings().setting("networkLoadBalancers", "false").run(Alibaba::describe).unwrap();
    assert_eq!(without.endpoints.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["ecs", "slb", "vpc"]);
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

/// The annotations of the vendor's controller behind its prefix.
const VENDORS: &str = "\
    address-type id name resource-group-id additional-resource-tags delete-protection modification-protection \
    cert-id protocol-port idle-timeout tls-cipher-policy scheduler connection-drain connection-drain-timeout \
    ignore-weight-update preserve-lb-on-delete vswitch-id network-type charge-type force-override-listeners \
    master-zoneid slave-zoneid bandwidth spec instance-charge-type ip-version external-ip-type hostname ip \
    acl-status acl-id acl-type forward-port http2-enabled health-check-switch health-check-flag health-check-type \
    health-check-uri health-check-connect-port healthy-threshold unhealthy-threshold health-check-interval \
    health-check-connect-timeout health-check-timeout health-check-domain health-check-httpcode health-check-method \
    sticky-session sticky-session-type cookie-timeout cookie persistence-timeout vgroup-port xforwardedfor-proto \
    xforwardedfor-slbport xforwardedfor-clientsrcport request-timeout established-timeout proxy-protocol \
    domain-extensions backend-label backend-ip-version remove-unscheduled-backend weight default-weight zone-maps \
    security-group-ids bandwidth-package-id ipv6-address-type cross-zone-enabled cacert-id cacert cps \
    preserve-client-ip server-group-type ppv2-pvl-ep-id-enabled ppv2-pvl-eps-id-enabled ppv2-pvl-vpc-id-enabled alpn \
    alpn-policy listener-port-range additional-cert-ids";

#[test]
fn annotations_of_the_vendor_are_all_described() {
    let description = settings().run(Alibaba::describe).unwrap();
    let own = VENDORS.split(' ').map(|it| format!("{}{it}", crate::load_balancer::PREFIX));
    let all: Vec<String> = own.chain(["service.beta.kubernetes.io/backend-type".to_owned()]).collect();
    let lacking: Vec<&String> =
        all.iter().filter(|key| description.annotations.iter().all(|it| it.key != **key)).collect();
    assert_eq!((all.len(), lacking), (83, Vec::new()));
}

#[test]
fn the_readme_shows_what_is_described() {
    let description = settings().run(Alibaba::describe).unwrap();
    let filled = readme::filled(include_str!("../../README.md"), &description, crate::load_balancer::PREFIX);
    // UPDATE_EXPECT=1 rewrites the file; the failure says so.
    expect_test::expect_file!["../../README.md"].assert_eq(&filled);
}
