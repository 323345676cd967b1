//! The flags, compared with upstream's.

use std::collections::BTreeSet;

use clap::Arg;

use crate::recording::{self, Flag, Reasons, reason};

/// Flags whose default is another on purpose.
const OTHER_DEFAULTS: Reasons = &[
    ("concurrent-node-syncs", "10 workers: with upstream's one, nodes that join wait for each other's questions"),
    ("concurrent-service-syncs", "10 workers: with upstream's one, each Service waits for the calls of all before it"),
    ("kube-api-qps", "no limit unless one is given"),
    ("kube-api-burst", "no limit unless one is given"),
    ("route-reconciliation-period", "10 minutes: changes of nodes are followed at once, and need no list"),
    ("help", "an action has no default"),
    ("version", "an action has no default"),
];

/// Flags that upstream registers elsewhere: in other versions, with its JSON log, or in providers' own programs.
const FURTHER: Reasons = &[
    ("cloud-node-lifecycle-monitor-nodes-workers", "in later versions"),
    ("log-json-*", "where the JSON log is registered"),
    ("node-cidr-mask-size*", "with node IPAM"),
    ("node-deletion-*", "ours: what upstream does at once, or does not ask"),
    ("route-deletion-*", "ours: what upstream deletes at once"),
    ("service-retry-base-delay", "ours: upstream's is a constant"),
    ("load-balancer-resync-period", "ours: upstream never looks"),
    ("delete-orphaned-load-balancers", "ours: upstream never looks"),
    ("load-balancer-class", "ours: upstream leaves Services with any class to others"),
    ("service-cluster-ip-range", "with node IPAM"),
    ("module-*", "ours: upstream loads no modules"),
];

fn args() -> Vec<Arg> {
    let mut command = aerostat::command();
    command.build();
    command.get_arguments().filter(|it| !it.is_positional()).cloned().collect()
}

/// Upstream writes lists in brackets.
fn default(arg: &Arg, flag: &Flag) -> String {
    let values: Vec<_> = arg.get_default_values().iter().map(|it| it.to_string_lossy()).collect();
    let value = values.join(",");
    match flag.kind.ends_with("Slice") && !value.starts_with('[') {
        true => format!("[{value}]"),
        false => value,
    }
}

/// Cases: case 229, flags
#[test]
fn every_flag_of_upstream_is_known_with_its_default() {
    let args = args();
    for flag in recording::flags() {
        let arg = args.iter().find(|it| it.get_long() == Some(&flag.name));
        let arg = arg.unwrap_or_else(|| panic!("--{} is not known", flag.name));
        assert_eq!(arg.get_short(), flag.shorthand, "--{}", flag.name);
        match reason(OTHER_DEFAULTS, &flag.name) {
            None => assert_eq!(default(arg, &flag), flag.default, "--{}", flag.name),
            Some(_) => assert_ne!(default(arg, &flag), flag.default, "--{} is listed, and no other", flag.name),
        }
    }
}

/// Cases: flags
#[test]
fn no_other_flag_is_known() {
    let known: BTreeSet<String> = recording::flags().into_iter().map(|it| it.name).collect();
    for arg in args() {
        let name = arg.get_long().expect("every flag has a long name");
        assert!(known.contains(name) || reason(FURTHER, name).is_some(), "--{name} is not upstream's");
    }
}
