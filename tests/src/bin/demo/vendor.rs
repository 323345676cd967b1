//! The clouds that the demo can show, and what is particular to each.

mod alibaba;
mod aws;
mod azure;
mod digitalocean;
mod gcp;
mod hetzner;
mod ibm;
mod openstack;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use tests::simulator::{Recorded, Simulator};
use tests::vendor::Vendor;

use crate::hostile::{self, Attack};
use crate::summary;

/// How late each answer is.
pub(crate) const LATENCY: Duration = Duration::from_millis(50);
/// How long a load balancer is being built.
pub(crate) const BUILDING: Duration = Duration::from_secs(5);

/// The volumes of a cloud whose provider makes them for claims.
#[derive(Clone, Copy)]
pub(crate) struct ShownVolumes {
    /// The vendor's CSI driver.
    pub(crate) driver: &'static str,
    /// The name of the vendor's class.
    pub(crate) class: &'static str,
    /// Whether volumes of that class wait until their pod has a node.
    pub(crate) waits_for_pod: bool,
    /// The label that the vendor's node plugin gives nodes, and its value here.
    pub(crate) place: (&'static str, &'static str),
    /// The provider's page, which has the rules for volumes.
    pub(crate) page: &'static str,
}

/// A cloud that can be shown.
pub(crate) trait Shown: Vendor {
    /// The command that shows it.
    const COMMAND: &'static str;
    /// The judge of requests and answers in its place.
    const JUDGE: &'static str = "every request and answer is checked against the vendor's API description";
    /// The vendor's word for a machine.
    const MACHINE: &'static str;
    /// The end of a machine there that is deleted.
    const GONE: &'static str = "is gone";
    /// The proof that a machine is gone.
    const PROOF: &'static str = "a complete list did not have the machine and a read of it answered 404";
    /// How many characters the names of nodes have, up to their first dot.
    const NAME_LENGTH: usize = 10;
    /// How long a load balancer takes there.
    const REALLY: &'static str;
    /// The meaning of the Service's time, after how long it took.
    const SERVED: &'static str;
    /// The times that are shortened for the demo.
    const SHORTENED: &'static str =
        "unfinished load balancers and unready nodes are looked at every second (usually 15 s and 5 s)";
    /// A sentence about the load balancer that `kubectl create service loadbalancer` makes.
    const ANOTHER: &'static str = "another load balancer";
    /// The sentence once all routes are made.
    const ROUTES: &'static str = "Each network of pods has a route to its node.";
    /// The attacks of the hostile provider.
    const ATTACKS: &'static [Attack] = &hostile::ON_PATHS;
    /// The ConfigMap of the provider.
    const CONFIG_MAP: &'static str;
    /// Its volumes, if its provider makes them for claims.
    const VOLUMES: Option<ShownVolumes> = None;
    /// Flags of aerostat that only this cloud needs.
    const FLAGS: &'static [&'static str] = &[];

    /// Starts the cloud, with so many machines.
    fn open(machines: u8) -> impl Future<Output = Result<Simulator<Self::Cloud>>>;

    /// The name of the node on a machine.
    fn node(number: u8) -> String {
        format!("worker-{number}")
    }

    /// The cloud's name for the machine with this id.
    fn machine(id: u64) -> String {
        id.to_string()
    }

    /// The network of the pods of a machine, where the cloud needs to know it.
    fn pods(number: u8) -> Option<String> {
        let _ = number;
        None
    }

    /// The path below the first endpoint's URL where machines are read: what the hostile provider attacks.
    fn attacked() -> String {
        Self::machines().trim_start_matches('/').to_owned()
    }

    /// The keys of a cloud configuration about the provider, beside its module.
    fn provider(cloud: &Simulator<Self::Cloud>) -> Value;

    /// Leads the shipped cloud configuration to this cloud, with a credential that it knows. `folder` is for the credential's file.
    ///
    /// By default there is one endpoint, with a token.
    fn lead(config: &mut Value, cloud: &Simulator<Self::Cloud>, folder: &Path) -> Result<()> {
        let token = folder.join("token");
        fs::write(&token, &cloud.token)?;
        config["endpoints"][0]["baseUrl"] = json!(Self::base_url(cloud));
        config["endpoints"][0]["tls"] = json!({ "caFile": cloud.ca_file() });
        config["credentials"][0]["bearer"]["file"] = json!(token);
        Ok(())
    }

    /// Whether a request may be a provider's: others are the host's own, for tokens.
    fn is_providers(request: &Recorded) -> bool {
        let _ = request;
        true
    }

    /// The words for a request, without ids.
    fn asked(request: &Recorded) -> String {
        format!("{:<6} {}", request.method.as_str(), summary::shape(&request.path))
    }

    /// The states worth showing of everything in the cloud but machines, by name.
    fn states(account: &Self::Cloud) -> BTreeMap<String, String>;

    /// How many networks of pods have a route.
    fn routes(account: &Self::Cloud) -> usize {
        let _ = account;
        0
    }
}
