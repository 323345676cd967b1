//! A permitted request with its credential.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use super::secret::Secret;
use super::secrets::Secrets;
use crate::policy::Permitted;

/// A permitted request with the credential of its endpoint. Only credentials make one.
pub(crate) struct Authenticated {
    permitted: Permitted,
    headers: HeaderMap,
    /// 0 without a credential.
    generation: u64,
    secrets: Secrets,
}

impl Authenticated {
    /// A request that carries version `generation` of a credential, whose secrets these are.
    pub(super) fn new(permitted: Permitted, generation: u64, secrets: Vec<Arc<Secret>>) -> Self {
        Self { permitted, headers: HeaderMap::new(), generation, secrets: Secrets::new(secrets) }
    }

    /// Sets a header, also one that the guest has set. Its value appears in no debug output.
    pub(super) fn with_header(mut self, name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        self.headers.insert(name, value);
        self
    }

    /// The answer must not hold these either: what one endpoint was sent may be shown by another.
    pub(super) fn protecting(mut self, secrets: Secrets) -> Self {
        self.secrets = self.secrets.and(&secrets);
        self
    }

    /// Which version of the credential it carries. Connections are not shared between versions.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// The secrets that its answer must not hold.
    pub(crate) fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }

    pub(crate) fn permitted(&self) -> &Permitted {
        &self.permitted
    }

    /// The parts of the request, with the credential in the headers.
    pub(crate) fn into_headers_and_body(self) -> (HeaderMap, Bytes) {
        let (mut headers, body) = self.permitted.into_headers_and_body();
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        (headers, body)
    }
}
