//! The content of a request beside its method, path and operation: the parameters of its query and form, and the
//! members of its JSON body. Pure.

mod members;

use std::fmt;

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};

use self::members::Member;
use crate::canonical::{self, shown};
use crate::glob;

/// The longest name or value of a pattern, in bytes.
const PATTERN_BYTES: usize = 512;
/// The most members in a path of `fields`.
const FIELD_MEMBERS: usize = 16;

/// The content that a rule allows its requests. Once it names anything, nothing else may stand: no other parameter, and no
/// other body.
///
/// Letter case counts. What is spelled otherwise than the operator wrote it is something else, and may not stand.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RuleContent {
    /// `only`: names of query and form.
    only: Option<Vec<Pattern>>,
    /// `where`: names of query and form, and what may stand in them.
    values: Vec<(Pattern, Vec<Pattern>)>,
    /// `fields`: members of a JSON body.
    fields: Vec<Field>,
    /// `body`: members of a JSON body that are there, and the texts of which each is one.
    body: Vec<(Field, Vec<String>)>,
}

/// A name or a value: `*` stands for any run of characters.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Pattern(String);

/// A member of a JSON object, by the names that lead to it.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Field(Vec<String>);

/// The content of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried<'a> {
    /// Names and values of query and form.
    pub(crate) pairs: &'a [(String, String)],
    /// Names that the endpoint itself asks for: its operation, and its fixed parameters. They are judged elsewhere.
    pub(crate) own: &'a [&'a str],
    pub(crate) headers: &'a HeaderMap,
    /// A body that is no form.
    pub(crate) body: &'a [u8],
}

impl RuleContent {
    /// Reads what a rule says: `only` if it names any parameters, even none; names and values of `where`; `fields`.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write, without its full stop.
    pub fn parse<N: AsRef<str>>(
        only: Option<&[N]>,
        values: &[(String, Vec<String>)],
        fields: &[N],
    ) -> Result<Self, String> {
        let names = |it: &[N]| it.iter().map(|it| Pattern::parse("only", it.as_ref())).collect::<Result<Vec<_>, _>>();
        let value = |(name, values): &(String, Vec<String>)| {
            if values.is_empty() {
                return Err(format!(
                    "`where` says of {name} no value that may stand in it; write one, as in [\"i-*\"]"
                ));
            }
            let patterns = values.iter().map(|it| Pattern::parse("where", it)).collect::<Result<_, _>>()?;
            Ok((Pattern::parse("where", name)?, patterns))
        };
        Ok(Self {
            only: only.map(names).transpose()?,
            values: values.iter().map(value).collect::<Result<_, _>>()?,
            fields: fields.iter().map(|it| Field::parse("fields", it.as_ref())).collect::<Result<_, _>>()?,
            body: Vec::new(),
        })
    }

    /// Reads `body`, too: members of a JSON body, by the names that lead to them, and the texts that each may be.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write, without its full stop.
    pub fn with_body(self, body: &[(String, Vec<String>)]) -> Result<Self, String> {
        let member = |(name, texts): &(String, Vec<String>)| {
            // What a star stands for could be another spelling of what another rule names.
            let is_odd = |text: &String| {
                text.is_empty()
                    || text.len() > PATTERN_BYTES
                    || text.contains('*')
                    || text.chars().any(char::is_control)
            };
            if texts.is_empty() || texts.iter().any(is_odd) {
                return Err(format!(
                    "`body` says not of {name} which texts may stand there; write each in full, without a star, as in [attach]"
                ));
            }
            Ok((Field::parse("body", name)?, texts.clone()))
        };
        let body: Vec<_> = body.iter().map(member).collect::<Result<_, _>>()?;
        let names: Vec<_> = self.fields.iter().chain(body.iter().map(|(it, _)| it)).collect();
        for (field, _) in &body {
            if names.iter().filter(|it| it.meets(field)).count() > 1 {
                return Err(format!(
                    "`body` says of {field} what it is, and something else names it or what is around it, in whatever letter case; \
                     name it once"
                ));
            }
            if let Some(pattern) = self.names().find(|it| field.is_read_in(it)) {
                return Err(format!(
                    "`body` says of {field} what it is, and some servers read it in a parameter of that name, which {pattern} lets \
                     stand; name parameters in full, and other ones"
                ));
            }
        }
        Ok(Self { body, ..self })
    }

