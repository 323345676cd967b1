//! Annotations of a Service that look as if they were meant for the provider, and that it does not know: typing errors
//! mostly. No client, no clock, no log.

use cloud_provider::Description;
use k8s_openapi::api::core::v1::Service;

/// So many letters may be wrong in a key that is near to a known one.
const WRONG_LETTERS: usize = 2;
/// So many keys are compared with known ones: no person writes more. An author who fills a Service with keys must not keep
/// the other Services waiting.
const COMPARED: usize = 200;
/// So many keys are named in a message.
const NAMED: usize = 5;

/// The keys of a Service's annotations that nobody describes, in order: of the first ones, if there are very many.
///
/// Keys in a domain of the provider are meant for it. In the domains that Kubernetes shares among clouds, those are that
/// begin with the same word as one of the provider's, or differ from one in two letters at most.
pub(super) fn annotations<'a>(service: &'a Service, description: &Description) -> Vec<&'a str> {
    let keys = service.metadata.annotations.iter().flatten().map(|(key, _)| key.as_str());
    let is_known =
        |key: &str| description.annotation(key).is_some() || description.writes_annotations.iter().any(|it| it == key);
    let strange = keys.filter(|key| !is_known(key));
    strange.take(COMPARED).filter(|key| is_meant_for(key, description)).collect()
}

/// What the event says of keys that nobody describes.
pub(super) fn message(unknown: &[&str], description: &Description) -> String {
    let one = |key: &&str| match nearest(key, description) {
        Some(nearest) => format!("{key:?}: did you mean {nearest:?}?"),
        None => format!("{key:?}"),
    };
    let named: Vec<_> = unknown.iter().take(NAMED).map(one).collect();
    let more = unknown.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" And {more} more.") } else { String::new() };
    format!("provider {} knows no annotation {}{more}", description.name, named.join(" "))
}

fn is_meant_for(key: &str, description: &Description) -> bool {
    let Some((domain, name)) = key.split_once('/') else { return false };
    let mut same = known(description).filter_map(|it| it.split_once('/')).filter(|it| it.0 == domain).peekable();
    let is_shared = domain.ends_with("kubernetes.io") || domain.ends_with("k8s.io");
    same.peek().is_some()
        && (!is_shared
            || same.any(|it| first_word(it.1) == first_word(name) || wrong_letters(it.1, name) <= WRONG_LETTERS))
}

/// The known key that takes the fewest changes, if these are so few that it may have been meant: two letters, or a quarter of
/// the name.
fn nearest<'a>(key: &str, description: &'a Description) -> Option<&'a str> {
    let name = key.split_once('/').map_or(key, |(_, it)| it);
    let most = WRONG_LETTERS.max(name.chars().count() / 4);
    let near = known(description).map(|it| (wrong_letters(it, key), it)).min_by_key(|(wrong, _)| *wrong);
    near.filter(|(wrong, _)| *wrong <= most).map(|(_, it)| it)
}

/// The keys that the provider reads or writes.
fn known(description: &Description) -> impl Iterator<Item = &str> {
    description
        .annotations
        .iter()
        .map(|it| it.key.as_str())
        .chain(description.writes_annotations.iter().map(String::as_str))
}

/// With letters that changed places as one.
fn wrong_letters(one: &str, other: &str) -> usize {
    strsim::osa_distance(one, other)
}

fn first_word(name: &str) -> &str {
    name.split('-').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use cloud_provider::Annotation;
    use serde_json::json;

    use super::*;
    use crate::service::testing::service;

    fn description() -> Description {
        let annotation = |key: &str| Annotation {
            key: key.to_owned(),
            values: String::new(),
            default: None,
            doc: String::new(),
            ..Annotation::default()
        };
        let keys = [
            "kubernetes.example.com/load-balancer-id",
            "service.beta.kubernetes.io/acme-loadbalancer-name",
            "service.beta.kubernetes.io/acme-loadbalancer-protocol",
            "service.beta.kubernetes.io/load-balancer-source-ranges",
            "service.beta.kubernetes.io/acme-port-*-protocol",
        ];
        Description {
            name: "acme".to_owned(),
            annotations: keys.map(annotation).to_vec(),
            writes_annotations: vec!["kubernetes.example.com/written".to_owned()],
            ..Description::default()
        }
    }

    /// Whether a key is reported, and the key that it is taken for.
    fn reported(key: &str) -> (bool, Option<String>) {
        let service = service(json!({ "metadata": { "annotations": { key: "x" } } }));
        let unknown = annotations(&service, &description());
        (!unknown.is_empty(), unknown.first().and_then(|it| nearest(it, &description()).map(str::to_owned)))
    }

    fn check(key: &str, expected: Option<&str>) {
        assert_eq!(reported(key), (expected.is_some(), expected.map(str::to_owned)), "{key}");
    }

    #[test]
    fn a_typing_error_has_a_nearest_key() {
        let name = Some("service.beta.kubernetes.io/acme-loadbalancer-name");
        check("service.beta.kubernetes.io/acme-loadbalancer-nmae", name);
        check("service.beta.kubernetes.io/amce-loadbalancer-name", name);
        check("service.beta.kubernetes.io/acme-load-balancer-name", name);
        check(
            "service.beta.kubernetes.io/load-balancer-source-range",
            Some("service.beta.kubernetes.io/load-balancer-source-ranges"),
        );
        check("kubernetes.example.com/loadbalancer-id", Some("kubernetes.example.com/load-balancer-id"));
    }

    #[test]
    fn a_key_that_is_near_to_none_has_no_nearest_key() {
        for key in ["anything", "x", "certificate-of-the-load-balancer"] {
            assert_eq!(reported(&format!("kubernetes.example.com/{key}")), (true, None), "{key}");
        }
        let unknown = ["kubernetes.example.com/anything"];
        let expected = "provider acme knows no annotation \"kubernetes.example.com/anything\"";
        assert_eq!(message(&unknown, &description()), expected);
    }

    #[test]
    fn known_and_foreign_annotations_are_not_reported() {
        check("service.beta.kubernetes.io/acme-loadbalancer-name", None);
        check("kubernetes.example.com/written", None);
        check("service.beta.kubernetes.io/acme-port-443-protocol", None);
        check("service.beta.kubernetes.io/aws-load-balancer-type", None);
        check("service.kubernetes.io/topology-mode", None);
        check("kubectl.kubernetes.io/last-applied-configuration", None);
        check("example.org/acme-loadbalancer-name", None);
        check("acme-loadbalancer-name", None);
    }

    #[test]
    fn only_the_first_of_thousands_of_keys_are_compared() {
        let keys: serde_json::Map<_, _> =
            (0..5_000).map(|it| (format!("kubernetes.example.com/a{it:04}"), json!("x"))).collect();
        let service = service(json!({ "metadata": { "annotations": keys } }));
        assert_eq!(annotations(&service, &description()).len(), COMPARED);
    }

    #[test]
    fn a_message_names_a_few_of_many() {
        let keys: Vec<_> = (0..7).map(|it| format!("kubernetes.example.com/{it}load-balancer-id")).collect();
        let message = message(&keys.iter().map(String::as_str).collect::<Vec<_>>(), &description());
        assert!(message.starts_with(
            "provider acme knows no annotation \"kubernetes.example.com/0load-balancer-id\": did you mean"
        ));
        assert!(message.ends_with("? And 2 more."), "{message}");
        assert_eq!(message.matches("did you mean").count(), NAMED);
    }
}
