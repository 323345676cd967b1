//! The clouds that the demo can show, and what is particular to each.

mod alibaba;
mod aws;
mod azure;
mod digitalocean;
mod disks;
mod gcp;
mod hetzner;
mod ibm;
mod openstack;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use ::tests::simulator::{Recorded, Simulator};
use ::tests::vendor::Vendor;
use anyhow::Result;
use serde_json::{Value, json};

pub(crate) use self::disks::{DiskRelease, ShownVolumes};
use crate::hostile::{self, Attack};
use crate::summary;

/// How late each answer is.
pub(crate) const LATENCY: Duration = Duration::from_millis(50);
/// How long a load balancer is being built.
pub(crate) const BUILDING: Duration = Duration::from_secs(5);

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
    /// Its volumes, if a module makes them for claims.
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

    /// The word of the vendor's node plugin for that machine, if it is another one.
    fn node_id(id: u64) -> String {
        Self::machine(id)
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

    /// The same for the shipped configuration of the release that makes disks, in a folder of its own.
    fn lead_beside(config: &mut Value, cloud: &Simulator<Self::Cloud>, folder: &Path) -> Result<()> {
        Self::lead(config, cloud, folder)
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

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::Path;

    use ::tests::guests;
    use ::tests::vendor::{
        AlibabaCloud, Aws, AzureCloud, DigitalOcean, GoogleCloud, Hetzner, IbmCloud, OpenStack, manifest,
    };

    use super::{Shown, ShownVolumes};

    /// The interface of modules that make volumes for claims. Those that only say where volumes are have another one.
    const INTERFACE: &str = "aerostat:cloud/volumes@";

    /// The rows of the table, by the paths of the modules that make the volumes.
    fn rows() -> BTreeMap<String, ShownVolumes> {
        fn row<V: Shown>() -> Option<(String, ShownVolumes)> {
            let module = |it: &ShownVolumes| it.release().map_or(V::MODULE, |it| it.module).to_owned();
            V::VOLUMES.map(|it| (module(&it), it))
        }
        let all = [
            row::<AlibabaCloud>(),
            row::<Aws>(),
            row::<AzureCloud>(),
            row::<DigitalOcean>(),
            row::<GoogleCloud>(),
            row::<Hetzner>(),
            row::<IbmCloud>(),
            row::<OpenStack>(),
        ];
        all.into_iter().flatten().collect()
    }

    fn text_of(module: &Path) -> String {
        String::from_utf8_lossy(&fs::read(module).unwrap()).into_owned()
    }

    #[test]
    fn each_module_that_makes_disks_for_claims_is_shown() {
        let providers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../providers");
        let built = Path::new(guests::AWS).parent().unwrap();
        let names = fs::read_dir(providers).unwrap().map(Result::unwrap).filter(|it| it.path().is_dir());
        let modules = names.map(|it| built.join(it.file_name()).with_extension("wasm"));
        let makers = modules.filter(|it| text_of(it).contains(INTERFACE));
        let makers: BTreeSet<_> = makers.map(|it| it.to_str().unwrap().to_owned()).collect();
        assert_eq!(rows().into_keys().collect::<BTreeSet<_>>(), makers);
    }

    #[test]
    fn each_row_about_disks_is_as_its_module_says() {
        for (module, volumes) in rows() {
            let text = text_of(Path::new(&module));
            let words = [volumes.driver, volumes.place.0].into_iter().chain(volumes.further_key);
            for word in words.chain(volumes.parameters.iter().map(|it| it.0)) {
                assert!(text.contains(word), "{module} does not know {word}");
            }
            let Some(release) = volumes.release() else { continue };
            let provider = format!("--cloud-provider={}", release.provider);
            assert!(manifest::own_flags(release.manifests).contains(&provider), "{provider}");
        }
    }
}
