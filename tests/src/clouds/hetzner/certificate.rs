//! A TLS certificate, from what a test says about it to the whole object that the service shows.

use serde_json::{Value, json};

use super::selector::Labels;

/// A certificate, without its private key.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// Unique in the whole service.
    pub id: u64,
    /// Unique in the project.
    pub name: String,
    /// The party that renews it.
    pub kind: CertificateKind,
    /// The names that it is for.
    pub domain_names: Vec<String>,
    /// Its labels.
    pub labels: Labels,
}

/// Where a certificate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateKind {
    /// Uploaded by its owner.
    Uploaded,
    /// Issued by Let's Encrypt, and renewed by the service.
    Managed(Issuance),
}

/// How far the first issuance of a managed certificate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issuance {
    /// It is tried.
    Pending,
    /// It has succeeded.
    Completed,
    /// It has failed.
    Failed,
}

impl Certificate {
    /// A certificate that its owner uploaded.
    #[must_use]
    pub fn new(id: u64, name: &str) -> Certificate {
        let domain_names = vec!["www.example.com".to_owned()];
        Certificate { id, name: name.to_owned(), kind: CertificateKind::Uploaded, domain_names, labels: Labels::new() }
    }

    /// Makes it one of Let's Encrypt.
    #[must_use]
    pub fn managed(mut self) -> Certificate {
        self.kind = CertificateKind::Managed(Issuance::Completed);
        self
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Certificate {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// The object as the service shows it. `load_balancers` are those that use it.
    pub(super) fn object(&self, load_balancers: &[u64]) -> Value {
        let issued = !matches!(self.kind, CertificateKind::Managed(Issuance::Pending | Issuance::Failed));
        let status = match self.kind {
            CertificateKind::Uploaded => Value::Null,
            CertificateKind::Managed(issuance) => json!({
                "issuance": match issuance {
                    Issuance::Pending => "pending",
                    Issuance::Completed => "completed",
                    Issuance::Failed => "failed",
                },
                "renewal": if issued { "scheduled" } else { "unavailable" },
                "error": (issuance == Issuance::Failed)
                    .then(|| json!({ "code": "dns_zone_not_found", "message": "DNS zone not found" })),
            }),
        };
        json!({
            "id": self.id,
            "name": self.name,
            "labels": self.labels,
            "type": if self.kind == CertificateKind::Uploaded { "uploaded" } else { "managed" },
            "certificate": issued.then_some("-----BEGIN CERTIFICATE-----\n..."),
            "created": "2026-08-20T09:30:12+00:00",
            "not_valid_before": issued.then_some("2026-08-20T09:30:12+00:00"),
            "not_valid_after": issued.then_some("2027-08-20T09:30:12+00:00"),
            "domain_names": self.domain_names,
            "fingerprint": issued.then_some("03:c7:55:9b:2a:d1:04:17:09:f6:d0:7f:18:34:63:d4:3e:5f"),
            "status": status,
            "used_by": load_balancers.iter().map(|it| json!({ "id": it, "type": "load_balancer" })).collect::<Vec<_>>(),
        })
    }
}