    /// Whether anything may stand in a request.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let Self { only, values, fields, body } = self;
        only.is_none() && values.is_empty() && fields.is_empty() && body.is_empty()
    }

    /// The names that `only` opens: it names them as they are, without a star, and they are refused everywhere else.
    pub(crate) fn opened(&self) -> impl Iterator<Item = &str> {
        self.only.iter().flatten().map(|it| it.0.as_str()).filter(|it| canonical::needs_opening(it))
    }

    fn opens(&self, name: &str) -> bool {
        self.opened().any(|it| it == name)
    }

    /// Whether it names members of a JSON body, so that a request must have one.
    #[must_use]
    pub fn has_fields(&self) -> bool {
        !self.fields.is_empty() || !self.body.is_empty()
    }

    /// Whether no request that this lets stand can be one of `other`: they name other texts in one member, which was read then.
    #[must_use]
    pub fn excludes(&self, other: &Self) -> bool {
        // A cloud may overlook spaces and letter case, where this gate does not.
        let is_alike = |one: &String, other: &String| one.trim().to_lowercase() == other.trim().to_lowercase();
        let differs = |(field, own): &(Field, Vec<String>)| {
            other.texts(field).is_some_and(|texts| !texts.iter().any(|it| own.iter().any(|one| is_alike(one, it))))
        };
        self.body.iter().any(differs)
    }

    /// The texts that this member may be, if it is one of `body`.
    fn texts(&self, field: &Field) -> Option<&[String]> {
        self.body.iter().find(|(it, _)| it == field).map(|(_, texts)| texts.as_slice())
    }

    /// All members that may stand in a JSON body.
    fn members(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().chain(self.body.iter().map(|(it, _)| it))
    }

    /// Whether all that stands in a request may stand there. The error is a sentence without its full stop. It names no
    /// value of the request.
    pub(crate) fn admits(&self, carried: Carried<'_>) -> Result<(), String> {
        let is_closed = |name: &&String| canonical::needs_opening(name) && !self.opens(name);
        if let Some(name) = carried.pairs.iter().map(|(name, _)| name).find(is_closed) {
            return Err(format!("the parameter {} is closed, and `only` of the rule does not name it", shown(name)));
        }
        if self.is_open() {
            return Ok(());
        }
        let Carried { pairs, own, headers, body } = carried;
        let mut names: Vec<&str> = Vec::with_capacity(pairs.len());
        for (name, value) in pairs.iter().filter(|(name, _)| !own.contains(&name.as_str())) {
            self.admits_pair(name, value)?;
            names.push(name);
        }
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|it| it[0] == it[1]) {
            return Err(format!("the parameter {} stands there twice; no rule with `only` allows it", shown(twice[0])));
        }
        match (self.has_fields(), body.is_empty()) {
            (false, true) => Ok(()),
            (false, false) => Err("it has a body that is no form, and the rule names no `fields` of one".to_owned()),
            (true, true) => {
                let members: Vec<_> = self.members().collect();
                Err(format!("it has no JSON body, and the rule asks for one with {}", list(&members, ", ")))
            }
            (true, false) => {
                is_json(headers)?;
                self.speaks_once(&names)?;
                let free = self.fields.iter().map(|it| Member { path: &it.0, texts: None });
                let fixed = self.body.iter().map(|(it, texts)| Member { path: &it.0, texts: Some(texts) });
                members::admit(free.chain(fixed).collect(), body)
            }
        }
    }

    /// Whether no parameter has the name of a member of `body`, in which some servers would read it, too.
    fn speaks_once(&self, names: &[&str]) -> Result<(), String> {
        let is_member = |name: &&&str| {
            let plain = name.split(['.', '[']).next().unwrap_or(name);
            self.body.iter().filter_map(|(it, _)| it.0.first()).any(|it| it.eq_ignore_ascii_case(plain))
        };
        match names.iter().find(is_member) {
            None => Ok(()),
            Some(name) => Err(format!("the parameter {} has the name of a member that `body` names", shown(name))),
        }
    }

    fn admits_pair(&self, name: &str, value: &str) -> Result<(), String> {
        let is_named = self.names().any(|it| it.matches(name));
        if !is_named {
            return Err(format!("the parameter {} is not one that `only` or `where` of the rule names", shown(name)));
        }
        for (pattern, values) in &self.values {
            // A cloud may overlook letter case: what is spelled otherwise must not pass unseen.
            let is_alike = glob::matches(&pattern.0.to_ascii_lowercase(), &name.to_ascii_lowercase());
            if is_alike && !pattern.matches(name) {
                return Err(format!("the parameter {} must be spelled as `where` has it, {pattern}", shown(name)));
            }
            if is_alike && !values.iter().any(|it| it.matches(value)) {
                let name = shown(name);
                return Err(format!(
                    "the value of the parameter {name} is not one that `where` lets stand, {}",
                    list(values, ", ")
                ));
            }
        }
        Ok(())
    }

    /// All names that may stand.
    fn names(&self) -> impl Iterator<Item = &Pattern> {
        self.only.iter().flatten().chain(self.values.iter().map(|(name, _)| name))
    }

    /// Whether all that `other` lets stand, this lets stand. It is never said wrongly.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        if !other.opened().all(|it| self.opens(it)) {
            return false;
        }
        if self.is_open() || other.is_open() {
            return self.is_open();
        }
        let has_names = other.names().all(|name| self.names().any(|it| it.covers(name)));
        let has_values = other.names().all(|name| {
            let said = self.values.iter().filter(|(pattern, _)| glob::meet(&pattern.0, &name.0));
            said.into_iter().all(|(_, values)| {
                // What the other says of all that this name stands for.
                let mut narrow = other.values.iter().filter(|(pattern, _)| pattern.covers(name));
                narrow.any(|(_, of_other)| of_other.iter().all(|one| values.iter().any(|it| it.covers(one))))
            })
        });
        let has_fields = other.has_fields() == self.has_fields()
            && other
                .members()
                .all(|field| self.texts(field).is_some() || self.fields.iter().any(|it| field.0.starts_with(&it.0)));
        let has_texts = self.body.iter().all(|(field, texts)| {
            other.texts(field).is_some_and(|of_other| of_other.iter().all(|it| texts.contains(it)))
        });
        has_names && has_values && has_fields && has_texts
    }
}

