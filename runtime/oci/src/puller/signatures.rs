//! Looks for signatures in the registry: what refers to the manifest, then the tag that older versions of cosign used.

use crate::client::Client;
use crate::error::{PullError, foreign};
use crate::manifest::{self, Descriptor, Manifest};
use crate::signature::{ANNOTATION, BUNDLE, BUNDLE_LIMIT, Found, PAYLOAD, PAYLOAD_LIMIT, Signed, SignedOnce, is_first};

/// How many referrers, and how many signatures under the tag, are looked at.
const REFERRERS: usize = 16;
const TAGGED: usize = 8;
/// How many reasons a refusal has.
const REASONS: usize = 8;

/// A signature by one of the keys.
///
/// # Errors
///
/// If there is none, or it cannot be known: then there may be one, and the module is not loaded either.
pub(super) async fn find(client: &mut Client<'_>, signed: &Signed<'_>) -> Result<SignedOnce, PullError> {
    let mut search = Search { reasons: Vec::new(), unavailable: None };
    if let Some(once) = search.bundles(client, signed).await? {
        return Ok(once);
    }
    if let Some(once) = search.tagged(client, signed).await? {
        return Ok(once);
    }
    if let Some(because) = search.unavailable {
        return Err(PullError::Unavailable(because));
    }
    let reasons = search.reasons;
    let found = match reasons.len() {
        0 => "the registry has no signature of it".to_owned(),
        _ => reasons[..reasons.len().min(REASONS)].join("; "),
    };
    let manifest = signed.manifest;
    Err(PullError::Refused(format!(
        "no key of provider.module.signedBy.keys has signed sha256:{manifest}: {found}. Sign it (cosign sign --key), or \
         correct the keys"
    )))
}

/// What was found on the way.
struct Search {
    /// Why signatures do not count.
    reasons: Vec<String>,
    /// The last one that could not be read.
    unavailable: Option<String>,
}

impl Search {
    async fn bundles(&mut self, client: &mut Client<'_>, signed: &Signed<'_>) -> Result<Option<SignedOnce>, PullError> {
        let digest = signed.manifest;
        let index = match client.referrers(digest).await? {
            Some(index) => Some(index),
            None => client.tagged(&format!("sha256-{digest}")).await?,
        };
        let Some(index) = index else { return Ok(None) };
        let index: Manifest = serde_json::from_slice(&index)
            .map_err(|error| client.refused(&format!("names what refers to the manifest in no index: {error}")))?;
        let mut entries = index.manifests.unwrap_or_default();
        // The index of one registry says the artifact's type, that of another the config's: the others come after.
        entries.sort_by_key(|it| !is_first(it));
        for entry in entries.iter().take(REFERRERS) {
            let read = self.bundle(client, entry, signed).await;
            if let Some(once) = self.judge(&entry.digest, read)? {
                return Ok(Some(once));
            }
        }
        Ok(None)
    }

    /// `None`: it is no bundle.
    async fn bundle(
        &self,
        client: &mut Client<'_>,
        entry: &Descriptor,
        signed: &Signed<'_>,
    ) -> Result<Option<Result<SignedOnce, String>>, PullError> {
        let digest = match manifest::digest(&entry.digest) {
            Ok(digest) => digest,
            Err(because) => return Ok(Some(Err(because))),
        };
        let Some(bytes) = client.manifest(digest).await? else {
            return Ok(Some(Err("is named and not there".to_owned())));
        };
        let Ok(found) = serde_json::from_slice::<Manifest>(&bytes) else {
            return Ok(Some(Err("is no manifest".to_owned())));
        };
        let layers = found.layers.unwrap_or_default();
        let [layer] = layers.as_slice() else { return Ok(None) };
        if layer.media_type != BUNDLE {
            return Ok(None);
        }
        if found.subject.is_none_or(|it| it.digest != format!("sha256:{}", signed.manifest)) {
            return Ok(Some(Err("refers to another manifest".to_owned())));
        }
        self.verify(client, layer, BUNDLE_LIMIT, Found::Bundle(layer.digest.clone()), signed).await.map(Some)
    }

    async fn tagged(&mut self, client: &mut Client<'_>, signed: &Signed<'_>) -> Result<Option<SignedOnce>, PullError> {
        let tag = format!("sha256-{}.sig", signed.manifest);
        let Some(bytes) = client.tagged(&tag).await? else { return Ok(None) };
        let manifest: Manifest = serde_json::from_slice(&bytes)
            .map_err(|error| client.refused(&format!("has no manifest under the tag {tag}: {error}")))?;
        for layer in manifest.layers.unwrap_or_default().iter().filter(|it| it.media_type == PAYLOAD).take(TAGGED) {
            let Some(signature) = layer.annotations.get(ANNOTATION) else { continue };
            let found = Found::Payload(layer.digest.clone(), signature.clone());
            let read = self.verify(client, layer, PAYLOAD_LIMIT, found, signed).await;
            if let Some(once) = self.judge(&layer.digest, read.map(Some))? {
                return Ok(Some(once));
            }
        }
        Ok(None)
    }

    async fn verify(
        &self,
        client: &mut Client<'_>,
        layer: &Descriptor,
        limit: usize,
        found: Found,
        signed: &Signed<'_>,
    ) -> Result<Result<SignedOnce, String>, PullError> {
        let blob = match layer.blob(limit) {
            Ok(blob) => client.blob(blob).await?,
            Err(because) => return Ok(Err(because)),
        };
        Ok(found.verify(&blob, signed).map(|signer| SignedOnce { signer, found, blob }))
    }

    /// A signature that does not count is a reason. One that cannot be read keeps no other from being looked at.
    fn judge(
        &mut self,
        digest: &str,
        read: Result<Option<Result<SignedOnce, String>>, PullError>,
    ) -> Result<Option<SignedOnce>, PullError> {
        match read {
            Ok(None) => {}
            Ok(Some(Ok(once))) => return Ok(Some(once)),
            Ok(Some(Err(because))) => self.reasons.push(format!("{} {because}", foreign(digest))),
            Err(PullError::Refused(because)) => self.reasons.push(because),
            Err(PullError::Unavailable(because)) => self.unavailable = Some(because),
        }
        Ok(None)
    }
}
