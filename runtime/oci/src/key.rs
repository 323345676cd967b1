//! Public keys of those who sign: the key decides the algorithm.

use std::path::{Path, PathBuf};

use egress::der::{BIT_STRING, DerElement, INTEGER, SEQUENCE};
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};
use rustls_pki_types::alg_id;
use rustls_pki_types::pem::{PemObject as _, SectionKind};
use tokio::io::AsyncReadExt as _;

use crate::error::PullError;
use crate::remote::WrittenIn;

/// The largest file.
const LIMIT: u64 = 64 << 10;

/// The bytes before the point of a key on P-256, and on P-384.
const P256: [u8; 26] =
    *b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";
const P384: [u8; 23] = *b"\x30\x76\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22\x03\x62\x00";
/// The bytes before the point of a key on Ed25519.
const ED25519: [u8; 12] = *b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";

/// A public key.
pub(crate) struct SignerKey {
    /// The file's name, for messages.
    pub(crate) name: String,
    algorithm: &'static dyn VerificationAlgorithm,
    bytes: Vec<u8>,
}

impl SignerKey {
    /// Reads a PEM file with one public key.
    ///
    /// # Errors
    ///
    /// A clause that says what the file is instead, and what to do.
    async fn read(path: &Path, written: WrittenIn) -> Result<Self, String> {
        let name = path.display().to_string();
        let text =
            text_of(path).await.map_err(|error| format!("cannot be read: {error}; {}", written.missing_file()))?;
        let (algorithm, bytes) = of(&text)?;
        Ok(Self { name, algorithm, bytes })
    }

    /// Whether the owner of this key has signed the message.
    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(self.algorithm, &self.bytes).verify(message, signature).is_ok()
    }
}

/// Public keys, of which any one is enough.
pub struct Keys(pub(crate) Vec<SignerKey>);

impl Keys {
    /// Reads a PEM file for each key.
    ///
    /// # Errors
    ///
    /// A sentence that says which file is no public key, what it is instead, and what to do.
    pub async fn read(paths: &[PathBuf], written: WrittenIn) -> Result<Self, PullError> {
        let mut keys = Vec::new();
        for path in paths {
            let refused = |because| PullError::Refused(format!("{} {because}", written.key(path)));
            keys.push(SignerKey::read(path, written).await.map_err(refused)?);
        }
        Ok(Self(keys))
    }
}

async fn text_of(path: &Path) -> std::io::Result<Vec<u8>> {
    // Opening a pipe would wait for a writer.
    if !tokio::fs::metadata(path).await?.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    tokio::fs::File::open(path).await?.take(LIMIT).read_to_end(&mut bytes).await?;
    Ok(bytes)
}

type Parsed = (&'static dyn VerificationAlgorithm, Vec<u8>);

fn of(pem: &[u8]) -> Result<Parsed, String> {
    let make = "write the public key, as cosign public-key prints it";
    let sections: Result<Vec<(SectionKind, Vec<u8>)>, _> = <(SectionKind, Vec<u8>)>::pem_slice_iter(pem).collect();
    let sections = sections.map_err(|_| format!("is no PEM file; {make}"))?;
    let is_private = String::from_utf8_lossy(pem).contains("PRIVATE KEY-----");
    match sections.as_slice() {
        [(SectionKind::PublicKey, der)] if !is_private => of_der(der),
        _ if is_private => {
            Err(format!("holds a private key, which nobody needs here; {make}, and keep the private one away"))
        }
        [(SectionKind::Certificate, _), ..] => {
            Err("is a certificate, and a public key is wanted: openssl x509 -pubkey -noout takes it out".to_owned())
        }
        [] => Err(format!("holds no key; {make}")),
        _ => Err(format!("holds something else than one public key; {make}, each in a file of its own")),
    }
}

fn of_der(der: &[u8]) -> Result<Parsed, String> {
    if let Some(point) = der.strip_prefix(&P256) {
        return if is_point(point, 32) { Ok((&ECDSA_P256_SHA256_ASN1, point.to_vec())) } else { Err(damaged()) };
    }
    if let Some(point) = der.strip_prefix(&P384) {
        return if is_point(point, 48) { Ok((&ECDSA_P384_SHA384_ASN1, point.to_vec())) } else { Err(damaged()) };
    }
    if der.starts_with(&ED25519) {
        return Err(
            "is a key on Ed25519, with which cosign signs in a form that cannot be verified here; use a key on P-256, \
                    which cosign generate-key-pair makes"
                .to_owned(),
        );
    }
    let key = rsa_key(der);
    match (key, key.and_then(modulus).map(<[u8]>::len)) {
        (Some(key), Some(256..=1024)) => Ok((&RSA_PKCS1_2048_8192_SHA256, key.to_vec())),
        (Some(_), Some(bytes)) => Err(format!("is an RSA key of {} bits; from 2048 to 8192 can be used", bytes * 8)),
        _ => Err("is a key of an unknown kind; keys on P-256, on P-384 and of RSA can be used".to_owned()),
    }
}

fn damaged() -> String {
    "is a damaged key; write it again".to_owned()
}

fn is_point(point: &[u8], coordinate: usize) -> bool {
    point.len() == 1 + 2 * coordinate && point[0] == 4
}

/// The RSA key in a `SubjectPublicKeyInfo`.
fn rsa_key(der: &[u8]) -> Option<&[u8]> {
    let info = DerElement::only(der)?.tagged(SEQUENCE)?;
    let (algorithm, rest) = DerElement::first(info)?;
    let is_rsa = algorithm.tagged(SEQUENCE)? == alg_id::RSA_ENCRYPTION.as_ref();
    DerElement::only(rest)?.tagged(BIT_STRING)?.strip_prefix(&[0]).filter(|_| is_rsa)
}

/// The modulus of an RSA key: its first number, without a sign.
fn modulus(key: &[u8]) -> Option<&[u8]> {
    let (modulus, _) = DerElement::first(DerElement::only(key)?.tagged(SEQUENCE)?)?;
    let bytes = modulus.tagged(INTEGER)?;
    Some(bytes.strip_prefix(&[0]).unwrap_or(bytes))
}
