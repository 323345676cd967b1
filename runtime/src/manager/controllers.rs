//! Which controllers run. No client, no clock, no log but for the start of a controller.

use ::controllers::{
    Context, Task, node, node_lifecycle, persistent_volume_labels, route, service, volume_attacher, volume_expander,
    volume_provisioner,
};
use cloud_provider::Cloud;
use k8s_openapi::api::core::v1::ObjectReference;
use tracing::{info, warn};

use crate::flags::{ControllerName, LeaseOwner, NodeIpam, RunSettings};

/// Why a controller does not run, in a sentence without its name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum SkippedController {
    /// Somebody wants it like that.
    Wanted(String),
    /// Somebody should know.
    Unwanted(String),
}

/// Why a controller does not run with these settings and this provider; `None` if it does.
pub(super) fn skipped(controller: ControllerName, settings: &RunSettings, cloud: &Cloud) -> Option<SkippedController> {
    if !settings.controllers.is_enabled(controller) {
        if !controller.is_on_by_default() {
            return Some(SkippedController::Wanted("is off: it runs where --controllers names it".to_owned()));
        }
        return Some(SkippedController::Wanted("is disabled by --controllers".to_owned()));
    }
    if controller == ControllerName::Route && !settings.routes.enabled {
        return Some(SkippedController::Wanted("is disabled by --configure-cloud-routes".to_owned()));
    }
    if LeaseOwner::of(controller, settings.leader_migration.as_ref()) == LeaseOwner::Another {
        return Some(SkippedController::Wanted("is left to another manager by --leader-migration-config".to_owned()));
    }
    let from_cloud = match (controller, &settings.node_ipam) {
        (ControllerName::NodeIpam, None) => {
            return Some(SkippedController::Wanted("is skipped: it needs --allocate-node-cidrs".to_owned()));
        }
        (_, it) => matches!(it, Some(NodeIpam::Cloud { .. })),
    };
    let (interface, is_exported) = match controller {
        ControllerName::NodeIpam => ("instances", !from_cloud || cloud.instances.is_some()),
        ControllerName::CloudNode | ControllerName::CloudNodeLifecycle => ("instances", cloud.instances.is_some()),
        ControllerName::Service => ("load-balancers", cloud.load_balancers.is_some()),
        ControllerName::Route => ("routes", cloud.routes.is_some()),
        ControllerName::PersistentVolumeLabel => ("persistent-volumes", cloud.persistent_volumes.is_some()),
        ControllerName::VolumeProvisioner | ControllerName::VolumeAttacher | ControllerName::VolumeExpander => {
            ("volumes", cloud.volumes.is_some())
        }
    };
    if !is_exported {
        let provider = &cloud.description.now().name;
        let because = format!("is skipped: the provider {provider} does not export aerostat:cloud/{interface}");
        // Most clouds have none, and nobody has asked for them.
        let is_asked_for = controller != ControllerName::Route || settings.controllers.names(controller);
        return Some(if is_asked_for {
            SkippedController::Unwanted(because)
        } else {
            SkippedController::Wanted(because)
        });
    }
    if controller == ControllerName::Route && settings.cluster_cidrs.is_empty() {
        return Some(SkippedController::Unwanted(
            "is skipped: it needs to know the networks of all pods. Give them with --cluster-cidr, or switch it off with \
             --configure-cloud-routes=false"
                .to_owned(),
        ));
    }
    None
}

/// Whether a controller runs with these settings and this provider.
pub(super) fn runs(controller: ControllerName, settings: &RunSettings, cloud: &Cloud) -> bool {
    skipped(controller, settings, cloud).is_none()
}

/// The controllers that run with these settings and this provider, under whatever Lease.
pub(super) fn running(settings: &RunSettings, cloud: &Cloud) -> Vec<ControllerName> {
    ControllerName::ALL.into_iter().filter(|it| runs(*it, settings, cloud)).collect()
}

/// The controllers that run under this Lease, with these settings and this provider. The log says why others do not.
pub(super) fn wanted<'a>(
    owner: LeaseOwner,
    settings: &'a RunSettings,
    cloud: &'a Cloud,
) -> impl Iterator<Item = ControllerName> + 'a {
    let of_migration = |it: &LeaseOwner| *it == LeaseOwner::Migration;
    let under = ControllerName::ALL.into_iter().filter(move |controller| {
        of_migration(&LeaseOwner::of(*controller, settings.leader_migration.as_ref())) == of_migration(&owner)
    });
    under.filter(move |controller| match skipped(*controller, settings, cloud) {
        Some(SkippedController::Wanted(because)) => {
            info!("{} {because}", controller.name());
            false
        }
        Some(SkippedController::Unwanted(because)) => {
            warn!("{} {because}", controller.name());
            false
        }
        None => true,
    })
}

