//! Whether another version of a provider fits where the one before serves. Values only.

use cloud_provider::{Description, printable};
use egress::Endpoint;

use crate::manager::claims;

/// How many characters of an annotation's key are shown: more than Kubernetes allows a key to have.
const KEY: usize = 320;

/// Why the version `new` cannot take the place of `old`, where the config has these endpoints, and these annotations in
/// `provider.writesAnnotations`: a sentence; `None` if it can.
///
/// Nothing is gained by a swap, because the gate enforces the config. What is looked at is that nothing breaks, and that
/// nobody is surprised. What both need and the config does not allow is left as it is: the operator may mean it.
pub(super) fn objection(
    old: &Description,
    new: &Description,
    endpoints: &[&Endpoint],
    writes_annotations: &[String],
) -> Option<String> {
    let (before, after) = (called(old), called(new));
    if old.name != new.name {
        return Some(format!(
            "it is the provider {after}, and {before} serves: what another provider finds is not what this one has built. \
             Configure a version of {}, or restart to change the provider",
            old.name
        ));
    }
    let lost = old.provider_id_prefixes.iter().find(|it| !new.provider_id_prefixes.contains(it));
    if let Some(prefix) = lost {
        return Some(format!(
            "{after} does not claim the provider ids that begin with {prefix:?}, as {before} does: their nodes would be left \
             alone. Configure a version that does, or restart to run without them"
        ));
    }
    let is_grown = |it: &&String| !old.writes_annotations.contains(it) && !writes_annotations.contains(it);
    let written: Vec<_> = new.writes_annotations.iter().filter(is_grown).map(|it| printable(it, KEY)).collect();
    if !written.is_empty() {
        return Some(format!(
            "{after} writes annotations that {before} did not, and provider.writesAnnotations does not allow them: add them to \
             --cloud-config and restart with {after}, or stay with {before}. What is missing: {}",
            written.join(", ")
        ));
    }
    let (vip, shared) = (new.ingress.vip && !old.ingress.vip, new.ingress.shared && !old.ingress.shared);
    if vip || shared {
        let what = if vip { "answers ipMode VIP" } else { "shares addresses among Services" };
        return Some(format!(
            "{after} describes that it {what}, and {before} did not: restart with {after} to allow it, or stay with {before}"
        ));
    }
    let grown = claims::grown(old, new, endpoints);
    let first = grown.first()?;
    let lines: Vec<_> = grown.iter().map(|it| format!("endpoint {}, {}: {}", it.endpoint, it.key, it.yaml)).collect();
    Some(format!(
        "{after} needs what {before} did not, and endpoint {} does not allow it: add it to --cloud-config and restart, or stay \
         with {before}. What is missing: {}",
        first.endpoint,
        lines.join("; ")
    ))
}

fn called(description: &Description) -> String {
    format!("{} {}", description.name, description.version)
}

#[cfg(test)]
mod tests {
    use cloud_provider::{IngressDescription, Permission};
    use egress::{BaseUrl, Method, PathPattern, Rule};

    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|it| (*it).to_owned()).collect()
    }

    fn version(version: &str, allow: &[(&str, &str)]) -> Description {
        let permission = |(method, path): &(&str, &str)| Permission {
            methods: words(&[method]),
            paths: words(&[path]),
            ..Permission::default()
        };
        let endpoint = cloud_provider::Endpoint {
            name: "api".to_owned(),
            allow: allow.iter().map(permission).collect(),
            ..cloud_provider::Endpoint::default()
        };
        Description {
            name: "acme".to_owned(),
            version: version.to_owned(),
            provider_id_prefixes: words(&["acme://"]),
            endpoints: vec![endpoint],
            ..Description::default()
        }
    }

    fn said(new: &Description) -> Option<String> {
        let endpoint = Endpoint {
            allow: vec![Rule::new([Method::Get], [PathPattern::parse("/v2/**").unwrap()])],
            ..Endpoint::new("api", BaseUrl::parse("https://api.acme.example").unwrap())
        };
        // It needs what is not allowed, too.
        let mut old = version("1.2.0", &[("GET", "/v2/machines"), ("PUT", "/v2/balancers/*")]);
        old.writes_annotations = words(&["acme.example/id"]);
        objection(&old, new, &[&endpoint], &words(&["acme.example/size"]))
    }

    #[test]
    fn a_version_that_needs_no_more_fits() {
        assert_eq!(said(&version("1.3.0", &[("GET", "/v2/machines"), ("PUT", "/v2/balancers/*")])), None);
        assert_eq!(said(&version("1.3.0", &[])), None, "it needs less");
        assert_eq!(said(&version("1.3.0", &[("PUT", "/v2/balancers/7")])), None, "a part of what was needed");
        assert_eq!(said(&version("1.3.0", &[("GET", "/v2/firewalls")])), None, "more, and it is allowed");
        let mut more = version("1.3.0", &[]);
        more.provider_id_prefixes.push("acme-metal://".to_owned());
        assert_eq!(said(&more), None);
    }

    #[test]
    fn a_version_that_needs_more_than_is_allowed_is_held_back() {
        let text = said(&version("1.3.0", &[("POST", "/v2/firewalls"), ("PUT", "/v2/balancers/*")])).unwrap();
        for part in [
            "acme 1.3.0 needs what acme 1.2.0 did not, and endpoint api does not allow it",
            "restart, or stay with acme 1.2.0",
            "endpoint api, allow: - { methods: [POST], paths: ['/v2/firewalls'] }",
        ] {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
        assert!(!text.contains("/v2/balancers"), "that is as it was: {text}");
    }

    #[test]
    fn a_version_that_writes_more_than_is_allowed_is_held_back() {
        let writes = |keys: &[&str]| Description { writes_annotations: words(keys), ..version("1.3.0", &[]) };
        assert_eq!(said(&writes(&["acme.example/id"])), None, "as before, and not allowed");
        assert_eq!(said(&writes(&["acme.example/id", "acme.example/size"])), None, "more, and it is allowed");
        let text = said(&writes(&["acme.example/id", "acme.example/zone", "acme.example/plan"])).unwrap();
        for part in [
            "acme 1.3.0 writes annotations that acme 1.2.0 did not, and provider.writesAnnotations does not allow them",
            "restart with acme 1.3.0, or stay with acme 1.2.0. What is missing: acme.example/zone, acme.example/plan",
        ] {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
    }

    /// Cases: adv 150
    #[test]
    fn a_version_that_may_answer_more_addresses_is_held_back() {
        let described = |vip, shared| {
            let ingress = IngressDescription { vip, shared };
            said(&Description { ingress, ..version("1.3.0", &[]) })
        };
        assert_eq!(described(false, false), None);
        assert!(
            described(true, false).unwrap().contains("describes that it answers ipMode VIP, and acme 1.2.0 did not")
        );
        assert!(described(false, true).unwrap().contains("shares addresses among Services"));
    }

    #[test]
    fn a_version_of_another_provider_is_refused() {
        let other = Description { name: "other".to_owned(), ..version("1.3.0", &[]) };
        assert!(said(&other).unwrap().contains("it is the provider other 1.3.0, and acme 1.2.0 serves"));
    }

    #[test]
    fn a_version_that_claims_fewer_nodes_is_refused() {
        let fewer = Description { provider_id_prefixes: words(&["acme-metal://"]), ..version("1.3.0", &[]) };
        assert!(said(&fewer).unwrap().contains(r#"does not claim the provider ids that begin with "acme://""#));
    }
}
