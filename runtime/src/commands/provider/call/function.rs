//! The functions of the contract that can be called.

use std::fmt;

/// A function of the contract, by the names in `wit/`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CallFunction {
    Identity,
    Get,
    ListInstances,
    CanonicalIds,
    Ensure,
    Delete,
    Batch(BatchedFunction),
    ListLoadBalancers,
    ListRoutes,
    NextHops,
    ApplyRoutes,
    GetTopology,
    Volumes(VolumeFunction),
}

/// A function about the load balancers of several Services.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum BatchedFunction {
    Ensure,
    Delete,
}

/// A function about disks for claims.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum VolumeFunction {
    Create,
    Abandon,
    Delete,
    Attach,
    Detach,
    Expand,
    Get,
    List,
}

static ALL: [(CallFunction, &str, &str); 21] = [
    (CallFunction::Identity, "provider.identity", "no argument"),
    (CallFunction::Get, "instances.get", r#"'{"name": "web-1"}'"#),
    (CallFunction::ListInstances, "instances.list", r#"'{"limit": 50}'"#),
    (CallFunction::CanonicalIds, "instances.canonical-ids", r#"'["acme://1"]'"#),
    (CallFunction::Ensure, "load-balancers.ensure", BALANCER),
    (CallFunction::Delete, "load-balancers.delete", BALANCER),
    (CallFunction::Batch(BatchedFunction::Ensure), "load-balancer-batches.ensure", BALANCERS),
    (CallFunction::Batch(BatchedFunction::Delete), "load-balancer-batches.delete", BALANCERS),
    (CallFunction::ListLoadBalancers, "load-balancer-inventory.list", r#"'{"limit": 50}'"#),
    (CallFunction::ListRoutes, "routes.list", r#"'{"limit": 50}'"#),
    (CallFunction::NextHops, "routes.next-hops", r#"'[{"destination": "10.244.1.0/24", "node": {"name": "web-1"}}]'"#),
    (
        CallFunction::ApplyRoutes,
        "routes.apply",
        r#"'[{"destination": "10.244.1.0/24", "after": {"nextHop": "10.0.0.7", "node": {"name": "web-1"}}}]'"#,
    ),
    (
        CallFunction::GetTopology,
        "persistent-volumes.get-topology",
        r#"'[{"name": "pv-1", "source": "csi.acme.example", "handle": "7"}]'"#,
    ),
    (CallFunction::Volumes(VolumeFunction::Create), "volumes.create", CLAIM),
    (CallFunction::Volumes(VolumeFunction::Abandon), "volumes.abandon", CLAIM),
    (CallFunction::Volumes(VolumeFunction::Delete), "volumes.delete", r#"'{"handle": "7"}'"#),
    (CallFunction::Volumes(VolumeFunction::Attach), "volumes.attach", ATTACHED),
    (CallFunction::Volumes(VolumeFunction::Detach), "volumes.detach", ATTACHED),
    (
        CallFunction::Volumes(VolumeFunction::Expand),
        "volumes.expand",
        r#"'{"volume": {"handle": "7"}, "bytes": 2147483648}'"#,
    ),
    (CallFunction::Volumes(VolumeFunction::Get), "volumes.get", r#"'["7"]'"#),
    (CallFunction::Volumes(VolumeFunction::List), "volumes.list", r#"'{"limit": 50}'"#),
];

const BALANCER: &str = r#"'{"owner": {"name": "web", "uid": "4711"}, "ports": [{"port": 80, "nodePort": 30080}], "nodes": [{"name": "web-1"}]}'"#;

const BALANCERS: &str = r#"'[{"owner": {"name": "web", "uid": "4711"}, "ports": [{"port": 80, "nodePort": 30080}], "nodes": [{"name": "web-1"}]}]'"#;
const CLAIM: &str = r#"'{"owner": {"name": "data", "uid": "4711"}, "bytes": 1073741824, "filesystem": "ext4"}'"#;
const ATTACHED: &str = r#"'{"volume": {"handle": "7"}, "nodeID": "web-1"}'"#;

impl CallFunction {
    /// Reads `instances.get`. The error is a sentence.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let found = ALL.iter().find(|(_, name, _)| *name == text).map(|(it, ..)| *it);
        found.ok_or_else(|| {
            let all: Vec<_> = ALL.iter().map(|(_, name, _)| *name).collect();
            format!("{text:?} is no function that can be called; write one of {}", all.join(", "))
        })
    }

    /// The interface that a provider has to export.
    pub(super) fn interface(self) -> &'static str {
        self.row().1.split('.').next().unwrap_or_default()
    }

    /// An argument, as a shell takes it.
    pub(super) fn example(self) -> &'static str {
        self.row().2
    }

    /// Whether it is about what bears the cluster's mark.
    pub(super) fn needs_cluster(self) -> bool {
        let of_the_cluster =
            ["load-balancers", "load-balancer-batches", "load-balancer-inventory", "routes", "volumes"];
        of_the_cluster.contains(&self.interface())
    }

    fn row(self) -> &'static (Self, &'static str, &'static str) {
        ALL.iter().find(|(it, ..)| *it == self).expect("each has its row")
    }
}

impl fmt::Display for CallFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::ProviderCommand;

    #[test]
    fn functions_that_help_tells_of_can_be_called() {
        let command = <ProviderCommand as clap::Subcommand>::augment_subcommands(clap::Command::new("provider"));
        let help = command.find_subcommand("call").unwrap().get_after_help().unwrap().to_string();
        let rows = help.split("Functions and their arguments").nth(1).unwrap().lines();
        let mut told = Vec::new();
        for row in rows.filter(|it| it.starts_with("  ") && !it.starts_with("   ")) {
            let names = row.trim_start().split("  ").next().unwrap();
            let interface = names.split('.').next().unwrap();
            let whole = |it: &str| if it.starts_with('.') { format!("{interface}{it}") } else { it.to_owned() };
            told.extend(names.split(", ").map(whole));
        }
        assert_eq!(told, ALL.map(|(_, name, _)| name));
    }

    #[test]
    fn functions_have_the_names_of_the_contract() {
        for (function, name, _) in &ALL {
            assert_eq!((CallFunction::parse(name), function.to_string().as_str()), (Ok(*function), *name));
        }
        let error = CallFunction::parse("instances.find").unwrap_err();
        assert!(error.contains("\"instances.find\" is no function") && error.contains("instances.get"), "{error}");
        assert!(CallFunction::Ensure.needs_cluster() && !CallFunction::Get.needs_cluster());
    }
}
