//! The parameters of a request, by name: `Tag.1.Key` is the member of an item of a list.

use serde_json::{Map, Value, json};

use crate::simulator::Recorded;

use super::errors::{Refused, bad, missing};

/// The parameters of a request, wherever they were sent.
#[derive(Clone, Copy)]
pub(super) struct AcsPairs<'r>(&'r Recorded);

impl<'r> AcsPairs<'r> {
    pub(super) fn of(request: &'r Recorded) -> Self {
        Self(request)
    }

    /// The action: `DescribeInstances`.
    pub(super) fn action(&self) -> &'r str {
        self.0.path.rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&'r str, &'r str)> {
        self.0.query.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(super) fn get(&self, name: &str) -> Option<&'r str> {
        self.0.query_value(name)
    }

    /// The text of a parameter; empty without it.
    pub(super) fn text(&self, name: &str) -> &'r str {
        self.get(name).unwrap_or_default()
    }

    /// The text of a parameter that has to be there.
    pub(super) fn needed(&self, name: &str) -> Result<&'r str, Refused> {
        self.get(name).filter(|it| !it.is_empty()).ok_or_else(|| missing(name))
    }

    /// One of these words, or the first without the parameter.
    pub(super) fn word(&self, name: &str, words: &[&'static str]) -> Result<&'static str, Refused> {
        let Some(text) = self.get(name) else { return Ok(words[0]) };
        let found = words.iter().find(|it| **it == text);
        found.copied().ok_or_else(|| bad(name, &format!("{text:?} is none of {}", words.join(", "))))
    }

    /// A number between these, or the default without the parameter.
    pub(super) fn number(&self, name: &str, (least, most): (i64, i64), default: i64) -> Result<i64, Refused> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let number = text.parse().ok().filter(|it| (least..=most).contains(it));
        number.ok_or_else(|| bad(name, &format!("{text:?} is not between {least} and {most}")))
    }

    /// The same without a default.
    pub(super) fn needed_number(&self, name: &str, bounds: (i64, i64)) -> Result<i64, Refused> {
        self.needed(name)?;
        self.number(name, bounds, 0)
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|it| it.eq_ignore_ascii_case("true"))
    }

    /// The items of `JobIds.1`, `JobIds.2`.
    pub(super) fn list(&self, name: &str) -> Vec<&'r str> {
        (1..).map_while(|number| self.get(&format!("{name}.{number}"))).collect()
    }

    /// The texts in a parameter that is a JSON array.
    pub(super) fn json_list(&self, name: &str, most: usize) -> Result<Option<Vec<String>>, Refused> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let all: Vec<String> =
            serde_json::from_str(text).map_err(|error| bad(name, &format!("it is no JSON array of texts: {error}")))?;
        if all.len() > most {
            return Err(bad(name, &format!("{} items are more than {most}", all.len())));
        }
        Ok(Some(all))
    }

    /// The items of `Servers.1.Port`, `Servers.1.ServerId`: objects of texts.
    pub(super) fn members(&self, list: &str) -> Vec<Value> {
        let item = |number: usize| {
            let prefix = format!("{list}.{number}.");
            let own = self.all().filter_map(|(name, value)| Some((name.strip_prefix(&prefix)?, value)));
            let item: Map<String, Value> = own.map(|(name, value)| (name.to_owned(), json!(value))).collect();
            (!item.is_empty()).then_some(Value::Object(item))
        };
        (1..).map_while(item).collect()
    }

    /// The tags that a request gives, as key and value.
    pub(super) fn tags(&self) -> Result<Vec<Value>, Refused> {
        let tags = self.members("Tag");
        if tags.len() > 20 {
            return Err(bad("Tag", "there are more than 20"));
        }
        let tag = |item: &Value| match item["Key"].as_str() {
            Some(key) if (1..=128).contains(&key.len()) => {
                Ok(json!({ "TagKey": key, "TagValue": item["Value"].as_str().unwrap_or_default() }))
            }
            _ => Err(bad("Tag", &format!("{item} has no key"))),
        };
        tags.iter().map(tag).collect()
    }
}

/// Whether an object has all of these tags; one without a value is about the key alone.
pub(super) fn has_tags(body: &Value, asked: &[Value]) -> bool {
    let own = body["Tags"].as_array().map(Vec::as_slice).unwrap_or_default();
    asked.iter().all(|wanted| {
        let is_any = wanted["TagValue"] == "";
        own.iter().any(|tag| tag["TagKey"] == wanted["TagKey"] && (is_any || tag["TagValue"] == wanted["TagValue"]))
    })
}

/// Gives an object tags, in the place of those with the same keys.
pub(super) fn tag(body: &mut Value, tags: Vec<Value>) {
    for tag in tags {
        untag(body, &[tag["TagKey"].as_str().unwrap_or_default()]);
        if let Some(own) = body["Tags"].as_array_mut() {
            own.push(tag);
        }
    }
}

/// Takes tags with these keys from an object.
pub(super) fn untag(body: &mut Value, keys: &[&str]) {
    if let Some(own) = body["Tags"].as_array_mut() {
        own.retain(|it| !it["TagKey"].as_str().is_some_and(|key| keys.contains(&key)));
    }
}

/// The text under a key: empty where there is none.
pub(super) fn text<'a>(body: &'a Value, key: &str) -> &'a str {
    body[key].as_str().unwrap_or_default()
}

/// The tags of an object, spelled as a part of an answer spells them.
pub(super) fn spelled_tags(part: &Value, object: &Value) -> Vec<Value> {
    let all = object["Tags"].as_array().into_iter().flatten();
    let spelled = |own_tag: &Value| match part.get("TagKey") {
        Some(_) => own_tag.clone(),
        None => json!({ "Key": own_tag["TagKey"], "Value": own_tag["TagValue"] }),
    };
    all.map(spelled).collect()
}
