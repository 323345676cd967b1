//! The default that `aerostat run --help` prints for a flag, against the value that is in effect without the flag.

use std::fmt::Debug;

use ::controllers::{node, node_lifecycle, route, service};

use super::*;

/// The settings without a flag but those without which a flag cannot count.
fn settings() -> RunSettings {
    let switches = [
        "--allocate-node-cidrs",
        "--cluster-cidr=10.0.0.0/16,fd00::/56",
        "--feature-gates=CloudControllerManagerWebhook=true",
        "--webhooks=*",
        "--webhook-cert-dir=/c",
    ];
    RunSettings::parse(["aerostat", "--cloud-config=/cloud.yaml"].iter().chain(&switches)).unwrap()
}

/// The value in effect, as far as it can be seen in what the controllers are given.
fn in_effect(flag: &str) -> Option<String> {
    let settings = settings();
    let bare = RunSettings::parse(["aerostat", "--cloud-config=/cloud.yaml"]).unwrap();
    let (node, lifecycle) = (node::Options::from(&settings), node_lifecycle::Options::from(&settings));
    let (service, route) = (service::Options::from(&settings), route::Options::from(&settings));
    let (election, serving) = (settings.leader_election.unwrap(), settings.serving.unwrap());
    let webhooks = settings.webhooks.unwrap();
    let masks = |family: fn(&IpNet) -> bool, upstreams: u8| match &settings.node_ipam {
        Some(NodeIpam::Range { clusters, .. }) => {
            let mask = clusters.iter().find(|(cluster, _)| family(cluster)).map(|(_, mask)| *mask);
            // The help says which length 0 stands for.
            mask.map(|it| if it == upstreams { 0 } else { it })
        }
        _ => None,
    };
    let all = ControllerName::ALL.iter().all(|it| settings.controllers.is_enabled(*it) == it.is_on_by_default());
    Some(match flag {
        "cluster-name" => service.cluster_name,
        "controllers" if all => "*".to_owned(),
        "concurrent-node-syncs" => text(node.syncs),
        // The help says that 0 is the number of --concurrent-node-syncs.
        "concurrent-node-status-updates" => {
            text(if node.status_updates == node.syncs { 0 } else { node.status_updates })
        }
        "node-status-update-frequency" => text(node.status_update_frequency),
        "node-monitor-period" => text(lifecycle.monitor_period),
        "node-deletion-warm-up" => text(lifecycle.warm_up),
        "node-deletion-grace-period" => text(lifecycle.grace),
        "node-deletion-budget" => text(lifecycle.budget.percent),
        "node-deletion-budget-window" => text(lifecycle.budget.window),
        "concurrent-service-syncs" => text(service.syncs),
        "service-retry-base-delay" => text(service.retry_base),
        "load-balancer-resync-period" => text(service.inventory.resync_period),
        "delete-orphaned-load-balancers" => text(service.inventory.delete_orphans),
        "configure-cloud-routes" => text(settings.routes.enabled),
        "route-reconciliation-period" => text(route.period.unwrap_or(route::PERIOD)),
        "route-deletion-warm-up" => text(route.warm_up),
        "route-deletion-budget" => text(route.budget.percent),
        "route-deletion-budget-window" => text(route.budget.window),
        "leader-elect" => text(bare.leader_election.is_some()),
        "leader-elect-lease-duration" => text(election.lease_duration),
        "leader-elect-renew-deadline" => text(election.renew_deadline),
        "leader-elect-retry-period" => text(election.retry_period),
        // The only lock that there is.
        "leader-elect-resource-lock" => "leases".to_owned(),
        "leader-elect-resource-name" => election.name,
        "leader-elect-resource-namespace" => election.namespace,
        "enable-leader-migration" => text(bare.leader_migration.is_some()),
        "allocate-node-cidrs" => text(bare.node_ipam.is_some()),
        "cidr-allocator-type" if matches!(settings.node_ipam, Some(NodeIpam::Range { .. })) => "RangeAllocator".into(),
        "node-cidr-mask-size" | "node-cidr-mask-size-ipv4" => text(masks(|it| it.addr().is_ipv4(), 24)?),
        "node-cidr-mask-size-ipv6" => text(masks(|it| it.addr().is_ipv6(), 64)?),
        "bind-address" => text(serving.address.ip()),
        "secure-port" => text(serving.address.port()),
        "webhook-bind-address" => text(webhooks.address.ip()),
        "webhook-secure-port" => text(webhooks.address.port()),
        "v" => text(settings.log.verbosity),
        "logging-format" => text(settings.log.format).to_lowercase(),
        _ => return None,
    })
}

fn text(value: impl Debug) -> String {
    format!("{value:?}")
}

/// A duration as [`text`] writes it, and everything else as it is.
fn normal(printed: &str) -> String {
    let has_unit = printed.starts_with(char::is_numeric) && printed.ends_with(['s', 'm', 'h']);
    if has_unit { text(go_duration::parse(printed).unwrap()) } else { printed.to_owned() }
}

#[test]
fn every_default_that_is_printed_is_in_effect() {
    let mut printed = 0;
    for flag in command().get_arguments().filter(|it| !it.is_hide_set() && !it.is_hide_default_value_set()) {
        let defaults: Vec<_> = flag.get_default_values().iter().map(|it| normal(&it.to_string_lossy())).collect();
        if let Some(name) = flag.get_long().filter(|_| !defaults.is_empty()) {
            printed += 1;
            let value = in_effect(name);
            assert_eq!(value.as_ref(), Some(&defaults.join(",")), "--{name}");
        }
    }
    assert!(printed > 30, "only {printed} flags print a default");
}
