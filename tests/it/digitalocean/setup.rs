//! Providers, loaded as an operator would have them, and the clouds that they serve.

use cloud_provider::{Address, AddressKind};
use tests::clouds::digitalocean::{Droplet, Options, Simulator};
use tests::vendor::{Differences, DigitalOcean, ProviderRig, Vendor as _};

pub(crate) use tests::vendor::digitalocean::{ID, TYPE};
pub(crate) use tests::vendor::loading::CLUSTER_UID;
pub(crate) use tests::vendor::{NAME, Service, UID, joining, node, port, warning};

/// A loaded provider of DigitalOcean, and its cloud.
pub(crate) type Rig = ProviderRig<DigitalOcean>;

/// DigitalOcean with two droplets, `web-1` and `web-2`, and these settings.
pub(crate) async fn rig(settings: &[(&str, &str)]) -> Rig {
    let rig = start(Options::default(), Differences { settings, ..Differences::default() }, []).await;
    rig.with_machines(2)
}

/// DigitalOcean with these droplets.
pub(crate) async fn with(droplets: impl IntoIterator<Item = Droplet>) -> Rig {
    start(Options::default(), Differences::default(), droplets).await
}

/// DigitalOcean with these droplets, which begins as these options say.
pub(crate) async fn start(
    options: Options,
    differences: Differences<'_>,
    droplets: impl IntoIterator<Item = Droplet>,
) -> Rig {
    let cloud = Simulator::start(options).await.unwrap();
    for droplet in droplets {
        cloud.droplets().insert(droplet);
    }
    Rig::over(cloud, differences).await
}

/// An annotation of DigitalOcean, by the end of its key.
pub(crate) fn key(name: &str) -> String {
    format!("{}{name}", DigitalOcean::PREFIX)
}

/// The initialised node of a droplet that is as [`Droplet::new`] makes it.
pub(crate) fn worker(droplet: u8) -> cloud_provider::Node {
    DigitalOcean::worker(droplet)
}

/// The same with a public IPv6 address.
pub(crate) fn dual(droplet: u8) -> cloud_provider::Node {
    let mut machine = worker(droplet);
    machine.addresses.push(Address { kind: AddressKind::ExternalIp, value: format!("2001:db8::{droplet}") });
    machine
}

/// The same without public addresses.
pub(crate) fn private(droplet: u8) -> cloud_provider::Node {
    let mut machine = worker(droplet);
    machine.addresses.retain(|it| it.kind == AddressKind::InternalIp);
    machine
}
