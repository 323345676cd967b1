//! Why a credential cannot be used.

use std::io;
use std::path::PathBuf;

/// Why a credential cannot be used. Each names the credential, the file and what to do; none holds the secret.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// Two credentials have one name.
    #[error("credential {credential} is there twice; rename one of them")]
    Twice {
        /// The credential's name.
        credential: String,
    },
    /// A token cannot go along with the requests of a credential.
    #[error("credential {credential}: `entra.auxiliary` names {auxiliary}, which {because}")]
    Auxiliary {
        /// The credential's name.
        credential: String,
        /// The name of the other one.
        auxiliary: String,
        /// Continues the sentence, and says what to do.
        because: &'static str,
    },
    /// A file cannot be read.
    #[error(
        "credential {credential}: cannot read {file}; mount the Secret there, readable for this process, or correct `{key}`"
    )]
    Unreadable {
        /// The credential's name.
        credential: String,
        /// The file.
        file: PathBuf,
        /// The key of the config that names it.
        key: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// A file that holds no usable secret, or no list of origins.
    #[error("credential {credential}: {file} {because}")]
    Unusable {
        /// The credential's name.
        credential: String,
        /// The file.
        file: PathBuf,
        /// Continues the sentence that begins with the file, and says what to do.
        because: String,
    },
}
