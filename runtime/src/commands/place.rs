//! The place of a module, as a person names it: a registry, or a file.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Error, Result};
use egress::{AllowedAddresses, EndpointLimits, Proxy, ProxyLogin};
use oci::{OutsideWorld, Reference, Remote, Repository, WrittenIn};

use crate::flags::Registry;

/// How long a registry may take for one blob, over a slow line.
const UPLOAD: Duration = Duration::from_secs(180);

/// A module in a registry, or in a file.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum ModulePlace {
    Registry(Reference),
    File(PathBuf),
}

impl ModulePlace {
    /// A file is a text that ends in `.wasm`, or begins as a path does.
    pub(super) fn parse(text: &str) -> Result<Self> {
        match text.ends_with(".wasm") || text.starts_with(['/', '.']) {
            true => Ok(Self::File(text.into())),
            false => reference(text).map(Self::Registry),
        }
    }
}

pub(super) fn reference(text: &str) -> Result<Reference> {
    Reference::parse(text).map_err(Error::msg)
}

/// The repository, to read from.
pub(super) async fn repository(reference: &Reference, registry: Registry) -> Result<Repository> {
    Ok(Repository::open(remote(reference, registry), &OutsideWorld::default()).await?)
}

/// The repository, to read more than a module from.
pub(super) async fn large_repository(reference: &Reference, registry: Registry) -> Result<Repository> {
    let limits = EndpointLimits { total: UPLOAD, ..EndpointLimits::default() };
    let outside = OutsideWorld { limits, ..OutsideWorld::default() };
    Ok(Repository::open(remote(reference, registry), &outside).await?)
}

/// The repository, to push to.
pub(super) async fn repository_for_push(reference: &Reference, registry: Registry) -> Result<Repository> {
    let limits = EndpointLimits { total: UPLOAD, first_byte: UPLOAD, ..EndpointLimits::default() };
    let outside = OutsideWorld { limits, ..OutsideWorld::default() };
    Ok(Repository::open_for_push(remote(reference, registry), &outside).await?)
}

fn remote(reference: &Reference, registry: Registry) -> Remote {
    let addresses = match registry.addresses {
        it if it.is_empty() => AllowedAddresses::Public,
        it => AllowedAddresses::Networks(it),
    };
    let files = registry.proxy_user_file.zip(registry.proxy_password_file);
    let login = files.map(|(user_file, password_file)| ProxyLogin { user_file, password_file });
    let (ca_file, reached) = (registry.proxy_ca, addresses.clone());
    let proxy = registry.proxy.map(|url| Proxy { url, addresses: reached, ca_file, login });
    Remote {
        image: reference.image.clone(),
        login: registry.login,
        token_services: registry.token_services,
        addresses,
        ca_file: registry.ca,
        proxy,
        written: WrittenIn::CommandLine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_references_are_told_apart() {
        for file in ["acme.wasm", "./acme", "../acme.wasm", "/opt/acme"] {
            assert_eq!(ModulePlace::parse(file).unwrap(), ModulePlace::File(file.into()));
        }
        for reference in ["registry.example.com/acme/provider:1.2.0", "[::1]:5000/a", "localhost/a"] {
            assert!(matches!(ModulePlace::parse(reference).unwrap(), ModulePlace::Registry(_)), "{reference}");
        }
        assert!(ModulePlace::parse("acme").unwrap_err().to_string().contains("names no repository"));
    }
}
