//! TLS: passed through, or ended by the load balancer with a certificate.

use aerostat_sdk::allowed::Allowed;
use aerostat_sdk::{Error, Result};

use super::annotations::{CERTIFICATE_ID, CERTIFICATE_NAME, DoReading, TLS_PASSTHROUGH};
use crate::api::certificates;
use crate::api::load_balancers::{ForwardingRule, LoadBalancer as Live};

/// TLS, as the annotations ask for it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Tls {
    /// Nothing.
    None,
    /// The targets end it.
    Passthrough,
    /// It ends at the load balancer, with the certificate with this id, or the one that took its place.
    Id(String),
    /// It ends at the load balancer, with the certificate that has this name now.
    Name(String),
    /// Both at once, which is an error if a port speaks TLS. Holds the annotation that excludes passthrough.
    Contradiction(&'static str),
}

impl Tls {
    /// # Errors
    ///
    /// `invalid`, if the annotations contradict each other. Of a load balancer that exists that is an error only if a port
    /// speaks TLS, as in the vendor's controller.
    pub(super) fn of(annotations: &mut DoReading<'_>) -> Result<Self> {
        let meaning = "counts as false: it is neither true nor false";
        let passthrough = annotations.read_or_default(&TLS_PASSTHROUGH, meaning);
        let id = annotations.read_or_shown(&CERTIFICATE_ID, |live| shown(live).map(str::to_owned))?;
        match (passthrough, id, annotations.text(&CERTIFICATE_NAME)) {
            (false, Some(id), _) => Ok(Self::Id(id)),
            (false, None, Some(name)) => Ok(Self::Name(name.to_owned())),
            (false, None, None) => Ok(Self::None),
            (true, None, None) => Ok(Self::Passthrough),
            (true, id, _) => {
                let other = if id.is_some() { CERTIFICATE_ID.name } else { CERTIFICATE_NAME.name };
                if annotations.live.is_none() { Err(contradiction(other)) } else { Ok(Self::Contradiction(other)) }
            }
        }
    }

    /// The certificate for the rules before [`Self::resolve`]: its id, or its name.
    pub(super) fn certificate(&self) -> Option<&String> {
        match self {
            Self::Id(it) | Self::Name(it) => Some(it),
            Self::None | Self::Passthrough | Self::Contradiction(_) => None,
        }
    }

    /// Puts the id of the current certificate into the rules.
    ///
    /// # Errors
    ///
    /// `invalid`, if no certificate has this name, or the operator does not let authors of Services name it and the load balancer
    /// does not have it; and whatever the cloud answers.
    pub(super) fn resolve(&self, rules: &mut [ForwardingRule], live: Option<&Live>, allowed: &Allowed) -> Result<()> {
        if rules.iter().all(|it| it.certificate_id.is_none()) {
            return Ok(());
        }
        let shown = live.and_then(shown);
        let has = |id: &str| {
            live.is_some_and(|it| it.forwarding_rules.iter().any(|it| it.certificate_id.as_deref() == Some(id)))
        };
        let check = |key: &str, value: &str, id: Option<&str>| {
            if id.is_some_and(has) { Ok(()) } else { allowed.check(key, value) }
        };
        let id = match self {
            Self::None | Self::Passthrough | Self::Contradiction(_) => return Ok(()),
            Self::Id(id) => {
                let current = match shown {
                    Some(shown) if shown != id => current(id, shown)?,
                    _ => id.clone(),
                };
                check(CERTIFICATE_ID.name, id, Some(&current))?;
                current
            }
            Self::Name(name) => {
                let key = CERTIFICATE_NAME.name;
                if shown.is_none() {
                    check(key, name, None)?;
                }
                let missing =
                    || Error::invalid(format_args!("certificate with name {name:?} not found (annotation {key})"));
                let id = certificates::named(name)?.ok_or_else(missing)?.id;
                check(key, name, Some(&id))?;
                id
            }
        };
        for rule in rules {
            rule.certificate_id = rule.certificate_id.as_ref().map(|_| id.clone());
        }
        Ok(())
    }
}

/// The error for passthrough beside what the annotation with this key says.
pub(super) fn contradiction(other: &str) -> Error {
    Error::invalid(format_args!("annotations {} and {other} cannot both be set", TLS_PASSTHROUGH.name))
}

/// The certificate that a load balancer has now.
fn shown(live: &Live) -> Option<&str> {
    live.forwarding_rules.iter().find_map(|it| it.certificate_id.as_deref())
}

/// Which of two certificates is the current one: the cloud gives a certificate of Let's Encrypt another id when it renews it,
/// and changes the load balancer; the annotation keeps the old id, which may not exist any more.
fn current(annotated: &str, shown: &str) -> Result<String> {
    let renewed = match certificates::find(shown)? {
        Some(theirs) if theirs.kind == "lets_encrypt" => {
            certificates::find(annotated)?.is_none_or(|ours| ours.name == theirs.name)
        }
        _ => false,
    };
    Ok(if renewed { shown } else { annotated }.to_owned())
}
