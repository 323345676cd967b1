//! Alibaba Cloud: a simulated account, beside the recorded figures of the vendor's own manager (the stories of the issue). Requests count here.

pub(crate) mod balancers;
pub(crate) mod nodes;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::json;
use tests::clouds::alibaba::{Behaviour, KEY_ID, KEY_SECRET, Options, REGION, Simulator, Taking};
use tests::guests;
use tests::simulator::Recorded;
use tests::vendor::manifest::cloud_config;
use tests::vendor::{AlibabaCloud, Vendor as _};

use crate::account::{Account, Config};
use crate::cloud::{LATENCY, name};

/// How long a change takes.
const CHANGE: Duration = Duration::from_millis(500);

/// An account with a machine for each node. Its answers are not checked: that would be measured too.
pub(crate) async fn simulator(nodes: usize) -> Result<Simulator> {
    let behaviour =
        Behaviour { most_routes: 2 * nodes, most_servers: 2 * nodes, ..Behaviour::taking(Taking::Time(CHANGE)) };
    let cloud = Simulator::start(Options { latency: LATENCY, checked: false, ..Options::with(behaviour) }).await?;
    cloud.with(|world| (0..nodes).for_each(|it| world.add_machine(it as u64 + 1, &name(it))));
    Ok(cloud)
}

/// Reads and writes: all requests are sent by POST.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AskedOfAlibaba {
    pub(crate) reads: usize,
    pub(crate) writes: usize,
}

impl AskedOfAlibaba {
    pub(crate) fn of(requests: &[Recorded]) -> Self {
        let is_read = |it: &&Recorded| ["/Describe", "/Get", "/List"].iter().any(|read| it.path.contains(read));
        let reads = requests.iter().filter(is_read).count();
        Self { reads, writes: requests.len() - reads }
    }

    /// As in "10 + 5".
    pub(crate) fn text(self) -> String {
        format!("{} + {}", self.reads, self.writes)
    }
}

/// How many requests did this.
pub(crate) fn done(requests: &[Recorded], action: &str) -> usize {
    requests.iter().filter(|it| it.path.ends_with(action) && it.status == Some(200)).count()
}

impl Account for Simulator {
    fn token(&self) -> &str {
        &self.token
    }

    fn page(&self) -> &'static str {
        AlibabaCloud::PAGE
    }

    fn arguments(&self) -> Result<Vec<String>> {
        bail!("the baseline does not know Alibaba Cloud")
    }

    /// As it is shipped, with a key.
    fn config(&self, folder: &Path) -> Result<Config> {
        let (id, secret) = (folder.join("access-key-id"), folder.join("access-key-secret"));
        fs::write(&id, KEY_ID)?;
        fs::write(&secret, KEY_SECRET)?;
        let mut shipped = cloud_config(AlibabaCloud::MANIFEST);
        let mut endpoints: Vec<_> = shipped["endpoints"].as_array().cloned().unwrap_or_default();
        for endpoint in &mut endpoints {
            (endpoint["baseUrl"], endpoint["tls"]) = (json!(self.base_url()), json!({ "caFile": self.ca_file() }));
        }
        let mut provider = shipped["provider"].take();
        provider["module"] = json!({ "file": { "path": guests::ALIBABA, "sha256": guests::sha256(guests::ALIBABA) } });
        provider["settings"] = AlibabaCloud::SETTINGS.iter().copied().collect();
        let mut credential = shipped["credentials"][0].take();
        let key = json!({ "idFile": id, "secretFile": secret });
        credential["acs3"] = json!({ "region": REGION, "accessKey": key });
        Ok(Config { provider, endpoints, credential })
    }
}
