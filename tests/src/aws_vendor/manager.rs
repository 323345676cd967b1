//! The manager: AWS's own, which `make cloud-provider-aws` builds, or aerostat.

use serde_json::json;

use crate::folder::Folder;
use crate::manager::{Manager, VendorManager, Who};
use crate::operator::Setup;

use super::command::VendorCommand;
use super::stage::Stage;
use super::story::Part;

/// The network of all pods.
const PODS: &str = "--cluster-cidr=10.244.0.0/16";

/// The flags of both: a node that is not Ready is asked about each second, and routes are looked at every other.
const SHARED: [&str; 2] = ["--node-monitor-period=1s", "--route-reconciliation-period=2s"];

/// Starts one of them, as a part of the story has it.
///
/// # Panics
///
/// Panics if it does not start.
pub(super) async fn start(who: Who, part: &Part, stage: &Stage) -> Manager {
    match who {
        Who::Vendor => vendor(part, stage),
        Who::Aerostat => aerostat(part, stage).await,
    }
}

fn vendor(part: &Part, stage: &Stage) -> Manager {
    let folder = Folder::new();
    let manager = VendorCommand::new(&stage.cloud, &stage.places, &folder.path("aws.conf"), part.managed_groups);
    let mut arguments = manager.arguments;
    arguments.extend([
        "--allocate-node-cidrs=true".to_owned(),
        PODS.to_owned(),
        format!("--configure-cloud-routes={}", part.routes),
    ]);
    arguments.extend(SHARED.map(str::to_owned));
    let environment: Vec<_> = manager.environment.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    Manager::Vendor(VendorManager::start(&manager.program, folder, &stage.cluster, &arguments, &environment))
}

async fn aerostat(part: &Part, stage: &Stage) -> Manager {
    let Setup { config, flags, port, .. } = &stage.setup;
    let mut setup = Setup { folder: Folder::new(), config: config.clone(), flags: flags.clone(), port: *port }
        .flags(&SHARED)
        .flags(&["--node-deletion-warm-up=1s", "--node-deletion-grace-period=1s", "--service-retry-base-delay=500ms"]);
    if part.routes {
        setup = setup.flags(&[PODS, "--configure-cloud-routes=true", "--route-deletion-warm-up=0s"]);
    }
    if part.managed_groups {
        setup = setup.edit(|it| it["provider"]["settings"]["loadBalancers.nlbSecurityGroupMode"] = json!("Managed"));
    }
    Manager::Aerostat(setup.started().await, Some(Box::new(setup)))
}
