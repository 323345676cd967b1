//! The project's TLS certificates: uploaded, and issued by Let's Encrypt.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::simulator::Answer;

use super::action::Resource;
use super::certificate::{Certificate, CertificateKind, Issuance};
use super::errors::{self, Refused, parsed};
use super::listing::{self, Filter, Query};
use super::project::{self, CERTIFICATE, Change, Project, Shared};
use super::selector::{self, Labels};

/// The certificates by id. Tests change them at any time; the next answer shows it.
#[derive(Clone, Debug)]
pub struct Certificates(pub(super) Shared);

/// The body of `POST /certificates`.
#[derive(Deserialize)]
struct Wanted {
    name: String,
    #[serde(default)]
    labels: Labels,
    #[serde(rename = "type")]
    kind: Option<String>,
    certificate: Option<String>,
    private_key: Option<String>,
    domain_names: Option<Vec<String>>,
}

impl Certificates {
    /// Adds a certificate, in the place of one with the same id.
    pub fn insert(&self, certificate: Certificate) {
        self.0.now().certificates.insert(certificate.id, certificate);
    }

    /// Takes a certificate away: from now on there is none with this id.
    pub fn remove(&self, id: u64) -> Option<Certificate> {
        self.0.now().certificates.remove(&id)
    }

    /// Copies of all as they are now.
    #[must_use]
    pub fn all(&self) -> Vec<Certificate> {
        self.0.now().certificates.values().cloned().collect()
    }

    /// `GET /certificates/{id}`.
    pub(super) fn one(&self, id: &str) -> Result<Answer, Refused> {
        let project = self.0.now();
        let certificate = project::found(&project.certificates, id, "certificate")?;
        Ok(project::one("certificate", shown(&project, certificate)))
    }

    /// `GET /certificates`.
    pub(super) fn page(&self, query: &Query) -> Result<Answer, Refused> {
        let filter = Filter::new(query)?;
        let kinds = Vec::from_iter(listing::values(query, "type"));
        let project = self.0.now();
        let all = project.certificates.values().filter(|it| filter.shows(&it.name, &it.labels, None));
        let objects = all.map(|it| shown(&project, it));
        let chosen = objects.filter(|it| kinds.is_empty() || it["type"].as_str().is_some_and(|it| kinds.contains(&it)));
        listing::page(query, "certificates", chosen.collect())
    }

    /// `POST /certificates`.
    pub(super) fn create(&self, body: &[u8]) -> Result<Answer, Refused> {
        let Wanted { name, labels, kind, certificate, private_key, domain_names } = parsed(body)?;
        let mut project = self.0.now();
        if project.certificates.values().any(|it| it.name == name) {
            return Err(errors::refused(409, "uniqueness_error", "certificate name is already used"));
        }
        if name.is_empty() || !labels.iter().all(|(key, value)| selector::is_key(key) && selector::is_value(value)) {
            return Err(Box::new(errors::invalid("labels", "name or labels are invalid")));
        }
        let managed = kind.as_deref() == Some("managed");
        let complete = if managed {
            domain_names.as_ref().is_some_and(|it| !it.is_empty())
        } else {
            certificate.is_some() && private_key.is_some()
        };
        if !complete {
            let field = if managed { "domain_names" } else { "certificate" };
            return Err(Box::new(errors::invalid(field, "missing data for required field")));
        }
        let id = project.next_id();
        let kind = if managed { CertificateKind::Managed(Issuance::Pending) } else { CertificateKind::Uploaded };
        let made = Certificate { id, name, kind, domain_names: domain_names.unwrap_or_default(), labels };
        let object = made.object(&[]);
        project.certificates.insert(id, made);
        let about = vec![Resource { kind: CERTIFICATE, id }];
        let action = managed.then(|| project.start("create_certificate", about, Change::Issue));
        Ok(Answer::created(&json!({ "certificate": object, "action": action })))
    }

    /// `DELETE /certificates/{id}`.
    pub(super) fn delete(&self, id: &str) -> Result<Answer, Refused> {
        let mut project = self.0.now();
        let id = project::found(&project.certificates, id, "certificate")?.id;
        if !users(&project, id).is_empty() {
            return Err(errors::refused(409, "conflict", "the certificate is used by a load balancer"));
        }
        project.certificates.remove(&id);
        Ok(Answer::no_content())
    }
}

fn shown(project: &Project, certificate: &Certificate) -> Value {
    certificate.object(&users(project, certificate.id))
}

/// The load balancers that use a certificate.
fn users(project: &Project, certificate: u64) -> Vec<u64> {
    project.balancers(|it| it.certificates().contains(&certificate))
}
