//! Guests as files: what `build.rs` has built for the tests.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

/// A provider that does everything a guest must not, in the order a test asks for.
pub const HOSTILE: &str = env!("GUEST_HOSTILE");

/// A provider that keeps every promise of the contract but one, which a setting names.
pub const FAULTY: &str = env!("GUEST_FAULTY");

/// A provider that takes several load balancers in one call.
pub const BATCHED: &str = env!("GUEST_BATCHED");

/// A provider that reads the state of its cloud from a script on loopback.
pub const SCRIPTED: &str = env!("GUEST_SCRIPTED");

/// A provider whose routes and volumes are lies.
pub const LYING: &str = env!("GUEST_LYING");

/// A provider of volumes for claims that are lies.
pub const LYING_VOLUMES: &str = env!("GUEST_LYING_VOLUMES");

/// A provider of routes and volumes that reads the state of its cloud from a script on loopback.
pub const SCRIPTED_NETWORK: &str = env!("GUEST_SCRIPTED_NETWORK");

/// A provider in as many versions as a test makes of its bytes: see [`versioned`](crate::versioned).
pub const VERSIONED: &str = env!("GUEST_VERSIONED");

/// The provider for Alibaba Cloud, as it is shipped.
pub const ALIBABA: &str = env!("GUEST_ALIBABA");

/// The provider for AWS.
pub const AWS: &str = env!("GUEST_AWS");

/// The provider for volumes of AWS, as it is shipped.
pub const AWS_EBS: &str = env!("GUEST_AWS_EBS");

/// The provider for Azure, as it is shipped.
pub const AZURE: &str = env!("GUEST_AZURE");

/// The provider for DigitalOcean, as it is shipped.
pub const DIGITALOCEAN: &str = env!("GUEST_DIGITALOCEAN");

/// The provider for Google Cloud, as it is shipped.
pub const GCP: &str = env!("GUEST_GCP");

/// The provider for volumes of Google Cloud, as it is shipped.
pub const GCP_PD: &str = env!("GUEST_GCP_PD");

/// The provider for Hetzner Cloud, as it is shipped.
pub const HETZNER: &str = env!("GUEST_HETZNER");

/// The provider for IBM Cloud, as it is shipped.
pub const IBM: &str = env!("GUEST_IBM");

/// The provider for OpenStack, as it is shipped.
pub const OPENSTACK: &str = env!("GUEST_OPENSTACK");

/// The provider for volumes of OpenStack, as it is shipped.
pub const OPENSTACK_CINDER: &str = env!("GUEST_OPENSTACK_CINDER");

/// The provider for Rancher 1.x, the smallest whole example.
pub const RANCHER: &str = env!("GUEST_RANCHER");

/// The example of the SDK.
pub const ACME: &str = env!("GUEST_ACME");

/// The other example of the SDK, for a cloud that gives ids and has actions.
pub const ACME_ASYNC: &str = env!("GUEST_ACME_ASYNC");

/// The flags of rustc with which guests are built, as cargo reads them from `CARGO_ENCODED_RUSTFLAGS`.
pub const FLAGS: &str = env!("GUEST_FLAGS");

/// The SHA-256 of a file in lower-case hex, as a cloud configuration names it.
///
/// # Panics
///
/// Panics if the file cannot be read.
pub fn sha256(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guest_is_a_component() {
        for path in [
            HOSTILE,
            FAULTY,
            BATCHED,
            SCRIPTED,
            LYING,
            LYING_VOLUMES,
            SCRIPTED_NETWORK,
            VERSIONED,
            ALIBABA,
            AWS,
            AWS_EBS,
            AZURE,
            DIGITALOCEAN,
            GCP,
            GCP_PD,
            HETZNER,
            OPENSTACK,
            OPENSTACK_CINDER,
            RANCHER,
            ACME,
            ACME_ASYNC,
        ] {
            let bytes = fs::read(path).unwrap();
            // The magic number, then version 13 of layer 1: a component, not a core module.
            assert_eq!(&bytes[..8], b"\0asm\x0d\0\x01\0", "{path}");
        }
    }
}
