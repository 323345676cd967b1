//! A signature of each request, by AWS's Signature Version 4.

mod key_services;
mod refusal;
mod shared_file;
mod sign;
mod source;
mod sts;
mod xml;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use budgets::WriteLimits;
use tokio::sync::watch;

use self::source::SigningKeySource;
use super::error::CredentialError;
use super::kind::Sigv4Settings;
use super::signing::SigningCredential;

/// A credential that signs for AWS.
pub(super) type Sigv4Credential = SigningCredential<SigningKeySource>;

impl Sigv4Credential {
    /// Reads the files for the first time. Nobody is asked yet.
    pub(super) fn load(
        name: String,
        settings: Sigv4Settings,
        limits: WriteLimits,
        changes: Arc<watch::Sender<u64>>,
    ) -> Result<Self, CredentialError> {
        let source = SigningKeySource::new(&name, settings)?;
        Self::new(name, source, limits, changes)
    }
}
