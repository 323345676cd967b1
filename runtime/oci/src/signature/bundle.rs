//! The bundle form: a statement about a digest, signed in an envelope (DSSE). It names no repository.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::signed::{Signed, signer};
use crate::descriptor::Descriptor;
use crate::error::foreign;
use crate::key::SignerKey;

/// The type of a bundle, as an artifact and as a layer.
pub(crate) const ARTIFACT: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// The largest bundle, in bytes.
pub(crate) const LIMIT: usize = 1 << 20;

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// The predicate type by which a thing was signed, and not something found out about it.
const SIGN: &str = "https://sigstore.dev/cosign/sign/v1";

/// Whether an entry of an index says that it is a bundle; those are looked at first, and the others too.
pub(crate) fn is_first(entry: &Descriptor) -> bool {
    entry.artifact_type.as_deref() == Some(ARTIFACT)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    media_type: String,
    verification_material: Material,
    dsse_envelope: Option<Envelope>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    public_key: Option<PublicKey>,
    certificate: Option<IgnoredAny>,
    x509_certificate_chain: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct PublicKey {
    hint: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Deserialize)]
struct EnvelopeSignature {
    sig: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    subject: Vec<StatementSubject>,
    predicate_type: String,
}

#[derive(Deserialize)]
struct StatementSubject {
    digest: SubjectDigest,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectDigest {
    sha256: String,
}

/// Which key a bundle says that it is of.
pub(super) fn key_id(bundle: &[u8]) -> Result<String, String> {
    let bundle: Bundle = serde_json::from_slice(bundle).map_err(|error| format!("is no bundle: {error}"))?;
    let Some(key) = bundle.verification_material.public_key else {
        return Err("is signed without a key (keyless), which cannot be verified here".to_owned());
    };
    Ok(foreign(&key.hint.unwrap_or_default()))
}

pub(super) fn verify<'a>(bundle: &[u8], signed: &Signed<'a>) -> Result<&'a SignerKey, String> {
    let bundle: Bundle = serde_json::from_slice(bundle).map_err(|error| format!("is no bundle: {error}"))?;
    if bundle.media_type != ARTIFACT {
        return Err(format!("is a bundle of another version, {}", foreign(&bundle.media_type)));
    }
    let material = bundle.verification_material;
    if material.certificate.is_some() || material.x509_certificate_chain.is_some() || material.public_key.is_none() {
        return Err("is signed without a key (keyless), which cannot be verified here".to_owned());
    }
    let envelope = bundle.dsse_envelope.ok_or("is a bundle without an envelope")?;
    let [EnvelopeSignature { sig }] = envelope.signatures.as_slice() else {
        return Err(format!("has {} signatures in one envelope", envelope.signatures.len()));
    };
    let payload = STANDARD.decode(&envelope.payload).map_err(|_| "has a payload that is not base64".to_owned())?;
    let key = signer(&encoded(&envelope.payload_type, &payload), sig, signed)?;
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(format!("is a signature of something else, {}", foreign(&envelope.payload_type)));
    }
    let statement: Statement = serde_json::from_slice(&payload).map_err(|error| format!("is no statement: {error}"))?;
    if statement.predicate_type != SIGN {
        return Err(format!("only attests {}, which is no approval", foreign(&statement.predicate_type)));
    }
    if statement.kind != STATEMENT {
        return Err(format!("is a statement of another version, {}", foreign(&statement.kind)));
    }
    let [StatementSubject { digest: SubjectDigest { sha256 } }] = statement.subject.as_slice() else {
        return Err(format!("is about {} things", statement.subject.len()));
    };
    if *sha256 != signed.manifest.to_string() {
        return Err(format!("is a signature of another manifest, sha256:{}", foreign(sha256)));
    }
    Ok(key)
}

/// The bytes that are signed: the type and the payload, each with its length.
pub(super) fn encoded(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}
