//! Whether another version of a provider fits where the one before serves. Values only.

use cloud_provider::{Annotation, Description, printable};

use crate::manager::claims::{self, ModuleSide};

/// The most bytes of differences in a message: an event has a kibibyte, and says which version goes on.
const DIFFERENCES: usize = 320;
/// How many characters of an annotation's key are shown: more than Kubernetes allows a key to have.
const KEY: usize = 320;

/// Why the version `new` cannot take the place of `old` beside this config: a sentence; `None` if it can.
///
/// A swap breaks nothing, and gives the module nothing that the version before did not have: requests, provider ids, and
/// annotations that it reads or writes. Only a restart, at which an operator looks, may give more. What both need and the
/// config does not allow is left as it is: the operator may mean it.
pub(super) fn objection(old: &Description, new: &Description, config: &claims::Config<'_>) -> Option<String> {
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
    let is_claimed = |prefix: &String| {
        let covers = |it: &String| claims::is_pinned(prefix, it);
        old.provider_id_prefixes.iter().any(covers) || config.prefixes.iter().any(covers)
    };
    // A version that names no prefix leaves no provider id out.
    let grown = new.provider_id_prefixes.iter().find(|it| !old.provider_id_prefixes.is_empty() && !is_claimed(it));
    if let Some(prefix) = grown {
        return Some(format!(
            "{after} claims the provider ids that begin with {:?}, which {before} did not, and nodes are deleted on its word: \
             add the prefix to provider.providerIDPrefixes of --cloud-config and restart with {after}, or stay with {before}",
            printable(prefix, KEY)
        ));
    }
    let is_read = |it: &Annotation| old.annotations.iter().any(|known| known.key == it.key || known.matches(&it.key));
    let read: Vec<_> = new.annotations.iter().filter(|it| !is_read(it)).map(|it| printable(&it.key, KEY)).collect();
    if !read.is_empty() {
        return Some(format!(
            "{after} reads Service annotations that {before} did not, so that authors of Services could ask for more than they \
             can now: restart with {after}, or stay with {before}. These are new: {}",
            read.join(", ")
        ));
    }
    let is_grown = |it: &&String| !old.writes_annotations.contains(it) && !config.writes_annotations.contains(it);
    let written: Vec<_> = new.writes_annotations.iter().filter(is_grown).map(|it| printable(it, KEY)).collect();
    if !written.is_empty() {
        return Some(format!(
            "{after} writes annotations that {before} did not, and provider.writesAnnotations does not allow them: add them to \
             --cloud-config and restart with {after}, or stay with {before}. What is missing: {}",
            written.join(", ")
        ));
    }
    let told: Vec<_> = new.finalizers.iter().filter(|it| !old.finalizers.contains(it)).cloned().collect();
    let values = new.config_maps.iter().filter(|it| !old.config_maps.contains(it)).map(ToString::to_string);
    let told: Vec<_> = told.into_iter().chain(values).map(|it| printable(&it, KEY)).collect();
    if !told.is_empty() {
        return Some(format!(
            "{after} asks for finalizers of Services or values in ConfigMaps that {before} was not told of: restart with {after}, or \
             stay with {before}. These are new: {}",
            told.join(", ")
        ));
    }
    let (vip, shared) = (new.ingress.vip && !old.ingress.vip, new.ingress.shared && !old.ingress.shared);
    if vip || shared {
        let what = if vip { "answers ipMode VIP" } else { "shares addresses among Services" };
        return Some(format!(
            "{after} describes that it {what}, and {before} did not: restart with {after} to allow it, or stay with {before}"
        ));
    }
    let grown = claims::grown(old, new, config.endpoints);
    let first = grown.first()?;
    let lines: Vec<_> = grown.iter().map(|it| format!("endpoint {}, {}: {}", it.endpoint, it.key, it.yaml)).collect();
    Some(format!(
        "{after} needs what {before} did not, and endpoint {} does not allow it: add it to --cloud-config and restart, or stay \
         with {before}. What is missing: {}",
        first.endpoint,
        lines.join("; ")
    ))
}

/// The differences that an operator has to look at, in the words of `aerostat module diff`, as the end of a sentence; empty if
/// there are none.
pub(super) fn differences(old: &ModuleSide<'_>, new: &ModuleSide<'_>, config: &claims::Config<'_>) -> String {
    let changes = claims::changes(old, new, Some(config));
    let lines: Vec<_> = changes.iter().filter(|it| it.matters).map(ToString::to_string).collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!(". In what they differ (aerostat module diff): {}", printable(&lines.join("; "), DIFFERENCES)),
    }
}

fn called(description: &Description) -> String {
    format!("{} {}", description.name, description.version)
}

