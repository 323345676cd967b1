//! Warnings about a description: mistakes that the host refuses late, or not at all.

use crate::{Description, Effect};

/// Words in a setting's or a header's name that stand for what only the host may know.
const SECRETS: [&str; 8] =
    ["token", "password", "passwd", "secret", "apikey", "api-key", "privatekey", "authorization"];

/// A sentence for each mistake in a description that is cheap to see, each with the next step. A test of a provider holds that
/// there are none.
///
/// ```
/// use aerostat_sdk::{Description, Endpoint, testing};
///
/// let described = Description::new("acme", "1.0.0").provider_id_prefix("acme://");
/// assert_eq!(testing::warnings(&described), [""; 0]);
/// let described = described.endpoint(Endpoint::new("api", "machines", "https://api.acme.example/v1"));
/// assert_eq!(testing::warnings(&described), ["endpoint api allows nothing: no request to it leaves. Name what it needs with `allow`"]);
/// ```
#[must_use]
pub fn warnings(description: &Description) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut warn = |is_wrong: bool, sentence: String| warnings.extend(is_wrong.then_some(sentence));
    let Description { name, provider_id_prefixes, endpoints, settings, annotations, .. } = description;
    let is_word = |it: &str| !it.is_empty() && it.bytes().all(|it| matches!(it, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    warn(!is_word(name), format!("the name {name:?} becomes part of labels: lower-case letters, digits and - alone"));
    warn(
        provider_id_prefixes.is_empty(),
        "no provider id prefix: no node is asked about. Add one with `provider_id_prefix`".to_owned(),
    );
    for prefix in provider_id_prefixes.iter().filter(|it| !it.is_empty() && !it.ends_with("://")) {
        warn(true, format!("the prefix {prefix:?} does not end with ://"));
    }
    warn(description.list_page_size == 0, "list_page_size is 0: no machine is listed".to_owned());
    warn(description.get_batch_size == 0, "get_batch_size is 0: no node is asked about".to_owned());
    for (at, endpoint) in endpoints.iter().enumerate() {
        let name = &endpoint.name;
        warn(
            endpoints[..at].iter().any(|it| it.name == *name),
            format!("endpoint {name} is there twice: give each a name of its own"),
        );
        warn(
            endpoint.allow.is_empty(),
            format!("endpoint {name} allows nothing: no request to it leaves. Name what it needs with `allow`"),
        );
        warn(
            !endpoint.example_base_url.starts_with("https://"),
            format!("endpoint {name}: the public cloud's URL does not begin with https://"),
        );
        for header in endpoint.headers.iter().filter(|it| is_secret(it)) {
            warn(
                true,
                format!("endpoint {name}: the header {header} holds a credential, which the host sets: leave it out"),
            );
        }
        for permission in endpoint.allow.iter().filter(|it| it.effect != Effect::Read) {
            for path in permission.paths.iter().filter(|it| it.contains("**")) {
                warn(
                    true,
                    format!(
                        "endpoint {name}: {path} allows writes to everything under it: name the paths, with * for a segment"
                    ),
                );
            }
        }
    }
    for (at, setting) in settings.iter().enumerate() {
        let name = &setting.name;
        warn(is_secret(name), format!("setting {name} sounds like a secret: credentials are the host's, take it out"));
        warn(setting.doc.is_empty(), format!("setting {name} has no sentence that says what it does"));
        warn(settings[..at].iter().any(|it| it.name == *name), format!("setting {name} is there twice"));
    }
    for (at, annotation) in annotations.iter().enumerate() {
        let key = &annotation.key;
        warn(
            !key.contains('/'),
            format!("annotation {key} has no domain: anybody's would be read. Write example.com/{key}"),
        );
        warn(annotation.doc.is_empty(), format!("annotation {key} has no sentence that says what it does"));
        warn(annotations[..at].iter().any(|it| it.key == *key), format!("annotation {key} is there twice"));
    }
    warnings
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRETS.iter().any(|it| name.contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Annotation, Endpoint, Method, Setting};

    #[test]
    fn each_mistake_has_its_sentence() {
        let api = |name: &str, url: &str| Endpoint::new(name, "", url).allow([Method::Get], ["/a"], []);
        let good = || Description::new("acme", "1").provider_id_prefix("acme://");
        let good_setting = Setting::optional("region", "Where.");
        for (description, words) in [
            (Description::new("Acme Cloud", "1").provider_id_prefix("acme://"), "\"Acme Cloud\""),
            (Description::new("acme", "1"), "no provider id prefix"),
            (good().provider_id_prefix("acme"), "does not end with ://"),
            (good().list_page_size(0), "list_page_size"),
            (good().get_batch_size(0), "get_batch_size"),
            (good().endpoint(api("a", "http://a.example")), "https://"),
            (good().endpoint(api("a", "https://a")).endpoint(api("a", "https://a")), "there twice"),
            (good().endpoint(api("a", "https://a").header("Authorization")), "authorization holds a credential"),
            (good().endpoint(api("a", "https://a").allow([Method::Put], ["/**"], [])), "/** allows writes"),
            (good().setting(Setting::optional("apiToken", "It.")), "sounds like a secret"),
            (good().setting(Setting::optional("region", "")), "no sentence"),
            (good().setting(good_setting.clone()).setting(good_setting), "region is there twice"),
            (good().annotation(Annotation::new("size", "any", "It.")), "has no domain"),
        ] {
            let warnings = warnings(&description);
            assert!(warnings.len() == 1 && warnings[0].contains(words), "{words}: {warnings:?}");
        }
    }
}