/// A controller that [`runs`]. Events that concern no object of the cluster are about `lease`.
pub(super) fn new(
    controller: ControllerName,
    context: &Context,
    cloud: &Cloud,
    settings: &RunSettings,
    lease: Option<ObjectReference>,
) -> Option<Task> {
    match controller {
        ControllerName::CloudNode => node::new(context, cloud, settings.into()),
        ControllerName::CloudNodeLifecycle => node_lifecycle::new(context, cloud, settings.into()),
        ControllerName::Service => service::new(context, cloud, settings.into()),
        ControllerName::PersistentVolumeLabel => persistent_volume_labels::new(context, cloud),
        ControllerName::VolumeProvisioner => volume_provisioner::new(context, cloud, settings.into()),
        ControllerName::VolumeAttacher => volume_attacher::new(context, cloud, volume_attacher::Options::default()),
        ControllerName::VolumeExpander => volume_expander::new(context, cloud),
        // It is made by its own rules, beside the Leases that it needs.
        ControllerName::NodeIpam => None,
        ControllerName::Route => route::new(context, cloud, route::Options { lease, ..settings.into() }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cloud_provider::Routes;
    use scripted_cloud::ScriptedCloud;

    use super::*;

    fn cloud(has_routes: bool) -> Cloud {
        let cloud = Arc::new(ScriptedCloud::default());
        let routes = has_routes.then(|| -> Arc<dyn Routes> { cloud.clone() });
        Cloud { routes, ..cloud.offering(Arc::default()) }
    }

    /// Why the route controller does not run with these flags.
    fn of_routes(flags: &[&str], has_routes: bool) -> Option<SkippedController> {
        let settings = RunSettings::parse(["aerostat", "--cloud-config=/cloud.yaml"].iter().chain(flags)).unwrap();
        skipped(ControllerName::Route, &settings, &cloud(has_routes))
    }

    #[track_caller]
    fn check(flags: &[&str], has_routes: bool, is_warned: bool, part: &str) {
        let skipped = of_routes(flags, has_routes).expect("it does not run");
        let (SkippedController::Wanted(because) | SkippedController::Unwanted(because)) = &skipped;
        assert!(because.contains(part), "{because}");
        assert_eq!(matches!(skipped, SkippedController::Unwanted(_)), is_warned, "{flags:?}");
    }

    #[test]
    fn routes_need_a_cloud_that_has_them_and_the_clusters_networks() {
        assert_eq!(of_routes(&["--cluster-cidr=10.244.0.0/16"], true), None);
        assert_eq!(of_routes(&["--cluster-cidr=10.244.0.0/16,fd00::/56"], true), None);
        check(&[], true, true, "--cluster-cidr");
        check(&["--configure-cloud-routes=false"], true, false, "disabled by --configure-cloud-routes");
        check(&["--controllers=*,-route"], true, false, "disabled by --controllers");
        check(&["--cluster-cidr=10.244.0.0/16"], false, false, "does not export aerostat:cloud/routes");
        check(&["--controllers=route"], false, true, "does not export aerostat:cloud/routes");
    }

    #[test]
    fn volumes_are_worked_on_where_a_person_asks_for_it() {
        let without = cloud(false);
        let script = Arc::new(ScriptedCloud::default());
        let with = Cloud { volumes: Some(script.clone()), ..script.offering(Arc::default()) };
        for controller in
            [ControllerName::VolumeProvisioner, ControllerName::VolumeAttacher, ControllerName::VolumeExpander]
        {
            let skipped_with = |list: &str, cloud: &Cloud| {
                let flags = ["aerostat", "--cloud-config=/cloud.yaml", &format!("--controllers={list}")];
                skipped(controller, &RunSettings::parse(flags).unwrap(), cloud)
            };
            let name = controller.name();
            for list in ["*", &format!("*,-{name}")] {
                assert!(matches!(skipped_with(list, &with), Some(SkippedController::Wanted(_))), "{list}");
            }
            let named = format!("*,{name}");
            assert_eq!(skipped_with(&named, &with), None, "{name}");
            let asked = skipped_with(&named, &without);
            assert!(
                matches!(&asked, Some(SkippedController::Unwanted(it)) if it.contains("aerostat:cloud/volumes")),
                "{asked:?}"
            );
        }
    }

    #[test]
    fn a_controller_needs_its_interface() {
        let settings = RunSettings::parse(["aerostat", "--cloud-config=/cloud.yaml"]).unwrap();
        for controller in [ControllerName::CloudNode, ControllerName::CloudNodeLifecycle, ControllerName::Service] {
            let skipped = skipped(controller, &settings, &cloud(true));
            assert!(
                matches!(&skipped, Some(SkippedController::Unwanted(it)) if it.contains("does not export")),
                "{skipped:?}"
            );
            assert!(!runs(controller, &settings, &cloud(true)));
        }
    }
}