#[cfg(test)]
mod tests {
    use cloud_provider::{Content, IngressDescription, Permission};
    use egress::{BaseUrl, Endpoint, Method, PathPattern, Rule};

    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|it| (*it).to_owned()).collect()
    }

    fn version(version: &str, allow: &[(&str, &str)]) -> Description {
        let permission = |(method, path): &(&str, &str)| Permission {
            methods: words(&[method]),
            paths: words(&[path]),
            effect: cloud_provider::Effect::of_method(method),
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
        old.annotations = annotations(&["acme.example/size", "port-*.acme.example/name"]);
        let config = claims::Config {
            prefixes: &words(&["acme://", "acme-edge://"]),
            endpoints: &[&endpoint],
            settings: &[],
            node_labels: &[],
            writes_annotations: &words(&["acme.example/size"]),
            finalizers: &[],
            config_maps: &[],
            creates_config_maps: &[],
        };
        objection(&old, new, &config)
    }

    fn annotations(keys: &[&str]) -> Vec<Annotation> {
        keys.iter().map(|key| Annotation { key: (*key).to_owned(), ..Annotation::default() }).collect()
    }

    #[test]
    fn a_version_that_needs_no_more_fits() {
        assert_eq!(said(&version("1.3.0", &[("GET", "/v2/machines"), ("PUT", "/v2/balancers/*")])), None);
        assert_eq!(said(&version("1.3.0", &[])), None, "it needs less");
        assert_eq!(said(&version("1.3.0", &[("PUT", "/v2/balancers/7")])), None, "a part of what was needed");
        assert_eq!(said(&version("1.3.0", &[("GET", "/v2/firewalls")])), None, "more, and it is allowed");
    }

    #[test]
    fn adv_169_a_version_that_claims_more_nodes_is_held_back() {
        let claims =
            |prefix: &str| Description { provider_id_prefixes: words(&["acme://", prefix]), ..version("1.3.0", &[]) };
        assert_eq!(said(&claims("acme-edge://")), None, "provider.providerIDPrefixes has it");
        assert_eq!(said(&claims("acme://zone-1/")), None, "a part of what was claimed");
        for prefix in ["acme-metal://", "acm", ""] {
            let text = said(&claims(prefix)).unwrap_or_else(|| panic!("{prefix:?} is claimed without a word"));
            for part in
                [&*format!("acme 1.3.0 claims the provider ids that begin with {prefix:?}"), "restart with acme 1.3.0"]
            {
                assert!(text.contains(part), "{part:?} is not in {text:?}");
            }
        }
    }

    #[test]
    fn adv_169_a_version_that_reads_more_annotations_is_held_back() {
        let reads = |keys: &[&str]| Description { annotations: annotations(keys), ..version("1.3.0", &[]) };
        assert_eq!(said(&reads(&["acme.example/size"])), None, "as before");
        assert_eq!(said(&reads(&["port-80.acme.example/name"])), None, "a part of what was read");
        let text = said(&reads(&["acme.example/size", "acme.example/security-groups", "*.acme.example/name"])).unwrap();
        for part in [
            "acme 1.3.0 reads Service annotations that acme 1.2.0 did not",
            "restart with acme 1.3.0, or stay with acme 1.2.0. These are new: acme.example/security-groups, *.acme.example/name",
        ] {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
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
    fn adv_164_a_version_that_sends_more_is_held_back() {
        let carries = |fields: &[&str]| {
            let mut version = version("1.3.0", &[("PUT", "/v2/ports/*")]);
            version.endpoints[0].allow[0].content = Content { fields: words(fields), ..Content::default() };
            version
        };
        let rule = Rule {
            content: egress::RuleContent::parse(None, &[], &["port.tags"]).unwrap(),
            ..Rule::new([Method::Put], [PathPattern::parse("/v2/ports/*").unwrap()])
        };
        let url = BaseUrl::parse("https://api.acme.example").unwrap();
        let endpoint = Endpoint { allow: vec![rule], ..Endpoint::new("api", url) };
        let config = claims::Config {
            prefixes: &[],
            endpoints: &[&endpoint],
            settings: &[],
            node_labels: &[],
            writes_annotations: &[],
            finalizers: &[],
            config_maps: &[],
            creates_config_maps: &[],
        };
        let said = |old: &[&str], new: &[&str]| objection(&carries(old), &carries(new), &config);
        assert_eq!(said(&["port.tags"], &["port.tags"]), None);
        assert_eq!(said(&["port.tags"], &["port.tags.name"]), None, "a part of it");
        assert_eq!(said(&["port.owner"], &["port.owner"]), None, "as before, and not allowed");
        let text = said(&["port.tags"], &["port.tags", "port.owner"]).unwrap();
        let lacks = "allow: - { methods: [PUT], paths: ['/v2/ports/*'], fields: ['port.tags', 'port.owner'] }";
        assert!(text.contains(lacks), "{text}");
        assert!(said(&["port.tags"], &[]).is_some(), "it no longer says what it sends");
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

    #[test]
    fn a_version_that_is_told_more_is_held_back() {
        let told = |finalizers: &[&str], values: &[&str]| {
            let config_maps = values.iter().map(|it| it.parse().unwrap()).collect();
            said(&Description { finalizers: words(finalizers), config_maps, ..version("1.3.0", &[]) })
        };
        assert_eq!(told(&[], &[]), None);
        for text in [told(&["acme.example/x"], &[]), told(&[], &["kube-system/acme/x"])] {
            let text = text.unwrap();
            assert!(
                text.contains("restart with acme 1.3.0, or stay with acme 1.2.0") && text.ends_with("/x"),
                "{text}"
            );
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
