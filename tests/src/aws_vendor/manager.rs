//! The manager: AWS's own, which `make cloud-provider-aws` builds, or aerostat.

use serde_json::json;

use crate::folder::Folder;
use crate::loopback::Program;
use crate::operator::{Process, Setup};

use super::command::VendorCommand;
use super::stage::Stage;
use super::story::Part;

/// Which of the two.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Who {
    /// cloud-provider-aws.
    Vendor,
    /// Ours.
    Aerostat,
}

/// One of them at work. Dropping it ends it.
pub enum Manager {
    /// cloud-provider-aws, and its files.
    Vendor(Running),
    /// Ours, and its files.
    Aerostat(Process, Box<Setup>),
}

/// cloud-provider-aws, and its files.
pub struct Running {
    // First: the program ends before its folder goes.
    _program: Program,
    folder: Folder,
}

/// The network of all pods.
const PODS: &str = "--cluster-cidr=10.244.0.0/16";

/// The flags of both: a node that is not Ready is asked about each second, and routes are looked at every other.
const SHARED: [&str; 2] = ["--node-monitor-period=1s", "--route-reconciliation-period=2s"];

impl Manager {
    /// Starts one of them, as a part of the story has it.
    ///
    /// # Panics
    ///
    /// Panics if it does not start.
    pub async fn start(who: Who, part: &Part, stage: &Stage) -> Manager {
        match who {
            Who::Vendor => vendor(part, stage),
            Who::Aerostat => aerostat(part, stage).await,
        }
    }

    /// Ends it, and waits until it has ended.
    pub async fn stop(self) {
        match self {
            Manager::Vendor(running) => drop(running),
            Manager::Aerostat(process, _setup) => process.stop().await,
        }
    }

    /// The end of what cloud-provider-aws has said. Aerostat says it in events.
    #[must_use]
    pub fn log_tail(&self) -> String {
        let Manager::Vendor(Running { folder, .. }) = self else { return String::new() };
        let log = std::fs::read(folder.path("manager.log")).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(6_000)..]).into_owned()
    }
}

fn vendor(part: &Part, stage: &Stage) -> Manager {
    let folder = Folder::new();
    let manager = VendorCommand::new(&stage.cloud, &stage.places, &folder.path("aws.conf"), part.managed_groups);
    let mut arguments = manager.arguments;
    arguments.extend([
        format!("--kubeconfig={}", stage.cluster.control_plane.admin_kubeconfig().display()),
        "--secure-port=0".to_owned(),
        "--leader-elect=false".to_owned(),
        "--allocate-node-cidrs=true".to_owned(),
        PODS.to_owned(),
        format!("--configure-cloud-routes={}", part.routes),
    ]);
    arguments.extend(SHARED.map(str::to_owned));
    let environment: Vec<_> = manager.environment.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    let log = folder.path("manager.log");
    let program = Program::start(&manager.program, &arguments, &environment, Some(&log));
    Manager::Vendor(Running { _program: program, folder })
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
    Manager::Aerostat(setup.started().await, Box::new(setup))
}
