//! The account's TLS certificates, which load balancers terminate TLS with.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::simulator::Answer;

use super::errors;
use super::listing::{self, Listing};

/// A certificate, without its private key.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// A UUID. Renewing a certificate of Let's Encrypt makes a new one under the same name.
    pub id: String,
    /// Compared letter by letter.
    pub name: String,
    /// The party that renews it.
    pub kind: CertificateKind,
}

/// Where a certificate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateKind {
    /// Uploaded by its owner.
    Custom,
    /// Issued by Let's Encrypt, and renewed by the service.
    LetsEncrypt,
}

impl Certificate {
    /// A verified certificate that its owner uploaded.
    #[must_use]
    pub fn new(id: &str, name: &str) -> Certificate {
        Certificate { id: id.to_owned(), name: name.to_owned(), kind: CertificateKind::Custom }
    }

    /// Makes it one of Let's Encrypt.
    #[must_use]
    pub fn lets_encrypt(mut self) -> Certificate {
        self.kind = CertificateKind::LetsEncrypt;
        self
    }

    fn object(&self) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "not_after": "2027-02-22T00:23:00Z",
            "sha1_fingerprint": "dfcc9f57d86bf58e321c2c6c31c7a971be244ac7",
            "created_at": "2026-08-08T16:02:37Z",
            "dns_names": ["www.example.com", "example.com"],
            "state": "verified",
            "type": match self.kind {
                CertificateKind::Custom => "custom",
                CertificateKind::LetsEncrypt => "lets_encrypt",
            },
        })
    }
}

/// The certificates in the order of their making. Tests change them at any time; the next answer shows it.
#[derive(Debug, Default)]
pub struct Certificates {
    all: Mutex<Vec<Certificate>>,
}

impl Certificates {
    /// Adds a certificate, in the place of one with the same id.
    pub fn insert(&self, certificate: Certificate) {
        let mut all = self.lock();
        all.retain(|it| it.id != certificate.id);
        all.push(certificate);
    }

    /// Takes a certificate away: from now on there is none with this id.
    pub fn remove(&self, id: &str) -> Option<Certificate> {
        let mut all = self.lock();
        let place = all.iter().position(|it| it.id == id)?;
        Some(all.remove(place))
    }

    /// A copy of a certificate as it is now.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<Certificate> {
        self.lock().iter().find(|it| it.id == id).cloned()
    }

    /// `GET /v2/certificates/{id}`.
    pub(super) fn one(&self, id: &str) -> Answer {
        self.get(id).map_or_else(errors::not_found, |it| Answer::ok(&json!({ "certificate": it.object() })))
    }

    /// `GET /v2/certificates`.
    pub(super) fn page(&self, query: &[(String, String)]) -> Answer {
        // An empty name is the default of the parameter, and chooses nothing.
        let name = listing::value(query, "name").filter(|it| !it.is_empty());
        let all = self.lock();
        let matching: Vec<&Certificate> = all.iter().filter(|it| name.is_none_or(|name| it.name == name)).collect();
        match Listing::new(query, &["name"]) {
            Ok(listing) => listing.answer("certificates", &matching, |it| it.object()),
            Err(message) => errors::bad_request(message),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Certificate>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
