//! Annotations of the vendor's controller that are not served at load balancers of either kind: a value with which a Service would be served
//! otherwise than it asks for is refused, and the others have no effect, which is told.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::form::{AnyCase, OneOf, Text};
use aerostat_sdk::{Error, Result};

use super::annotations::vendor;

aerostat_sdk::table! {
    /// All of them.
    pub(crate) const TABLE;
    NETWORK: AnyCase<()> = (vendor!("network-type"), AnyCase(OneOf(&[("vpc", ())])), "The network of one of the address type intranet. classic is refused: what is made today is in a VPC.").default("vpc");
    BACKEND_TYPE: AnyCase<()> = ("service.beta.kubernetes.io/backend-type", AnyCase(OneOf(&[("ecs", ())])), "Nodes take traffic. eni is refused: pods are no targets here.").default("ecs");
    BACKEND_FAMILY: AnyCase<()> = (vendor!("backend-ip-version"), AnyCase(OneOf(&[("ipv4", ())])), "The family of addresses behind it. Others are refused: they are those of pods.").default("ipv4");
    UNSCHEDULED: Text = (vendor!("remove-unscheduled-backend"), Text("on or off"), "No effect: nodes that take no new pods take traffic, as Kubernetes has it.");
}

/// Refuses values with which a Service would be served otherwise than it asks for.
///
/// # Errors
///
/// `invalid`, naming the annotation.
pub(crate) fn check(annotations: Annotations<'_>) -> Result<()> {
    for key in [NETWORK, BACKEND_TYPE, BACKEND_FAMILY] {
        annotations.read(&key)?;
    }
    Ok(())
}

/// Refuses annotations by their keys, whatever their values are.
///
/// # Errors
///
/// `invalid`, naming the annotation.
pub(crate) fn refuse(annotations: Annotations<'_>, keys: &[&str]) -> Result<()> {
    match keys.iter().find(|it| annotations.text(it).is_some()) {
        Some(key) => Err(Error::invalid(format_args!("annotation {key}: it is not served: take it away"))),
        None => Ok(()),
    }
}

/// The annotations of a Service that have no effect, for its warning: of these those that are written and not off, and those that never have
/// one.
pub(crate) fn without_effect(annotations: Annotations<'_>, names: &[&str]) -> Vec<String> {
    let is_on = |key: &&&str| annotations.text(key).is_some_and(|it| !["false", "off"].contains(&it));
    names.iter().chain(&[UNSCHEDULED.name]).filter(is_on).map(|it| format!("annotation {it}")).collect()
}

#[cfg(test)]
mod tests {
    use aerostat_sdk::LoadBalancer;

    use super::super::annotations::OVERRIDES;
    use super::*;

    fn service(key: &str, value: &str) -> LoadBalancer {
        LoadBalancer::of("default", "web", "uid").with_annotation(key, value)
    }

    #[test]
    fn annotations_that_are_not_served_are_refused() {
        for (key, served, refused) in [
            (NETWORK.name, "vpc", "classic"),
            (BACKEND_TYPE.name, "ecs", "eni"),
            (BACKEND_FAMILY.name, "ipv4", "dualstack"),
        ] {
            assert_eq!(check(Annotations::of(&service(key, served))), Ok(()), "{key}");
            let error = check(Annotations::of(&service(key, refused))).unwrap_err();
            assert!(matches!(&error, Error::Invalid(why) if why.contains(key)), "{error:?}");
        }
    }

    #[test]
    fn annotations_without_an_effect_are_named() {
        for (key, value, is_named) in [
            (OVERRIDES.name, "true", true),
            (OVERRIDES.name, "false", false),
            (UNSCHEDULED.name, "on", true),
            (UNSCHEDULED.name, "off", false),
        ] {
            let named = without_effect(Annotations::of(&service(key, value)), &[OVERRIDES.name]);
            assert_eq!(named == [format!("annotation {key}")], is_named, "{key} {value}: {named:?}");
            assert_eq!(check(Annotations::of(&service(key, value))), Ok(()), "{key}");
        }
    }
}
