//! The calls of load balancing in its version of 2015, and of subnets.

use super::SdkCall;
use crate::api::ec2::subnets;
use crate::api::elbv2::listeners::{self, ListenerContent};
use crate::api::elbv2::load_balancers::{self, SubnetMapping};
use crate::api::elbv2::target_groups::{self, ChecksChange, TargetHealth};
use crate::api::elbv2::{Attributes, TagsByKey, tags};

const FORWARD: ListenerContent<'static> =
    ListenerContent { protocol: None, policy: None, certificate: None, target_group: Some("arn:tg") };

/// A call that sends each recorded request, by the name of the recording.
pub(super) const CALLS: [SdkCall; 24] = [
    ("subnets", |host| drop(host.run(|| subnets::by_ids(["subnet-1", "subnet-2"])))),
    ("network-found", |host| drop(host.run(|| load_balancers::named("a1")))),
    ("network-page", |host| drop(host.run(|| load_balancers::page(Some("m+/="))))),
    ("network-created", |host| host.run(network)),
    ("network-deleted", |host| drop(host.run(|| load_balancers::delete("arn:lb")))),
    ("network-attributes", |host| drop(host.run(|| load_balancers::attributes("arn:lb")))),
    ("network-modified", |host| {
        let attributes = one("load_balancing.cross_zone.enabled", "true");
        drop(host.run(|| load_balancers::modify("arn:lb", &attributes)));
    }),
    ("network-groups", |host| drop(host.run(|| load_balancers::set_groups("arn:lb", &groups())))),
    ("network-addresses", |host| drop(host.run(|| load_balancers::set_address_type("arn:lb", true)))),
    ("listeners", |host| drop(host.run(|| listeners::of("arn:lb")))),
    ("listener-created", |host| {
        let content =
            ListenerContent { protocol: Some("TLS"), policy: Some("p"), certificate: Some("arn:c"), ..FORWARD };
        drop(host.run(|| listeners::create("arn:lb", 443, content, &some_tags())));
    }),
    ("listener-modified", |host| drop(host.run(|| listeners::modify("arn:l", FORWARD)))),
    ("listener-deleted", |host| drop(host.run(|| listeners::delete("arn:l")))),
    ("target-groups", |host| drop(host.run(target_groups::all))),
    ("target-group-created", |host| host.run(target_group)),
    ("target-group-modified", |host| {
        let (port, healthy, unhealthy) = (Some("80".to_owned()), Some(2), Some(3));
        let change = ChecksChange { port, healthy, unhealthy, ..ChecksChange::default() };
        drop(host.run(|| target_groups::modify("arn:tg", &change)));
    }),
    ("target-group-deleted", |host| drop(host.run(|| target_groups::delete("arn:tg")))),
    ("target-group-attributes", |host| drop(host.run(|| target_groups::attributes("arn:tg")))),
    ("target-group-attributes-modified", |host| {
        let attributes = one("preserve_client_ip.enabled", "false");
        drop(host.run(|| target_groups::modify_attributes("arn:tg", &attributes)));
    }),
    ("targets", |host| drop(host.run(|| target_groups::targets("arn:tg")))),
    ("targets-registered", |host| drop(host.run(|| target_groups::register("arn:tg", &targets())))),
    ("targets-deregistered", |host| drop(host.run(|| target_groups::deregister("arn:tg", &targets())))),
    ("tags", |host| drop(host.run(|| tags::of(&["arn:lb", "arn:tg"])))),
    ("tags-added", |host| {
        drop(host.run(|| tags::add(&["arn:lb".to_owned(), "arn:tg".to_owned()], &some_tags())));
    }),
];

fn network() {
    let mapping = |subnet: &str| SubnetMapping { subnet: subnet.to_owned(), ..SubnetMapping::default() };
    let subnets = [
        SubnetMapping { allocation: Some("eipalloc-1".to_owned()), ..mapping("subnet-1") },
        SubnetMapping { private_ipv4: Some("10.0.2.5".to_owned()), ..mapping("subnet-2") },
    ];
    drop(load_balancers::create(load_balancers::LoadBalancerCreation {
        name: "a1",
        is_internal: true,
        is_dual_stack: true,
        has_ipv6_source_nat: true,
        subnets: &subnets,
        groups: &groups(),
        tags: &some_tags(),
    }));
}

fn target_group() {
    let health = TargetHealth {
        protocol: "HTTP".to_owned(),
        port: "31000".to_owned(),
        path: Some("/healthz".to_owned()),
        interval: 10,
        timeout: Some(6),
        healthy: 2,
        unhealthy: 3,
    };
    drop(target_groups::create(target_groups::TargetGroupCreation {
        name: "k8s-a-b-1",
        protocol: "TCP",
        port: 30_080,
        vpc: "vpc-1",
        is_ipv6: true,
        health: &health,
        tags: &some_tags(),
    }));
}

fn groups() -> [String; 2] {
    ["sg-1".to_owned(), "sg-2".to_owned()]
}

fn targets() -> [(String, u16); 2] {
    ["i-1", "i-2"].map(|it| (it.to_owned(), 30_080))
}

fn some_tags() -> TagsByKey {
    [("a", "b c/+=@"), ("k", "")].map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

fn one(key: &str, value: &str) -> Attributes {
    [(key.to_owned(), value.to_owned())].into()
}
