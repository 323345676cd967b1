//! A registry that answers path by path what a test has written.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::artifact::{Artifact, REPOSITORY, hex_of};
use crate::capture::{Capture, Request, Step};

/// The answers, by the path after the repository: `manifests/…`, `blobs/…`, `referrers/…`. Everything else is not there.
#[derive(Clone, Default)]
pub struct Answers(BTreeMap<String, Vec<Step>>);

impl Answers {
    /// An honest registry with this module.
    #[must_use]
    pub fn of(artifact: &Artifact) -> Self {
        Self::default().with(artifact)
    }

    /// With a further manifest and its blobs.
    #[must_use]
    pub fn with(mut self, artifact: &Artifact) -> Self {
        self = self.set(&format!("manifests/sha256:{}", artifact.digest()), ok(&[], &artifact.manifest));
        for blob in artifact.blobs() {
            self = self.blob(&blob);
        }
        self
    }

    /// With a further blob.
    #[must_use]
    pub fn blob(self, bytes: &[u8]) -> Self {
        let path = format!("blobs/sha256:{}", hex_of(bytes));
        self.set(&path, ok(&[], bytes))
    }

    /// With what refers to a manifest, by the API for it.
    #[must_use]
    pub fn referrers(mut self, subject: &str, referrers: &[Artifact]) -> Self {
        for referrer in referrers {
            self = self.with(referrer);
        }
        let entries: Vec<Value> = referrers.iter().map(Artifact::entry).collect();
        let index =
            json!({ "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": entries });
        self.set(&format!("referrers/sha256:{subject}"), ok(&[], index.to_string().as_bytes()))
    }

    /// With a signature under the tag that older versions of cosign used.
    #[must_use]
    pub fn tagged_signature(self, subject: &str, payload: &[u8], signature: &str) -> Self {
        let manifest = Artifact::edited(payload, |manifest| {
            manifest["layers"][0]["mediaType"] = json!("application/vnd.dev.cosign.simplesigning.v1+json");
            manifest["layers"][0]["annotations"] = json!({ "dev.cosignproject.cosign/signature": signature });
        });
        self.blob(payload).set(&format!("manifests/sha256-{subject}.sig"), ok(&[], &manifest.manifest))
    }

    /// Answers this there.
    #[must_use]
    pub fn set(mut self, path: &str, steps: Vec<Step>) -> Self {
        self.0.insert(path.to_owned(), steps);
        self
    }

    /// The answer to a request.
    #[must_use]
    pub fn answer(&self, request: &Request) -> Vec<Step> {
        let line = request.text().lines().next().unwrap_or_default();
        let target = line.split(' ').nth(1).unwrap_or_default();
        let path = target.strip_prefix(&format!("/v2/{REPOSITORY}/")).unwrap_or(target);
        self.0.get(path).cloned().unwrap_or_else(|| Step::answer("404 Not Found", &[], "{}"))
    }

    /// Serves them, with a certificate for 127.0.0.1.
    pub async fn serve(self) -> Capture {
        Capture::https(&["127.0.0.1"], move |request| self.answer(request)).await
    }
}

/// An answer with bytes and their length.
pub(super) fn ok(headers: &[(&str, &str)], body: &[u8]) -> Vec<Step> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let mut bytes = format!("HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    vec![Step::Send(bytes)]
}

impl Step {
    /// An ordinary answer of bytes.
    #[must_use]
    pub fn bytes(headers: &[(&str, &str)], body: &[u8]) -> Vec<Self> {
        ok(headers, body)
    }
}
