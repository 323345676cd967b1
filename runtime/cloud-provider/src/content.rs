//! The content of requests beside method, path and operation, as a provider asks for it. Values only.

use std::fmt;

/// The content that requests carry. Once it names anything, they carry nothing else.
#[derive(Clone, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Content {
    /// Patterns for the names in query and form: `Filter.*`. `None`: not said, unless another field says something.
    pub only: Option<Vec<String>>,
    /// Patterns for names in query and form, and for the values that stand in them: `InstanceId` and `i-*`.
    pub values: Vec<(String, Vec<String>)>,
    /// Members of a JSON body, by the names that lead to them: `port.allowed_address_pairs`.
    pub fields: Vec<String>,
    /// Members of a JSON body, by the names that lead to them, and the texts of which each is one: `type` and `attach`.
    pub body: Vec<(String, Vec<String>)>,
}

impl Content {
    /// Whether it names nothing.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let Self { only, values, fields, body } = self;
        only.is_none() && values.is_empty() && fields.is_empty() && body.is_empty()
    }
}

/// As keys of a rule in the operator's config, for the end of a map in one line: `, only: [A, B]`.
impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { only, values, fields, body } = self;
        let map = |them: &[(String, Vec<String>)]| {
            let said: Vec<_> = them.iter().map(|(name, texts)| format!("{}: [{}]", one(name), quoted(texts))).collect();
            format!("{{ {} }}", said.join(", "))
        };
        if let Some(only) = only {
            write!(f, ", only: [{}]", quoted(only))?;
        }
        if !values.is_empty() {
            write!(f, ", where: {}", map(values))?;
        }
        if !fields.is_empty() {
            write!(f, ", fields: [{}]", quoted(fields))?;
        }
        if !body.is_empty() {
            write!(f, ", body: {}", map(body))?;
        }
        Ok(())
    }
}

/// Words in a list of YAML.
pub(crate) fn quoted(them: &[String]) -> String {
    them.iter().map(|it| one(it)).collect::<Vec<_>>().join(", ")
}

/// A word in YAML: a star at its beginning means something else there.
fn one(word: &str) -> String {
    format!("'{}'", word.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_as_keys_of_a_rule() {
        let words = |it: &[&str]| it.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let content = Content {
            only: Some(words(&["Filter.*", "it's"])),
            values: vec![("InstanceId".to_owned(), words(&["i-*"]))],
            fields: words(&["port.tags"]),
            body: vec![("type".to_owned(), words(&["attach", "resize"]))],
        };
        let expected = ", only: ['Filter.*', 'it''s'], where: { 'InstanceId': ['i-*'] }, fields: ['port.tags'], \
                        body: { 'type': ['attach', 'resize'] }";
        assert_eq!(content.to_string(), expected);
        assert_eq!(Content::default().to_string(), "");
        assert!(Content::default().is_open() && !content.is_open());
        assert!(!Content { only: Some(Vec::new()), ..Content::default() }.is_open(), "nothing may stand");
    }
}
