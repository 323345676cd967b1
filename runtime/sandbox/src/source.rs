//! Where a provider's bytes come from. Whoever configures Aerostat names their digest; nothing else is ever compiled.

mod config_map;
mod file;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

pub use self::config_map::ConfigMaps;

/// Where a module is, and what it must be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Source {
    /// A file of at most 4 MiB.
    File {
        /// Its path.
        path: PathBuf,
        /// Its SHA-256.
        sha256: Digest,
    },
    /// A value in a ConfigMap, of at most 1 MiB.
    ConfigMap {
        /// The ConfigMap's namespace.
        namespace: String,
        /// The ConfigMap's name.
        name: String,
        /// The key in its `binaryData` or `data`.
        key: String,
        /// The SHA-256 of the value.
        sha256: Digest,
    },
}

impl Source {
    /// Reads the module, once: the bytes whose digest is compared are the bytes that will be compiled, whatever
    /// happens to the file or the ConfigMap meanwhile.
    ///
    /// # Errors
    ///
    /// If the bytes cannot be read, are too many, or have another digest. The text says what to do.
    pub async fn fetch(&self, config_maps: &dyn ConfigMaps) -> Result<Module, SourceError> {
        let (bytes, sha256) = match self {
            Self::File { path, sha256 } => (file::read(path, self).await?, sha256),
            Self::ConfigMap { namespace, name, key, sha256 } => {
                let bytes = config_map::read(config_maps, namespace, name, key, self).await?;
                (bytes, sha256)
            }
        };
        let found = Digest::of(&bytes);
        if found == *sha256 {
            Ok(Module { name: self.to_string().into(), bytes, digest: found })
        } else {
            Err(SourceError::Digest { module: self.to_string(), wanted: *sha256, found })
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, .. } => write!(f, "module file {}", path.display()),
            Self::ConfigMap { namespace, name, key, .. } => {
                write!(f, "module in ConfigMap {namespace}/{name}, key {key}")
            }
        }
    }
}

/// A module's bytes, whose digest was compared.
#[derive(Clone)]
pub struct Module {
    name: Arc<str>,
    bytes: Vec<u8>,
    digest: Digest,
}

impl Module {
    /// How messages call it: "module file /providers/acme.wasm".
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its SHA-256.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Its length in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A SHA-256.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Reads 64 hexadecimal digits, with or without `sha256:` before them.
    ///
    /// # Errors
    ///
    /// If `text` is anything else.
    pub fn parse(text: &str) -> Result<Self, InvalidDigest> {
        let mut digest = [0; 32];
        hex::decode_to_slice(text.strip_prefix("sha256:").unwrap_or(text), &mut digest)
            .map_err(|_| InvalidDigest(text.to_owned()))?;
        Ok(Self(digest))
    }

    fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// What was written is not a SHA-256.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a SHA-256: write the 64 hexadecimal digits that sha256sum prints")]
pub struct InvalidDigest(String);

/// Why there is no module. Each text names the module, the cause and the next step.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file is not there, or cannot be read.
    #[error("cannot read {module}; look at provider.module.file.path and at what is mounted there")]
    File {
        /// Which module.
        module: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The ConfigMap or its key is not there, or cannot be read.
    #[error("cannot read {module}: {because}")]
    ConfigMap {
        /// Which module.
        module: String,
        /// A sentence with the next step.
        because: String,
    },
    /// More bytes than this kind of source may have.
    #[error("{module} is larger than {limit} MiB; build it with opt-level \"s\", lto and strip")]
    TooLarge {
        /// Which module.
        module: String,
        /// The limit in MiB.
        limit: usize,
    },
    /// Other bytes than the configured ones.
    #[error(
        "{module} has sha256 {found}, and the configuration wants {wanted}: if these bytes are meant, \
         write their sha256 beside provider.module; otherwise find out who replaced them"
    )]
    Digest {
        /// Which module.
        module: String,
        /// What the configuration says.
        wanted: Digest,
        /// What was read.
        found: Digest,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_digest_is_64_hexadecimal_digits() {
        let digest = Digest::parse(&EMPTY.to_uppercase()).unwrap();
        assert_eq!(digest, Digest::of(b""));
        assert_eq!(digest.to_string(), EMPTY);
        assert_eq!(Digest::parse(&format!("sha256:{EMPTY}")).unwrap(), digest);
        for wrong in
            ["", "sha256:", &EMPTY[1..], &format!("{EMPTY}0"), &EMPTY.replace('e', "g"), &format!("sha512:{EMPTY}")]
        {
            assert!(Digest::parse(wrong).is_err(), "{wrong:?} was taken");
        }
    }
}
