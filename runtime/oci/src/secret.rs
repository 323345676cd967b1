//! A secret out of JSON, which leaves no copy of itself behind.

use serde::Deserialize;
use zeroize::Zeroizing;

/// A secret out of JSON.
#[derive(Deserialize)]
#[serde(from = "String")]
pub(crate) struct LoginSecret(pub(crate) Zeroizing<String>);

impl From<String> for LoginSecret {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}
