//! Azure: a simulated subscription, beside the recorded figures of the vendor's own manager (`tests/golden/azure/README.md`, and the stories
//! of the issue). Requests count here, and the time where operations take theirs.

pub(crate) mod balancers;
pub(crate) mod large;
pub(crate) mod nodes;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;
use tests::clouds::azure::{
    Behaviour, CLIENT, GROUP, Kind, Options, SECRET, SUBSCRIPTION, Simulator, TENANT, Taking, World,
};
use tests::guests;
use tests::simulator::Recorded;
use tests::vendor::manifest::cloud_config;
use tests::vendor::{AzureCloud, Vendor as _};

use crate::account::{Account, Config};
use crate::cloud::{LATENCY, name};

/// A subscription whose operations take so long. Its answers are not checked: that would be measured too.
async fn subscription(operation: Duration) -> Result<Simulator> {
    let behaviour = Behaviour { operations: Taking::Time(operation), ..Behaviour::default() };
    let cloud = Simulator::start(Options { latency: LATENCY, checked: false, ..Options::with(behaviour) }).await?;
    cloud.with(World::build_plain);
    Ok(cloud)
}

/// One with a machine for each node.
pub(crate) async fn simulator(nodes: usize, operation: Duration) -> Result<Simulator> {
    let cloud = subscription(operation).await?;
    for number in 0..nodes {
        let id = u32::try_from(number + 1)?;
        cloud.with(|world| _ = world.add_machine(id, &name(number)));
    }
    Ok(cloud)
}

/// One with a uniform scale set, whose machines are called as the nodes.
pub(crate) async fn scale_set(nodes: usize, operation: Duration) -> Result<Simulator> {
    let cloud = subscription(operation).await?;
    cloud.with(|world| {
        world.add_scale_set("pool1");
        (0..nodes).for_each(|number| add_instance(world, "pool1", number));
    });
    Ok(cloud)
}

/// The load balancers of a cluster that has more Services than one has rules for, each with the scale set that is behind it.
const SEVERAL: [(&str, &str); 3] = [("kubernetes", "pool1"), ("lb2", "pool2"), ("lb3", "pool3")];

/// One with a scale set for each of several load balancers. The nodes are machines of each in turn.
pub(crate) async fn several(nodes: usize, operation: Duration) -> Result<Simulator> {
    let cloud = subscription(operation).await?;
    cloud.with(|world| {
        SEVERAL.iter().for_each(|(_, set)| drop(world.add_scale_set(set)));
        for number in 0..nodes {
            add_instance(world, SEVERAL[number % SEVERAL.len()].1, number);
        }
    });
    Ok(cloud)
}

/// The manifest with the cloud's configuration, as the page fills it in.
pub(crate) fn shipped() -> String {
    let named = AzureCloud::MANIFEST.replace("ID-OF-THE-SUBSCRIPTION", SUBSCRIPTION);
    named.replace("NAME-OF-THE-RESOURCE-GROUP", GROUP)
}

/// Adds the machine of a node to a scale set.
fn add_instance(world: &mut World, set: &str, number: usize) {
    let machine = world.add_instance(set, u32::try_from(number).expect("there are few nodes"));
    if let Some(it) = world.get_mut(&machine) {
        it["properties"]["osProfile"]["computerName"] = json!(name(number));
    }
}

/// Reads and writes beside tokens and the questions about operations; reads of machines and of the network, and writes of what Services
/// share, are counted once more.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AskedOfAzure {
    pub(crate) reads: usize,
    pub(crate) machines: usize,
    pub(crate) writes: usize,
    pub(crate) operations: usize,
    pub(crate) balancers: usize,
    pub(crate) groups: usize,
}

impl AskedOfAzure {
    pub(crate) fn of(requests: &[Recorded]) -> Self {
        let mut asked = Self::default();
        for request in requests.iter().filter(|it| it.path.starts_with("/subscriptions")) {
            match (request.path.contains("/operations/"), request.method.is_safe()) {
                (true, _) => asked.operations += 1,
                (false, true) => {
                    asked.reads += 1;
                    asked.machines += usize::from(is_of_machines(&request.path));
                }
                (false, false) => {
                    asked.writes += 1;
                    let kind = request.path.rsplit('/').nth(1).unwrap_or_default();
                    asked.balancers += usize::from(kind == "loadBalancers" && request.method == http::Method::PUT);
                    asked.groups += usize::from(kind == "networkSecurityGroups");
                }
            }
        }
        // A list of machines reads that of public addresses, too, right after that of interfaces.
        let lists =
            |name: &str| requests.iter().filter(|it| it.path.ends_with(&format!("/Microsoft.Network/{name}"))).count();
        asked.machines += lists("networkInterfaces").min(lists("publicIPAddresses"));
        asked
    }

    /// Those for load balancers, as in "10 + 5".
    pub(crate) fn of_balancers(self) -> String {
        format!("{} + {}", self.reads - self.machines, self.writes)
    }

    /// As in "10 + 5".
    pub(crate) fn text(self) -> String {
        format!("{} + {}", self.reads, self.writes)
    }
}

/// Whether a read is one of the controllers of nodes, or about the cluster's identity. The path without a machine or a disk is that of the
/// region's zones.
fn is_of_machines(path: &str) -> bool {
    path.contains("/providers/Microsoft.Compute/")
        || path.ends_with("/networkInterfaces")
        || path.contains("/virtualNetworks/")
}

impl Account for Simulator {
    fn token(&self) -> &str {
        &self.token
    }

    fn page(&self) -> &'static str {
        AzureCloud::PAGE
    }

    fn arguments(&self) -> Result<Vec<String>> {
        bail!("the baseline does not know Azure")
    }

    /// As it is shipped, with a secret; and with a load balancer for each scale set, where there are several.
    fn config(&self, folder: &Path) -> Result<Config> {
        let secret = folder.join("azure-secret");
        fs::write(&secret, SECRET)?;
        let mut shipped = cloud_config(&shipped());
        let tls = json!({ "caFile": self.ca_file() });
        let mut endpoints: Vec<_> = shipped["endpoints"].as_array().cloned().unwrap_or_default();
        for endpoint in &mut endpoints {
            (endpoint["baseUrl"], endpoint["tls"]) = (json!(self.base_url()), tls.clone());
        }
        let mut provider = shipped["provider"].take();
        provider["module"] = json!({ "file": { "path": guests::AZURE, "sha256": guests::sha256(guests::AZURE) } });
        provider["settings"] = AzureCloud::SETTINGS.iter().copied().collect();
        if self.with(|world| world.all(Kind::ScaleSet).count()) == SEVERAL.len() {
            provider["settings"]["loadBalancerBackendPoolConfigurationType"] = json!("nodeIP");
            for (name, set) in SEVERAL {
                provider["settings"][format!("multipleStandardLoadBalancerConfigurations.{name}.primaryVMSet")] =
                    json!(set);
            }
        }
        let mut credential = shipped["credentials"][0].take();
        credential["entra"] = json!({
            "tenant": TENANT, "clientId": CLIENT, "clientSecret": { "file": secret }, "authority": self.base_url(), "tls": tls,
            "addresses": ["127.0.0.0/8"],
        });
        Ok(Config { provider, endpoints, credential })
    }
}
