//! `provider.module`: where the module comes from.

use egress::Addresses;
use sandbox::{Digest, Source};

use super::file;

/// Where the module comes from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ModuleSource {
    /// A file, or a ConfigMap.
    Local(Source),
    /// A registry.
    Registry(Box<oci::Settings>),
}

impl ModuleSource {
    /// The digest that the operator has written: of the manifest in a registry, of the bytes elsewhere.
    pub(crate) fn digest(&self) -> Digest {
        match self {
            Self::Local(Source::File { sha256, .. } | Source::ConfigMap { sha256, .. }) => *sha256,
            Self::Registry(settings) => settings.digest,
        }
    }

    /// Where a rollback may go after a restart: the same with the digest `previous`, if there is one.
    pub(crate) fn previous(&self) -> Option<Self> {
        let Self::Registry(settings) = self else { return None };
        let digest = settings.previous?;
        Some(Self::Registry(Box::new(oci::Settings { digest, previous: None, ..(**settings).clone() })))
    }
}

const FORMS: &str =
    "configMap: { name: …, key: …, sha256: … }, file: { path: …, sha256: … } or oci: { image: …, digest: … }";

pub(super) fn source(module: file::Module) -> Result<ModuleSource, String> {
    let file::Module { config_map, file, oci, signed_by } = module;
    let local = |source| match signed_by {
        None => Ok(ModuleSource::Local(source)),
        Some(_) => Err(
            "provider.module.signedBy is only for oci: signatures lie in registries; remove it, or load the module \
            from a registry"
                .to_owned(),
        ),
    };
    match (config_map, file, oci) {
        (Some(file::ConfigMap { namespace, name, key, sha256 }), None, None) => {
            let namespace = namespace.unwrap_or_else(|| "kube-system".to_owned());
            local(Source::ConfigMap { namespace, name, key, sha256: sha256.0 })
        }
        (None, Some(file::ModuleFile { path, sha256 }), None) => local(Source::File { path, sha256: sha256.0 }),
        (None, None, Some(oci)) => {
            let settings = registry(oci, signed_by);
            settings.check()?;
            Ok(ModuleSource::Registry(Box::new(settings)))
        }
        (Some(_), Some(_), None) => {
            Err("provider.module names both a configMap and a file; write one of them".to_owned())
        }
        (None, None, None) => Err(format!("provider.module names nothing to load; write {FORMS}")),
        _ => Err("provider.module names oci and something else; write one of them".to_owned()),
    }
}

fn registry(oci: file::Oci, signed_by: Option<file::SignedBy>) -> oci::Settings {
    let file::Oci { image, digest, login, token_services, addresses, tls, previous } = oci;
    oci::Settings {
        image: image.0,
        digest: digest.0,
        previous: previous.map(|it| it.0),
        login: login.map(|it| it.file),
        token_services: token_services.into_iter().map(|it| it.0).collect(),
        addresses: addresses.map_or(Addresses::Public, |it| it.0),
        ca_file: tls.map(|it| it.ca_file),
        signed_by: signed_by.map(|file::SignedBy { keys, name }| oci::SignedBy { keys, name }),
    }
}
