//! The operator's settings of a module in a registry.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use egress::{AllowedAddresses, EndpointLimits, KnownNetworks, Proxy, Resolve};
use sha256::Digest;

use crate::image::{Image, TokenService};
use crate::remote::{Remote, WrittenIn};

/// The operator's settings of a module in a registry: `provider.module.oci`, and `signedBy` beside it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ModuleSettings {
    /// Where it is. The tag is for people.
    pub image: Image,
    /// The digest of its manifest.
    pub digest: Digest,
    /// The digest of another manifest, where a rollback may go.
    pub previous: Option<Digest>,
    /// A file in Docker's form with the login.
    pub login: Option<PathBuf>,
    /// The hosts besides the registry that may be sent the login.
    pub token_services: Vec<TokenService>,
    /// Which addresses the registry, and whom it sends us to, may have.
    pub addresses: AllowedAddresses,
    /// A PEM file with the only certificate authorities to trust; without it, the system's.
    pub ca_file: Option<PathBuf>,
    /// The proxy through which the registry, and whom it sends us to, is reached.
    pub proxy: Option<Proxy>,
    /// The keys that must have signed it; `None`: no signature is needed.
    pub signed_by: Option<SignedBy>,
}

/// The keys that must have signed a module.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SignedBy {
    /// Files with public keys; a signature by one of them is enough.
    pub keys: Vec<PathBuf>,
    /// `host[:port]/repository` under which it was signed, if not the image's own: for mirrors.
    pub name: Option<String>,
}

impl ModuleSettings {
    /// Where the module is, and how that may be reached.
    pub(crate) fn remote(&self) -> Remote {
        Remote {
            image: self.image.clone(),
            login: self.login.clone(),
            token_services: self.token_services.clone(),
            addresses: self.addresses.clone(),
            ca_file: self.ca_file.clone(),
            proxy: self.proxy.clone(),
            written: WrittenIn::CloudConfig,
        }
    }

    /// Refuses what contradicts itself.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write instead.
    pub fn check(&self) -> Result<(), String> {
        if self.previous == Some(self.digest) {
            return Err("provider.module.oci.previous is the same as digest; write the version before it, or nothing"
                .to_owned());
        }
        match &self.signed_by {
            Some(SignedBy { keys, .. }) if keys.is_empty() => {
                Err("provider.module.signedBy.keys is empty, so that no \
                signature would do; name the public key of whoever signs the module, or remove signedBy"
                    .to_owned())
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// The outside world.
#[derive(Clone)]
pub struct OutsideWorld {
    /// The cluster's networks, as far as they are known: no registry is there.
    pub networks: KnownNetworks,
    /// Where addresses come from; without it, from the system.
    pub resolver: Option<Arc<dyn Resolve>>,
    /// Where a checked address really is: the identity, except in tests.
    pub route: fn(SocketAddr) -> SocketAddr,
    /// How long connections and answers may take.
    pub limits: EndpointLimits,
    /// How long a pull may take in all.
    pub total: Duration,
}

impl Default for OutsideWorld {
    fn default() -> Self {
        Self {
            networks: KnownNetworks::default(),
            resolver: None,
            route: |it| it,
            limits: EndpointLimits { total: Duration::from_secs(60), ..EndpointLimits::default() },
            total: Duration::from_secs(180),
        }
    }
}
