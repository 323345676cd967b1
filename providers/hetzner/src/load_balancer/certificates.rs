//! Certificates where TLS ends at the load balancer: those of their owner, or one that the cloud issues.

use aerostat_sdk::allowed::Allowed;
use aerostat_sdk::{Error, LoadBalancer, Result, SortedMap, SortedSet};

use super::annotations::{
    ACME_STAGING, CERTIFICATE_TYPE, CertificateSource, HTTP_CERTIFICATES, HetznerReading, MANAGED_DOMAINS, MANAGED_NAME,
};
use super::services;
use crate::api::certificates::{self as api, Certificate, Managed};
use crate::api::load_balancers::{CLUSTER, LoadBalancer as Live, OWN_SERVICE, SERVICE};

/// The label of certificates from the issuer's test system.
const STAGING: &str = "HC-Use-Staging-CA";

/// Certificates, as the annotations ask for them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Certificates {
    /// Nothing: those that a port has stay.
    Unsaid,
    /// These, by id or name.
    Uploaded(Vec<String>),
    /// One that the cloud issues.
    Managed { name: String, domains: Vec<String>, staging: bool },
}

/// Which certificates a Service may name that are not its own.
pub(super) struct Nameable<'a> {
    allowed: &'a Allowed,
    /// Those that its load balancer has on ports that the Service still has: another port is added after the former is gone.
    held: SortedSet<u64>,
    /// Whether any port speaks HTTPS. Otherwise no certificate is used.
    is_used: bool,
}

impl<'a> Nameable<'a> {
    /// # Errors
    ///
    /// `invalid`, naming the annotation about a protocol and its value.
    pub(super) fn of(service: &LoadBalancer, allowed: &'a Allowed, live: Option<&Live>) -> Result<Self> {
        let services = live.iter().flat_map(|it| &it.services);
        let services = services.filter(|it| service.ports.iter().any(|port| port.port == it.listen_port));
        let held = services.filter_map(|it| it.http.as_ref()?.certificates.as_ref()).flatten();
        let is_used = services::speaks_https(service, &mut HetznerReading::of(service, live))?;
        Ok(Self { allowed, held: held.copied().collect(), is_used })
    }

    fn check(&self, annotation: &str, id_or_name: &str, id: Option<u64>) -> Result<()> {
        let is_held = id.is_some_and(|it| self.held.contains(&it));
        if is_held || !self.is_used { Ok(()) } else { self.allowed.check(annotation, id_or_name) }
    }
}

impl Certificates {
    /// # Errors
    ///
    /// `invalid`, naming the wrong value; also if the domains of a managed certificate are missing.
    pub(super) fn of(service: &LoadBalancer, annotations: &mut HetznerReading<'_>) -> Result<Self> {
        let source = annotations.read(&CERTIFICATE_TYPE)?.unwrap_or_default();
        match source {
            CertificateSource::Uploaded => {
                Ok(annotations.read(&HTTP_CERTIFICATES)?.map_or(Self::Unsaid, Self::Uploaded))
            }
            CertificateSource::Managed => {
                let domains = annotations.read(&MANAGED_DOMAINS)?.ok_or_else(|| {
                    Error::invalid(format_args!(
                        "annotation {}: \"managed\" needs annotation {}",
                        CERTIFICATE_TYPE.name, MANAGED_DOMAINS.name
                    ))
                })?;
                let name = annotations.read(&MANAGED_NAME)?;
                let name = name.unwrap_or_else(|| own_name(&service.owner.uid));
                Ok(Self::Managed { name, domains, staging: annotations.flag(&ACME_STAGING)? })
            }
        }
    }

    /// Refuses those that a Service without a load balancer may not name.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the annotation, the certificate and the setting.
    pub(super) fn check(&self, nameable: &Nameable<'_>) -> Result<()> {
        match self {
            Self::Uploaded(all) => all.iter().try_for_each(|it| nameable.check(HTTP_CERTIFICATES.name, it, None)),
            Self::Unsaid | Self::Managed { .. } => Ok(()),
        }
    }

    /// Their ids, with what the cloud has to be asked for, and a managed certificate created if it is missing.
    ///
    /// # Errors
    ///
    /// `invalid`, if there is none of a name, or the Service may not name it; and whatever the cloud answers.
    pub(super) fn ids(&self, service: &LoadBalancer, nameable: &Nameable<'_>) -> Result<Option<SortedSet<u64>>> {
        match self {
            Self::Unsaid => Ok(None),
            Self::Uploaded(all) => all.iter().map(|it| uploaded(it, nameable)).collect::<Result<_>>().map(Some),
            Self::Managed { name, domains, staging } => {
                let id = managed(service, name, domains, *staging, nameable)?;
                Ok(Some(SortedSet::from([id])))
            }
        }
    }
}

/// The name of the certificate that is issued for a Service, unless it says another.
fn own_name(uid: &str) -> String {
    format!("ccm-managed-certificate-{uid}")
}

fn uploaded(id_or_name: &str, nameable: &Nameable<'_>) -> Result<u64> {
    let key = HTTP_CERTIFICATES.name;
    if nameable.held.is_empty() {
        nameable.check(key, id_or_name, None)?;
    }
    let id = match id_or_name.parse() {
        Ok(id) => id,
        Err(_) => {
            let missing = || Error::invalid(format_args!("certificate {id_or_name:?} not found (annotation {key})"));
            api::named(id_or_name)?.ok_or_else(missing)?.id
        }
    };
    nameable.check(key, id_or_name, Some(id)).map(|()| id)
}

fn managed(
    service: &LoadBalancer,
    name: &str,
    domains: &[String],
    staging: bool,
    nameable: &Nameable<'_>,
) -> Result<u64> {
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
    let mut labels = SortedMap::from([
        (SERVICE, mark.service.clone()),
        (OWN_SERVICE, mark.service.clone()),
        (CLUSTER, mark.cluster),
    ]);
    if staging {
        labels.insert(STAGING, "true".to_owned());
    }
    match api::create(&Managed { name, kind: "managed", domain_names: domains, labels })? {
        Some(made) => Ok(made.id),
        None => taken(name, &mark.service, nameable),
    }
}

/// The name is taken: by the one that an earlier call has created, unless its label says that it is another Service's. One without
/// a label is nobody's, and for the operator to let authors name, unless its name has the Service's UID in it.
fn taken(name: &str, uid: &str, nameable: &Nameable<'_>) -> Result<u64> {
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
        Some(_) => Ok(id),
        None if name == own_name(uid) => Ok(id),
        None => nameable.check(MANAGED_NAME.name, name, Some(id)).map(|()| id),
    }
}
