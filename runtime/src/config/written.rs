//! The file as it was written, to see later what has changed in it.

use serde_json::{Map, Value};

/// Everything in the file but `provider.module`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct WrittenConfig(Map<String, Value>);

impl WrittenConfig {
    /// The keys of a text that could be used, but for the module.
    pub(crate) fn parse(text: &str) -> Self {
        let mut file: Map<String, Value> = serde_saphyr::from_str(text).unwrap_or_default();
        if let Some(provider) = file.get_mut("provider").and_then(Value::as_object_mut) {
            provider.remove("module");
        }
        Self(file)
    }

    /// The keys in which the files differ, as in `provider.settings`.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let mut keys = Vec::new();
        for key in different(&self.0, &other.0) {
            match (self.0.get(key), other.0.get(key)) {
                (Some(Value::Object(one)), Some(Value::Object(another))) if key == "provider" => {
                    keys.extend(different(one, another).map(|it| format!("provider.{it}")));
                }
                _ => keys.push(key.clone()),
            }
        }
        keys.sort();
        keys.dedup();
        keys
    }
}

fn different<'a>(one: &'a Map<String, Value>, other: &'a Map<String, Value>) -> impl Iterator<Item = &'a String> {
    one.keys().chain(other.keys()).filter(|key| one.get(*key) != other.get(*key))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "{ kind: CloudConfig, provider: { module: { file: { path: /a, sha256: 1 } }, settings: { a: b } }, \
                        endpoints: [{ name: api }] }";

    fn differences(from: &str, to: &str) -> Vec<String> {
        assert!(FILE.contains(from));
        WrittenConfig::parse(FILE).differences(&WrittenConfig::parse(&FILE.replacen(from, to, 1)))
    }

    #[test]
    fn differences_are_named_but_for_the_module() {
        assert_eq!(differences("/a, sha256: 1", "/b, sha256: 2"), [""; 0]);
        assert_eq!(differences("kind: CloudConfig, ", "kind:   'CloudConfig', "), [""; 0], "how it is written");
        assert_eq!(differences("a: b", "a: c"), ["provider.settings"]);
        assert_eq!(differences("settings: { a: b }", "limits: { cpu: 1s }"), ["provider.limits", "provider.settings"]);
        assert_eq!(differences("name: api", "name: other"), ["endpoints"]);
        assert_eq!(differences("kind: CloudConfig,", "credentials: [],"), ["credentials", "kind"]);
    }
}
