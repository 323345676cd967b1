//! Texts that are made up, each time others, and names in their place.

use serde_json::{Map, Value, json};

/// Texts, and the names that stand for them, in the order in which they are replaced.
#[derive(Clone, Debug, Default)]
pub struct StoryWords(Vec<(String, String)>);

impl StoryWords {
    /// The same with one more, after all others. An empty text stands for nothing.
    #[must_use]
    pub fn then(mut self, text: &str, name: &str) -> Self {
        if !text.is_empty() {
            self.0.push((text.to_owned(), name.to_owned()));
        }
        self
    }

    /// The same with the addresses that Services show, each as the Service's: `ADDRESS(web)`.
    #[must_use]
    pub fn with_ingress(self, services: &Map<String, Value>) -> Self {
        let shown =
            |service: &Value| service["status"]["loadBalancer"]["ingress"].as_array().cloned().unwrap_or_default();
        services.iter().fold(self, |words, (name, service)| {
            let name = format!("ADDRESS({name})");
            let addresses = shown(service).into_iter();
            addresses.fold(words, |words, it| {
                words.then(it["ip"].as_str().or(it["hostname"].as_str()).unwrap_or_default(), &name)
            })
        })
    }

    /// A value with names in the place of texts.
    #[must_use]
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => json!(self.text(text)),
            Value::Array(all) => all.iter().map(|it| self.value(it)).collect(),
            Value::Object(fields) => fields.iter().map(|(name, it)| (self.text(name), self.value(it))).collect(),
            Value::Number(_) | Value::Bool(_) | Value::Null => value.clone(),
        }
    }

    /// An address is meant as a whole: one is the beginning of others.
    fn text(&self, text: &str) -> String {
        let is_address = |it: &str| it.parse::<std::net::IpAddr>().is_ok();
        self.0.iter().fold(text.to_owned(), |text, (it, name)| match is_address(it) {
            true if text != *it => text,
            _ => text.replace(it.as_str(), name),
        })
    }
}
