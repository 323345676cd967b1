//! A repository in a registry, and how it may be reached.

use std::path::{Path, PathBuf};

use egress::{AllowedAddresses, Proxy};

use crate::image::{Image, TokenService};

/// A repository in a registry, and how it may be reached.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Remote {
    /// Where it is.
    pub image: Image,
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
    /// Where the operator has said all this.
    pub written: WrittenIn,
}

/// Where an operator writes about registries: messages name the key or the flag that has to be changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WrittenIn {
    /// In `provider.module` of `--cloud-config`.
    CloudConfig,
    /// In the flags of `aerostat module`.
    CommandLine,
}

impl WrittenIn {
    /// The purpose of requests to a registry, in messages and in the audit log.
    pub(crate) fn registry(self) -> &'static str {
        match self {
            Self::CloudConfig => "provider.module.oci",
            Self::CommandLine => "registry",
        }
    }

    pub(crate) fn login(self) -> &'static str {
        match self {
            Self::CloudConfig => "provider.module.oci.login",
            Self::CommandLine => "--login",
        }
    }

    pub(crate) fn token_services(self) -> &'static str {
        match self {
            Self::CloudConfig => "provider.module.oci.tokenServices",
            Self::CommandLine => "--token-service",
        }
    }

    pub(crate) fn digest(self) -> &'static str {
        match self {
            Self::CloudConfig => "provider.module.oci.digest",
            Self::CommandLine => "the digest",
        }
    }

    pub(crate) fn keys(self) -> &'static str {
        match self {
            Self::CloudConfig => "provider.module.signedBy.keys",
            Self::CommandLine => "--key",
        }
    }

    /// Where a mirror says under which name a module was signed.
    pub(crate) fn signed_as(self) -> &'static str {
        match self {
            Self::CloudConfig => "provider.module.signedBy.as",
            Self::CommandLine => "--signed-as",
        }
    }

    /// The advice about a file that cannot be read.
    pub(crate) fn missing_file(self) -> &'static str {
        match self {
            Self::CloudConfig => "look at what is mounted there",
            Self::CommandLine => "correct the path",
        }
    }

    /// A file with a key.
    pub(crate) fn key(self, path: &Path) -> String {
        match self {
            Self::CloudConfig => format!("the key {} of {}", path.display(), self.keys()),
            Self::CommandLine => format!("--key {}", path.display()),
        }
    }

    /// A sentence of the way out, which knows the keys of the config alone.
    pub(crate) fn sentence(self, text: String) -> String {
        match self {
            Self::CloudConfig => text,
            Self::CommandLine => text
                .replace("`tls.caFile`", "--ca")
                .replace("`addresses` of registry", "--address")
                .replace("the operator would have to name", "name"),
        }
    }

    /// A sentence about a registry to which nothing came. A process tries again by itself; whoever calls a command does.
    pub(crate) fn unreached(self, text: String) -> String {
        let next = match self {
            Self::CloudConfig => "",
            Self::CommandLine => {
                "; check its host and port in the reference, --ca and --proxy, and try again once it answers"
            }
        };
        self.sentence(text) + next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_names_what_the_operator_can_change() {
        let sentences = |written: WrittenIn, name: &str| {
            let texts = [
                format!(
                    "which is a private address; the operator would have to name its network in `addresses` of {name}"
                ),
                format!("{name}: cannot read certificate authorities from ca.pem; correct `tls.caFile`"),
            ];
            texts.map(|it| written.sentence(it))
        };
        assert_eq!(
            sentences(WrittenIn::CommandLine, WrittenIn::CommandLine.registry()),
            [
                "which is a private address; name its network in --address",
                "registry: cannot read certificate authorities from ca.pem; correct --ca",
            ]
        );
        let config = sentences(WrittenIn::CloudConfig, WrittenIn::CloudConfig.registry());
        assert!(config[0].ends_with("in `addresses` of provider.module.oci") && config[1].ends_with("`tls.caFile`"));
    }
}
