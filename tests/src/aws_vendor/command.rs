//! How AWS's own manager is started, which `make cloud-provider-aws` builds.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::clouds::aws::{CLUSTER, Simulator};
use crate::manager::built;
use crate::moto::REGION;

use super::places::Places;

/// The program, with what it is told of an account.
#[derive(Clone, Debug)]
pub struct VendorCommand {
    /// Where `make cloud-provider-aws` puts it.
    pub program: PathBuf,
    /// Those that do not depend on the cluster.
    pub arguments: Vec<String>,
    /// The key, and what keeps this machine's own configuration away.
    pub environment: Vec<(&'static str, OsString)>,
}

/// Every name that some part of cloud-provider-aws looks a service up by.
const OVERRIDDEN: [&str; 6] =
    ["EC2", "ec2", "Elastic Load Balancing", "Elastic Load Balancing v2", "elasticloadbalancing", "sts"];

impl VendorCommand {
    /// For an account with these places. The configuration goes into the file `config`. `managed_groups` says whether Network Load
    /// Balancers get security groups.
    ///
    /// # Panics
    ///
    /// Panics if the program has not been built, or the file cannot be written.
    #[must_use]
    pub fn new(cloud: &Simulator, places: &Places, config: &Path, managed_groups: bool) -> Self {
        let program = built("cloud-provider-aws", "aws-cloud-controller-manager");
        let text = configuration(&cloud.base_url(), places, managed_groups);
        std::fs::write(config, text).unwrap_or_else(|error| panic!("{}: {error}", config.display()));
        let arguments = [
            "--cloud-provider=aws".to_owned(),
            format!("--cloud-config={}", config.display()),
            format!("--cluster-name={CLUSTER}"),
        ];
        let key = cloud.moto().administrator();
        let environment = [
            ("AWS_ACCESS_KEY_ID", OsString::from(&key.id)),
            ("AWS_SECRET_ACCESS_KEY", OsString::from(&key.secret)),
            ("AWS_REGION", REGION.into()),
            ("AWS_EC2_METADATA_DISABLED", "true".into()),
            ("AWS_CONFIG_FILE", "/dev/null".into()),
            ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null".into()),
            ("AWS_CA_BUNDLE", cloud.ca_file().into()),
            ("NO_PROXY", "127.0.0.1".into()),
            ("no_proxy", "127.0.0.1".into()),
        ];
        Self { program, arguments: arguments.into(), environment: environment.into() }
    }
}

/// The configuration: everything that it would otherwise ask the metadata of its own instance for, and the counterpart's address in the
/// place of AWS's.
fn configuration(url: &str, places: &Places, managed_groups: bool) -> String {
    let mut text = format!(
        "[Global]\nZone = {REGION}a\nVPC = {}\nSubnetID = {}\nKubernetesClusterID = {CLUSTER}\n",
        places.vpc, places.subnets[0]
    );
    if managed_groups {
        text += "NLBSecurityGroupMode = Managed\n";
    }
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
