//! Certificates where TLS ends at the load balancer: those of their owner, or one that the cloud issues.

use std::collections::{BTreeMap, BTreeSet};

use aerostat_sdk::{Error, LoadBalancer, Result};

use super::annotations::{
    ACME_STAGING, CERTIFICATE_TYPE, HTTP_CERTIFICATES, MANAGED_DOMAINS, MANAGED_NAME, Reading, Source,
};
use crate::api::certificates::{self as api, Certificate, Managed};
use crate::api::load_balancers::{CLUSTER, OWN_SERVICE, SERVICE};

/// The label of certificates from the issuer's test system.
const STAGING: &str = "HC-Use-Staging-CA";

/// What the annotations say about certificates.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Certificates {
    /// Nothing: those that a port has stay.
    Unsaid,
    /// These, by id or name.
    Uploaded(Vec<String>),
    /// One that the cloud issues.
    Managed { name: String, domains: Vec<String>, staging: bool },
}

impl Certificates {
    /// # Errors
    ///
    /// `invalid`, naming the wrong value; also if the domains of a managed certificate are missing.
    pub(super) fn of(service: &LoadBalancer, annotations: &mut Reading<'_>) -> Result<Self> {
        let source = annotations.read(&CERTIFICATE_TYPE)?.unwrap_or_default();
        match source {
            Source::Uploaded => Ok(annotations.read(&HTTP_CERTIFICATES)?.map_or(Self::Unsaid, Self::Uploaded)),
            Source::Managed => {
                let domains = annotations.read(&MANAGED_DOMAINS)?.ok_or_else(|| {
                    Error::invalid(format_args!(
                        "annotation {}: \"managed\" needs annotation {}",
                        CERTIFICATE_TYPE.name, MANAGED_DOMAINS.name
                    ))
                })?;
                let name = annotations.read(&MANAGED_NAME)?;
                let name = name.unwrap_or_else(|| format!("ccm-managed-certificate-{}", service.owner.uid));
                Ok(Self::Managed { name, domains, staging: annotations.flag(&ACME_STAGING)? })
            }
        }
    }

    /// Their ids, with what the cloud has to be asked for, and a managed certificate created if it is missing.
    ///
    /// # Errors
    ///
    /// `invalid`, if there is none of a name; and whatever the cloud answers.
    pub(super) fn ids(&self, service: &LoadBalancer) -> Result<Option<BTreeSet<u64>>> {
        match self {
            Self::Unsaid => Ok(None),
            Self::Uploaded(all) => all.iter().map(|it| uploaded(it)).collect::<Result<_>>().map(Some),
            Self::Managed { name, domains, staging } => {
                let id = managed(service, name, domains, *staging)?;
                Ok(Some(BTreeSet::from([id])))
            }
        }
    }
}

fn uploaded(id_or_name: &str) -> Result<u64> {
    if let Ok(id) = id_or_name.parse() {
        return Ok(id);
    }
    let found = api::named(id_or_name)?;
    found.map(|it| it.id).ok_or_else(|| {
        Error::invalid(format_args!("certificate {id_or_name:?} not found (annotation {})", HTTP_CERTIFICATES.name))
    })
}

fn managed(service: &LoadBalancer, name: &str, domains: &[String], staging: bool) -> Result<u64> {
    let mark = service.owner.mark()?;
    match &api::labelled(&format!("{SERVICE}=={}", mark.service))?[..] {
        [one] => return Ok(one.id),
        [] => {}
        [one, other, ..] => {
            return Err(Error::invalid(format_args!(
                "certificates {} ({}) and {} ({}) both have the label {SERVICE} of this Service: take it off one of them",
                one.id, one.name, other.id, other.name
            )));
        }
    }
    let mut labels =
        BTreeMap::from([(SERVICE, mark.service.clone()), (OWN_SERVICE, mark.service.clone()), (CLUSTER, mark.cluster)]);
    if staging {
        labels.insert(STAGING, "true".to_owned());
    }
    match api::create(&Managed { name, kind: "managed", domain_names: domains, labels })? {
        Some(made) => Ok(made.id),
        None => taken(name, &mark.service),
    }
}

/// The name is taken: by the one that an earlier call has created, unless its label says that it is another Service's.
fn taken(name: &str, uid: &str) -> Result<u64> {
    let Some(Certificate { id, labels, .. }) = api::named(name)? else {
        return Err(Error::unavailable(format_args!(
            "certificate {name:?} is there, and the cloud does not list it yet"
        )));
    };
    match labels.get(SERVICE) {
        Some(other) if other != uid => Err(Error::invalid(format_args!(
            "annotation {}: {name:?} is the name of certificate {id}, which is another Service's: choose another",
            MANAGED_NAME.name
        ))),
        Some(_) | None => Ok(id),
    }
}
