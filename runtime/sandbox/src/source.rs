//! Where a provider's bytes come from. Whoever configures Aerostat names their digest; nothing else is ever compiled.

mod config_map;
mod error;
mod file;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use sha256::Digest;

pub use self::config_map::ConfigMaps;
pub use self::error::SourceError;

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
            Self::File { path, sha256 } => (file::read(path, self.to_string()).await?, sha256),
            Self::ConfigMap { namespace, name, key, sha256 } => {
                let bytes = config_map::read(config_maps, namespace, name, key, self.to_string()).await?;
                (bytes, sha256)
            }
        };
        Module::new(&self.to_string(), bytes, *sha256)
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
    /// The module that messages call `name`, if its bytes are the wanted ones.
    ///
    /// # Errors
    ///
    /// If they have another digest.
    pub fn new(name: &str, bytes: Vec<u8>, wanted: Digest) -> Result<Self, SourceError> {
        let found = Digest::of(&bytes);
        if found == wanted {
            Ok(Self { name: name.into(), bytes, digest: found })
        } else {
            Err(SourceError::Digest { module: name.to_owned(), wanted, found })
        }
    }

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