impl Pattern {
    fn parse(key: &str, text: &str) -> Result<Self, String> {
        if text.is_empty() || text.len() > PATTERN_BYTES || text.chars().any(char::is_control) {
            return Err(format!(
                "{text:?} in `{key}` is no pattern; write up to {PATTERN_BYTES} bytes without control characters, and `*` for \
                 any run of characters, as in Filter.*"
            ));
        }
        Ok(Self(text.to_owned()))
    }

    fn matches(&self, text: &str) -> bool {
        glob::matches(&self.0, text)
    }

    fn covers(&self, other: &Self) -> bool {
        glob::covers(&self.0, &other.0)
    }
}

impl Field {
    /// Whether one of the two is the other, or lies in it, as a server reads them that overlooks letter case.
    fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(one, other)| one.to_lowercase() == other.to_lowercase())
    }

    /// Whether some server may read it in a parameter whose name has this pattern.
    fn is_read_in(&self, pattern: &Pattern) -> bool {
        self.0.first().is_some_and(|it| glob::matches(&pattern.0.to_lowercase(), &it.to_lowercase()))
    }

    fn parse(key: &str, text: &str) -> Result<Self, String> {
        let names: Vec<_> = text.split('.').map(str::to_owned).collect();
        let is_odd = |it: &String| it.is_empty() || it.contains('*') || it.chars().any(char::is_control);
        if text.len() > PATTERN_BYTES || names.len() > FIELD_MEMBERS || names.iter().any(is_odd) {
            return Err(format!(
                "{text:?} in `{key}` is no member of a JSON body; write the names that lead to it, with dots between them and \
                 no `*`, as in port.allowed_address_pairs"
            ));
        }
        Ok(Self(names))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

fn list(them: &[impl fmt::Display], between: &str) -> String {
    them.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

/// Whether a body is said to be JSON, or a change of JSON (RFC 7396), and in the one encoding that is read here.
fn is_json(headers: &HeaderMap) -> Result<(), String> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let said = match (types.next(), types.next()) {
        (Some(one), None) => one.to_str().unwrap_or_default().to_ascii_lowercase(),
        _ => String::new(),
    };
    let (media_type, parameters) = said.split_once(';').unwrap_or((&said, "charset=utf-8"));
    let is_known = matches!(media_type.trim(), "application/json" | "application/merge-patch+json");
    if headers.contains_key(CONTENT_ENCODING) {
        return Err("the rule names members of a body, and the request has a content-encoding: what the cloud would read is not \
                    what is read here"
            .to_owned());
    }
    if is_known && parameters.trim() == "charset=utf-8" {
        return Ok(());
    }
    Err("the rule names members of a body, and the request does not say that its body is application/json in UTF-8"
        .to_owned())
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
