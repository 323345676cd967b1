//! `provider.module`: where the module comes from.

use egress::AllowedAddresses;
use sandbox::{Digest, Source};

use super::file;

/// Where the module comes from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ModuleSource {
    /// A file, or a ConfigMap.
    Local(Source),
    /// A registry.
    Registry(Box<oci::ModuleSettings>),
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
        Some(Self::Registry(Box::new(oci::ModuleSettings { digest, previous: None, ..(**settings).clone() })))
    }
}

/// The first key of `provider.module` that asks less of a module in `new` than in `old`, and how: "signedBy is gone".
/// `None` if `new` is as strict. The digest is no part of it: the operator writes another one for another module.
pub(crate) fn loosened(old: &ModuleSource, new: &ModuleSource) -> Option<String> {
    let ModuleSource::Registry(old) = old else { return None };
    let ModuleSource::Registry(new) = new else {
        return old
            .signed_by
            .as_ref()
            .map(|_| "signedBy is gone, because the module is in no registry any more".to_owned());
    };
    if let Some(before) = &old.signed_by {
        let Some(after) = &new.signed_by else { return Some("signedBy is gone".to_owned()) };
        if let Some(key) = after.keys.iter().find(|it| !before.keys.contains(it)) {
            return Some(format!("signedBy.keys has the further key {}", key.display()));
        }
        if after.name != before.name {
            return Some("signedBy.as is another".to_owned());
        }
    }
    if new.token_services.iter().any(|it| !old.token_services.contains(it)) {
        return Some("oci.tokenServices has a further one, which would be sent the login".to_owned());
    }
    if new.addresses != old.addresses {
        return Some("oci.addresses names other networks".to_owned());
    }
    if new.proxy != old.proxy {
        return Some("oci.proxy is another".to_owned());
    }
    if new.ca_file != old.ca_file {
        return Some("oci.tls names other certificate authorities".to_owned());
    }
    None
}

const FORMS: &str =
    "configMap: { name: …, key: …, sha256: … }, file: { path: …, sha256: … } or oci: { image: …, digest: … }";

pub(super) fn source(module: file::ModuleSection) -> Result<ModuleSource, String> {
    let file::ModuleSection { config_map, file, oci, signed_by } = module;
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

fn registry(oci: file::Oci, signed_by: Option<file::SignedBySection>) -> oci::ModuleSettings {
    let file::Oci { image, digest, login, token_services, addresses, tls, proxy, previous } = oci;
    oci::ModuleSettings {
        image: image.0,
        digest: digest.0,
        previous: previous.map(|it| it.0),
        login: login.map(|it| it.file),
        token_services: token_services.into_iter().map(|it| it.0).collect(),
        addresses: addresses.map_or(AllowedAddresses::Public, |it| it.0),
        ca_file: tls.map(|it| it.ca_file),
        proxy: proxy.map(file::ProxySection::proxy),
        signed_by: signed_by.map(|file::SignedBySection { keys, name }| oci::SignedBy { keys, name }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(rest: &str) -> ModuleSource {
        let text =
            format!("{{ oci: {{ image: registry.example.com/acme:1, digest: 'sha256:{}'{rest} }}", "0".repeat(64));
        source(serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))).unwrap()
    }

    #[test]
    fn adv_169_a_module_source_that_asks_for_less_is_named() {
        const SIGNED: &str = "}, signedBy: { keys: [/a.pub, /b.pub] }";
        const STRICT: &str =
            ", tokenServices: [auth.example.com], addresses: [192.0.2.0/24], tls: { caFile: /ca.pem } }";
        let file = ModuleSource::Local(Source::File { path: "/acme.wasm".into(), sha256: Digest::of(b"acme") });
        assert_eq!(loosened(&module("}"), &file), None, "nobody had to sign it");
        assert_eq!(loosened(&file, &module(STRICT)), None);
        assert!(loosened(&module(SIGNED), &file).unwrap().contains("signedBy is gone"));
        for (old, new, loose) in [
            (SIGNED, SIGNED, None),
            ("}", SIGNED, None),
            (SIGNED, "}, signedBy: { keys: [/b.pub] }", None),
            (SIGNED, "}", Some("signedBy is gone")),
            (SIGNED, "}, signedBy: { keys: [/b.pub, /c.pub] }", Some("the further key /c.pub")),
            (SIGNED, "}, signedBy: { keys: [/a.pub], as: other.example.com/acme }", Some("signedBy.as")),
            (STRICT, STRICT, None),
            (STRICT, ", addresses: [192.0.2.0/24], tls: { caFile: /ca.pem } }", None),
            ("}", ", tokenServices: [auth.example.com] }", Some("oci.tokenServices")),
            ("}", ", addresses: [10.0.0.0/8] }", Some("oci.addresses")),
            ("}", ", tls: { caFile: /ca.pem } }", Some("oci.tls")),
        ] {
            let found = loosened(&module(old), &module(new));
            let is_as_expected = match (&found, loose) {
                (Some(found), Some(loose)) => found.contains(loose),
                (found, loose) => found.is_none() && loose.is_none(),
            };
            assert!(is_as_expected, "{old} ► {new}: {found:?}");
        }
    }
}
