use sha256::Digest;

/// Why there is no module. Each text names the module, the cause and the next step.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The file is not there, or cannot be read.
    #[error("cannot read {module}; look at provider.module.file.path and at what is mounted there")]
    File {
        /// Which module.
        module: String,
        /// The system's error.
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
        /// The digest in the configuration.
        wanted: Digest,
        /// The digest of the bytes that were read.
        found: Digest,
    },
}
