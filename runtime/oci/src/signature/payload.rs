//! The tag form: a payload that names the digest and the repository, signed as it stands.

use serde::Deserialize;

use super::signed::{Signed, signer};
use crate::error::foreign;
use crate::key::SignerKey;

/// The type of a layer with a payload.
pub(crate) const PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The annotation of such a layer that holds the signature.
pub(crate) const ANNOTATION: &str = "dev.cosignproject.cosign/signature";
/// The largest payload, in bytes.
pub(crate) const LIMIT: usize = 64 << 10;

const KIND: &str = "cosign container image signature";

#[derive(Deserialize)]
struct Payload {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    identity: SignedIdentity,
    image: SignedImage,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct SignedIdentity {
    docker_reference: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct SignedImage {
    docker_manifest_digest: String,
}

/// Where a payload says that it was signed.
pub(super) fn reference(payload: &[u8]) -> Result<String, String> {
    let Payload { critical } =
        serde_json::from_slice(payload).map_err(|error| format!("is a signature of something else: {error}"))?;
    Ok(foreign(&critical.identity.docker_reference))
}

pub(super) fn verify<'a>(payload: &[u8], signature: &str, signed: &Signed<'a>) -> Result<&'a SignerKey, String> {
    let key = signer(payload, signature, signed)?;
    let Payload { critical } =
        serde_json::from_slice(payload).map_err(|error| format!("is a signature of something else: {error}"))?;
    if critical.kind != KIND {
        return Err(format!("is a signature of something else, {}", foreign(&critical.kind)));
    }
    if critical.image.docker_manifest_digest != format!("sha256:{}", signed.manifest) {
        let other = foreign(&critical.image.docker_manifest_digest);
        return Err(format!("is a signature of another manifest, {other}"));
    }
    if critical.identity.docker_reference != signed.name {
        return Err(format!(
            "is a signature of {} and not of {}; for a mirror, write where it was signed as {}",
            foreign(&critical.identity.docker_reference),
            signed.name,
            signed.written.signed_as()
        ));
    }
    Ok(key)
}
