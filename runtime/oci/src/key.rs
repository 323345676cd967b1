//! Public keys of those who sign: the key decides the algorithm.

use std::path::{Path, PathBuf};

use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};
use rustls_pki_types::pem::{PemObject as _, SectionKind};
use tokio::io::AsyncReadExt as _;
use x509_parser::oid_registry::{
    OID_EC_P256, OID_KEY_TYPE_EC_PUBLIC_KEY, OID_NIST_EC_P384, OID_PKCS1_RSAENCRYPTION, OID_SIG_ED25519,
};
use x509_parser::prelude::FromDer as _;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

use crate::error::PullError;
use crate::remote::WrittenIn;

/// The largest file.
const LIMIT: u64 = 64 << 10;

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
    let unknown = || "is a key of an unknown kind; keys on P-256, on P-384 and of RSA can be used".to_owned();
    let info = match SubjectPublicKeyInfo::from_der(der) {
        Ok((rest, info)) if rest.is_empty() && info.subject_public_key.unused_bits == 0 => info,
        Ok(_) | Err(_) => return Err(damaged()),
    };
    let key = info.subject_public_key.data.to_vec();
    let algorithm = &info.algorithm.algorithm;
    if *algorithm == OID_KEY_TYPE_EC_PUBLIC_KEY {
        let curve = info.algorithm.parameters.as_ref().and_then(|it| it.as_oid().ok()).ok_or_else(damaged)?;
        let (algorithm, coordinate): (&'static dyn VerificationAlgorithm, _) = match () {
            () if curve == OID_EC_P256 => (&ECDSA_P256_SHA256_ASN1, 32),
            () if curve == OID_NIST_EC_P384 => (&ECDSA_P384_SHA384_ASN1, 48),
            () => return Err(unknown()),
        };
        return if is_point(&key, coordinate) { Ok((algorithm, key)) } else { Err(damaged()) };
    }
    if *algorithm == OID_SIG_ED25519 {
        return Err(
            "is a key on Ed25519, with which cosign signs in a form that cannot be verified here; use a key on P-256, \
                    which cosign generate-key-pair makes"
                .to_owned(),
        );
    }
    if *algorithm != OID_PKCS1_RSAENCRYPTION {
        return Err(unknown());
    }
    match info.parsed() {
        Ok(PublicKey::RSA(rsa)) => match rsa.key_size() {
            2048..=8192 => Ok((&RSA_PKCS1_2048_8192_SHA256, key)),
            bits => Err(format!("is an RSA key of {bits} bits; from 2048 to 8192 can be used")),
        },
        Ok(_) | Err(_) => Err(damaged()),
    }
}

fn damaged() -> String {
    "is a damaged key; write it again".to_owned()
}

fn is_point(point: &[u8], coordinate: usize) -> bool {
    point.len() == 1 + 2 * coordinate && point[0] == 4
}
