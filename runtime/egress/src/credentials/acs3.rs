//! A signature of each request, by Alibaba Cloud's ACS3-HMAC-SHA256.

mod refusal;
mod settings;
mod sign;
mod source;
mod sts;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use budgets::WriteLimits;
use tokio::sync::watch;

pub use self::settings::{Acs3Keys, Acs3Settings, RamArn, RamRoleTaken};
use self::source::AcsKeySource;
use super::error::CredentialError;
use super::signing::SigningCredential;

/// A credential that signs for Alibaba Cloud.
pub(super) type Acs3Credential = SigningCredential<AcsKeySource>;

impl Acs3Credential {
    /// Reads the files for the first time. Nobody is asked yet.
    pub(super) fn load(
        name: String,
        settings: Acs3Settings,
        limits: WriteLimits,
        changes: Arc<watch::Sender<u64>>,
    ) -> Result<Self, CredentialError> {
        let source = AcsKeySource::new(&name, settings)?;
        Self::new(name, source, limits, changes)
    }
}
