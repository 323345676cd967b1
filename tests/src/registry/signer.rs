//! Signs as cosign does, in both of its forms.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, SignatureAlgorithm, SigningKey as _};
use serde_json::{Value, json};

use super::artifact::Artifact;

/// The type of a bundle.
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// A key pair.
pub struct Signer(KeyPair);

impl Signer {
    /// A new one.
    ///
    /// # Panics
    ///
    /// Panics if ring makes no such keys.
    #[must_use]
    pub fn new(algorithm: &'static SignatureAlgorithm) -> Self {
        Self(KeyPair::generate_for(algorithm).expect("ring makes such keys"))
    }

    /// The public key, in PEM.
    #[must_use]
    pub fn public_key(&self) -> String {
        self.0.public_key_pem()
    }

    /// The private key, in PEM.
    #[must_use]
    pub fn private_key(&self) -> String {
        self.0.serialize_pem()
    }

    /// A signature in base64.
    ///
    /// # Panics
    ///
    /// Panics if ring does not sign.
    #[must_use]
    pub fn sign(&self, bytes: &[u8]) -> String {
        STANDARD.encode(self.0.sign(bytes).expect("ring signs"))
    }

    /// The statement of cosign about a manifest with this digest.
    #[must_use]
    pub fn statement(digest: &str) -> Value {
        json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{ "digest": { "sha256": digest }, "annotations": {} }],
            "predicateType": "https://sigstore.dev/cosign/sign/v1",
            "predicate": {},
        })
    }

    /// A bundle with this statement.
    #[must_use]
    pub fn bundle(&self, statement: &Value) -> Value {
        let (kind, payload) = ("application/vnd.in-toto+json", statement.to_string());
        let signed = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
        json!({
            "mediaType": BUNDLE,
            "verificationMaterial": { "publicKey": { "hint": "a hint" } },
            "dsseEnvelope": {
                "payload": STANDARD.encode(payload),
                "payloadType": kind,
                "signatures": [{ "sig": self.sign(signed.as_bytes()) }],
            },
        })
    }

    /// A referrer of the manifest, with a bundle about it.
    #[must_use]
    pub fn referrer(&self, digest: &str) -> Artifact {
        Artifact::referrer(digest, BUNDLE, self.bundle(&Self::statement(digest)).to_string().as_bytes())
    }

    /// The payload that is signed in the tag form.
    #[must_use]
    pub fn payload(name: &str, digest: &str) -> String {
        json!({
            "critical": {
                "identity": { "docker-reference": name },
                "image": { "docker-manifest-digest": format!("sha256:{digest}") },
                "type": "cosign container image signature",
            },
            "optional": null,
        })
        .to_string()
    }
}
