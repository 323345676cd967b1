//! IBM Cloud: a simulated VPC, beside the recorded figures of the vendor's own manager (`tests/golden/ibm`, and those of the issue). Requests
//! count here, and the time where changes of load balancers take theirs.

pub(crate) mod balancers;
pub(crate) mod nodes;

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use serde_json::json;
use tests::clouds::ibm::{API_KEY, Behaviour, Options, Simulator, Taking, World};
use tests::guests;
use tests::simulator::Recorded;
use tests::vendor::manifest::cloud_config;
use tests::vendor::{IbmCloud, Vendor as _, ibm};

use crate::account::{Account, Config};
use crate::cloud::{LATENCY, name};

/// How long a creation and a change took where the vendor's manager was recorded.
const CREATION: Duration = Duration::from_secs(6);
const CHANGE: Duration = Duration::from_secs(2);

/// The manifest that operators install.
const MANIFEST: &str = include_str!("../../../../deploy/install-ibm.yaml");
/// Its flags that say how often the cloud is asked.
const PERIODS: [&str; 2] = ["--node-status-update-frequency=", "--load-balancer-resync-period="];

/// A VPC with an instance for each node. Its answers are not checked: that would be measured too.
pub(crate) async fn simulator(nodes: usize) -> Result<Simulator> {
    let behaviour =
        Behaviour { creation: Taking::Time(CREATION), change: Taking::Time(CHANGE), ..Behaviour::default() };
    let cloud = Simulator::start(Options { latency: LATENCY, checked: false, behaviour, ..Options::default() }).await?;
    cloud.with(World::build_plain);
    for number in 0..nodes {
        let id = u32::try_from(number + 1)?;
        cloud.with(|world| _ = world.add_machine(id, &name(number)));
    }
    Ok(cloud)
}

/// Reads and writes of the VPC, and requests for tokens, which are the host's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AskedOfIbm {
    pub(crate) reads: usize,
    pub(crate) writes: usize,
    pub(crate) tokens: usize,
}

impl AskedOfIbm {
    pub(crate) fn of(requests: &[Recorded]) -> Self {
        let mut asked = Self::default();
        for request in requests {
            match (ibm::is_for_a_token(request), request.method.is_safe()) {
                (true, _) => asked.tokens += 1,
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
        IbmCloud::PAGE
    }

    fn arguments(&self) -> Result<Vec<String>> {
        bail!("the baseline does not know IBM Cloud")
    }

    fn shipped_flags(&self) -> Result<Vec<&'static str>> {
        let all = MANIFEST.lines().filter_map(|it| it.trim_start().strip_prefix("- "));
        let flags: Vec<_> = all.filter(|it| PERIODS.iter().any(|period| it.starts_with(period))).collect();
        ensure!(flags.len() == PERIODS.len(), "deploy/install-ibm.yaml has the periods {flags:?}");
        Ok(flags)
    }

    /// As it is shipped, with an API key.
    fn config(&self, folder: &Path) -> Result<Config> {
        let key = folder.join("api-key");
        fs::write(&key, API_KEY)?;
        let tls = json!({ "caFile": self.ca_file() });
        let mut shipped = cloud_config(IbmCloud::MANIFEST);
        let mut endpoints: Vec<_> = shipped["endpoints"].as_array().cloned().unwrap_or_default();
        for endpoint in &mut endpoints {
            endpoint["baseUrl"] = json!(self.vpc_url());
            endpoint["tls"] = tls.clone();
        }
        let mut provider = shipped["provider"].take();
        provider["module"] = json!({ "file": { "path": guests::IBM, "sha256": guests::sha256(guests::IBM) } });
        // Changes take no longer here than where the vendor's manager was recorded.
        provider["settings"] = IbmCloud::SETTINGS.iter().copied().chain([("pollInterval", "2s")]).collect();
        let mut credential = shipped["credentials"][0].take();
        credential["ibmIam"] =
            json!({ "apiKey": { "file": key }, "baseUrl": self.base_url(), "tls": tls, "addresses": ["127.0.0.0/8"] });
        Ok(Config { provider, endpoints, credential })
    }
}
