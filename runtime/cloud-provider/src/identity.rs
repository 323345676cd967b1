use async_trait::async_trait;

use crate::Result;

/// Whose cloud it is.
#[async_trait]
pub trait Identity: Send + Sync {
    /// The account (project, tenant) behind the credential: one line; `None` if the cloud does not tell. Reads only.
    ///
    /// A token of another account answers 404 for everything, so another value than the remembered one stops every
    /// write and deletion.
    async fn identity(&self) -> Result<Option<String>>;
}
