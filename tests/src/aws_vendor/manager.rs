//! Who manages: AWS's own manager, which `make cloud-provider-aws` builds, or aerostat.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::clouds::aws::CLUSTER;
use crate::loopback::Program;
use crate::moto::REGION;
use crate::operator::{Folder, Process, Setup};

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

/// Every name that some part of cloud-provider-aws looks a service up by.
const OVERRIDDEN: [&str; 6] =
    ["EC2", "ec2", "Elastic Load Balancing", "Elastic Load Balancing v2", "elasticloadbalancing", "sts"];

/// The network of all pods.
const PODS: &str = "--cluster-cidr=10.244.0.0/16";

/// What both are told alike: a node that is not Ready is asked about each second, and routes are looked at every other.
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

/// Where `make cloud-provider-aws` puts it.
fn binary() -> PathBuf {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/cloud-provider-aws").join("aws-cloud-controller-manager");
    assert!(path.is_file(), "there is no {}. Next step: make cloud-provider-aws", path.display());
    path
}

/// The configuration: everything that it would otherwise ask the metadata of its own instance for, and the counterpart's address in the
/// place of AWS's.
fn configuration(part: &Part, stage: &Stage) -> String {
    let places = &stage.places;
    let mut text = format!(
        "[Global]\nZone = {REGION}a\nVPC = {}\nSubnetID = {}\nKubernetesClusterID = {CLUSTER}\n",
        places.vpc, places.subnets[0]
    );
    if part.managed_groups {
        text += "NLBSecurityGroupMode = Managed\n";
    }
    let url = stage.cloud.base_url();
    for (number, service) in OVERRIDDEN.iter().enumerate() {
        let signed =
            if service.starts_with("Elastic") { "elasticloadbalancing".to_owned() } else { service.to_lowercase() };
        let lines = [
            format!("[ServiceOverride \"{number}\"]"),
            format!("Service = {service}"),
            format!("Region = {REGION}"),
            format!("URL = {url}"),
            format!("SigningRegion = {REGION}"),
            format!("SigningName = {signed}"),
        ];
        let _ = writeln!(text, "{}", lines.join("\n"));
    }
    text
}

fn vendor(part: &Part, stage: &Stage) -> Manager {
    let folder = Folder::new();
    let config = folder.write("aws.conf", configuration(part, stage));
    let mut arguments = vec![
        "--cloud-provider=aws".to_owned(),
        format!("--cloud-config={}", config.display()),
        format!("--kubeconfig={}", stage.cluster.control_plane.admin_kubeconfig().display()),
        format!("--cluster-name={CLUSTER}"),
        "--secure-port=0".to_owned(),
        "--leader-elect=false".to_owned(),
        "--allocate-node-cidrs=true".to_owned(),
        PODS.to_owned(),
        format!("--configure-cloud-routes={}", part.routes),
    ];
    arguments.extend(SHARED.map(str::to_owned));
    let key = stage.cloud.moto().administrator();
    let (authority, none) = (stage.cloud.ca_file(), OsStr::new("/dev/null"));
    let environment = [
        ("AWS_ACCESS_KEY_ID", OsStr::new(&key.id)),
        ("AWS_SECRET_ACCESS_KEY", OsStr::new(&key.secret)),
        ("AWS_REGION", OsStr::new(REGION)),
        ("AWS_EC2_METADATA_DISABLED", OsStr::new("true")),
        ("AWS_CONFIG_FILE", none),
        ("AWS_SHARED_CREDENTIALS_FILE", none),
        ("AWS_CA_BUNDLE", authority.as_os_str()),
        ("NO_PROXY", OsStr::new("127.0.0.1")),
        ("no_proxy", OsStr::new("127.0.0.1")),
    ];
    let log = folder.path("manager.log");
    let program = Program::start(&binary(), &arguments, &environment, Some(&log));
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
