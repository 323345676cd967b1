//! OpenStack: a simulated region, beside the recorded figures of OpenStack's own manager (`tests/golden/openstack/README.md`). Requests count
//! here, but for those of Keystone, which the recordings leave out, and the time where changes of load balancers take theirs.

pub(crate) mod balancers;
pub(crate) mod nodes;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;
use tests::clouds::openstack::{APPLICATION_CREDENTIAL, Behaviour, Options, SECRET, Simulator, Taking, World};
use tests::guests;
use tests::simulator::Recorded;
use tests::vendor::manifest::cloud_config;
use tests::vendor::openstack::{credential, endpoints};
use tests::vendor::{OpenStack, Vendor as _};

use crate::account::{Account, Config};
use crate::cloud::{LATENCY, name};

/// A region with a server for each node, where a load balancer is PENDING for so long after each write. Its answers are not checked: that
/// would be measured too.
pub(crate) async fn simulator(nodes: usize, provisioning: Duration) -> Result<Simulator> {
    let behaviour = Behaviour { provisioning: Taking::Time(provisioning), ..Behaviour::default() };
    let cloud = Simulator::start(Options { latency: LATENCY, checked: false, ..Options::with(behaviour) }).await?;
    cloud.with(World::build_plain);
    for number in 0..nodes {
        let id = u16::try_from(number + 1)?;
        cloud.with(|world| _ = world.add_node(id, &name(number), None));
    }
    Ok(cloud)
}

/// Requests to the services.
pub(crate) fn asked(requests: &[Recorded]) -> impl Iterator<Item = &Recorded> {
    requests.iter().filter(|it| !it.path.starts_with("/identity/"))
}

/// Reads and writes, as in "10 + 5".
pub(crate) fn reads_and_writes(requests: &[Recorded]) -> String {
    let (reads, writes): (Vec<_>, Vec<_>) = asked(requests).partition(|it| it.method.is_safe());
    format!("{} + {}", reads.len(), writes.len())
}

impl Account for Simulator {
    fn token(&self) -> &str {
        &self.token
    }

    fn page(&self) -> &'static str {
        OpenStack::PAGE
    }

    fn arguments(&self) -> Result<Vec<String>> {
        bail!("the baseline does not know OpenStack")
    }

    /// As it is shipped, with an application credential.
    fn config(&self, folder: &Path) -> Result<Config> {
        let [id, secret] = ["openstack-id", "openstack-secret"].map(|it| folder.join(it));
        fs::write(&id, APPLICATION_CREDENTIAL)?;
        fs::write(&secret, SECRET)?;
        let mut provider = cloud_config(OpenStack::MANIFEST)["provider"].take();
        provider["module"] =
            json!({ "file": { "path": guests::OPENSTACK, "sha256": guests::sha256(guests::OPENSTACK) } });
        provider["settings"] = OpenStack::SETTINGS.iter().copied().collect();
        let endpoints = endpoints(self).as_array().cloned().unwrap_or_default();
        Ok(Config { provider, endpoints, credential: credential(self, &id, &secret) })
    }
}
