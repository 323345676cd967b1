//! Google Cloud: simulated projects, beside the recorded figures of the vendor's own manager (`tests/golden/gcp/README.md`, and the stories of
//! the issue). Requests count here, and the time where operations take theirs.

pub(crate) mod balancers;
pub(crate) mod nodes;
pub(crate) mod routes;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;
use tests::clouds::gcp::{Behaviour, KEY, OperationTime, Options, PROJECT, Place, REGION, Simulator, World};
use tests::guests;
use tests::simulator::Recorded;
use tests::vendor::manifest::cloud_config;
use tests::vendor::{GoogleCloud, Vendor as _};

use crate::account::{Account, Config};
use crate::cloud::{LATENCY, name};

/// The zones of the region; each node is in the next one.
const ZONES: [&str; 3] = ["b", "c", "d"];

/// A project with an instance for each node, whose operations take so long. Its answers are not checked: that would be measured too.
pub(crate) async fn simulator(nodes: usize, operation: Duration) -> Result<Simulator> {
    let behaviour = Behaviour { operations: OperationTime::Time(operation), ..Behaviour::default() };
    let cloud = Simulator::start(Options { latency: LATENCY, checked: false, behaviour, ..Options::default() }).await?;
    cloud.with(World::build_plain);
    for number in 0..nodes {
        let place = Place::zone(PROJECT, &format!("{REGION}-{}", ZONES[number % ZONES.len()]));
        let id = u32::try_from(number + 1)?;
        cloud.with(|world| _ = world.add_machine(&place, id, &name(number)));
    }
    Ok(cloud)
}

/// Reads and writes beside the questions about operations, and these: the vendor waits for each operation with a request of its own, which the
/// recordings leave out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) reads: usize,
    pub(crate) writes: usize,
    pub(crate) operations: usize,
}

impl Asked {
    pub(crate) fn of(requests: &[Recorded]) -> Self {
        let mut asked = Self::default();
        for request in requests {
            let is_read = request.method.is_safe() || request.path.ends_with("/listInstances");
            match (request.path.contains("/operations/"), is_read) {
                (true, _) => asked.operations += 1,
                (false, true) => asked.reads += 1,
                (false, false) => asked.writes += 1,
            }
        }
        asked
    }

    /// As in "10 + 5".
    pub(crate) fn text(self) -> String {
        format!("{} + {}", self.reads, self.writes)
    }
}

impl Account for Simulator {
    fn token(&self) -> &str {
        &self.token
    }

    fn page(&self) -> &'static str {
        GoogleCloud::PAGE
    }

    fn arguments(&self) -> Result<Vec<String>> {
        bail!("the baseline does not know Google Cloud")
    }

    /// As it is shipped, with a key.
    fn config(&self, folder: &Path) -> Result<Config> {
        let key = folder.join("google-key.json");
        fs::write(&key, KEY)?;
        let mut shipped = cloud_config(GoogleCloud::MANIFEST);
        let mut endpoints: Vec<_> = shipped["endpoints"].as_array().cloned().unwrap_or_default();
        for endpoint in &mut endpoints {
            endpoint["baseUrl"] = json!(self.project_url(PROJECT));
            endpoint["tls"] = json!({ "caFile": self.ca_file() });
        }
        let mut provider = shipped["provider"].take();
        provider["module"] = json!({ "file": { "path": guests::GCP, "sha256": guests::sha256(guests::GCP) } });
        provider["settings"] = GoogleCloud::SETTINGS.iter().copied().collect();
        provider["settings"]["nodeTags"] = json!("k8s-node");
        let mut credential = shipped["credentials"][0].take();
        credential["google"] = json!({ "serviceAccountKey": { "file": key } });
        Ok(Config { provider, endpoints, credential })
    }
}
