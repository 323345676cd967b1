use async_trait::async_trait;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::Result;

/// The account in the cloud whose objects the provider sees.
#[async_trait]
pub trait Identity: Send + Sync {
    /// The account (project, tenant) behind the credential, and the part of it that every other call looks into (region,
    /// network): one line; `None` if the cloud does not tell. Several accounts are sorted. Reads only.
    ///
    /// It is the same for as long as the same machines can be seen. A token of another account, or the right one in
    /// another region, answers 404 for everything: another line than the remembered one stops every write and deletion.
    ///
    /// If provider ids name an account or a region, the line names them in words like `account=… region=…`: a node whose
    /// provider id names another is left alone. See [`Place`](crate::Place).
    async fn identity(&self) -> Result<Option<String>>;

    /// The version of credentials and provider: another number from the moment that one has changed, so that the account
    /// has to be asked about again. Closed where none can change.
    fn versions(&self) -> watch::Receiver<u64> {
        watch::channel(0).1
    }

    /// Says that the account behind this version is the right one. Once one was approved, writes
    /// leave only under an approved version.
    fn approve(&self, version: u64) {
        let _ = version;
    }

    /// Since when this version of the provider serves; `None` if it has served from the start.
    fn replaced(&self) -> Option<Instant> {
        None
    }
}
