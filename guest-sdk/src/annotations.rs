//! The Service annotations that a provider reads, as one table: each row says its key, what may stand there, what holds
//! without it and what it does. Values are read by the row, errors name what the row allows, and the description shows it.
//!
//! ```
//! use aerostat_sdk::annotations::{Annotations, Integer, Key, OneOf, Row};
//! # use aerostat_sdk::{Description, LoadBalancer, Result};
//!
//! const SIZE: Key<Integer> = Key::new("acme.example/size", Integer::between(1, 100), "How many machines it has.").default("1");
//! const LAYER: Key<OneOf<u8>> = Key::new("acme.example/layer", OneOf(&[("tcp", 4), ("http", 7)]), "What it understands.");
//! const TABLE: [&dyn Row; 2] = [&SIZE, &LAYER];
//!
//! fn describe() -> Description {
//!     Description::new("acme", "1.0.0").annotations(TABLE)
//! }
//!
//! fn size(desired: &LoadBalancer) -> Result<u32> {
//!     Ok(Annotations::of(desired).read(&SIZE)?.unwrap_or(1))
//! }
//!
//! let desired = LoadBalancer::of("default", "web", "uid").with_annotation(SIZE.name, "many");
//! let error = aerostat_sdk::Error::invalid("annotation acme.example/size: \"many\" is not a whole number from 1 to 100");
//! assert_eq!(size(&desired), Err(error));
//! ```

pub use crate::form::{Bool, Form, Integer, List, OneOf, Port, Span, Text, Values};

use crate::{Annotation, Description, Error, LoadBalancer, Result};

/// The most characters of a value that a message shows.
const SHOWN: usize = 120;

/// A row of the table: one annotation, and what may stand in it.
#[derive(Clone, Copy, Debug)]
pub struct Key<V> {
    /// As it stands on the Service.
    pub name: &'static str,
    values: V,
    default: &'static str,
    doc: &'static str,
    hint: &'static str,
    counts_at_creation: bool,
}

/// A row of any kind, for a table of all of them.
pub trait Row {
    /// What the provider's description says of it.
    fn described(&self) -> Annotation;
}

impl<V: Copy> Key<V> {
    /// An annotation by its key, what may stand there, and what it does in a sentence or two.
    #[must_use]
    pub const fn new(name: &'static str, values: V, doc: &'static str) -> Self {
        Self { name, values, default: "", doc, hint: "", counts_at_creation: false }
    }

    /// What holds without it: documentation, the provider applies it itself.
    #[must_use]
    pub const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    /// What an error adds in brackets: where else to say what somebody may have meant.
    #[must_use]
    pub const fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    /// It counts when a load balancer is created, and never again. The description says so.
    #[must_use]
    pub const fn only_at_creation(self) -> Self {
        Self { counts_at_creation: true, ..self }
    }
}

impl<V: Values> Key<V> {
    /// Whether it counts only when a load balancer is created.
    #[must_use]
    pub const fn is_only_at_creation(&self) -> bool {
        self.counts_at_creation
    }

    /// What may stand there, as it goes on after "is not".
    #[must_use]
    pub fn allowed(&self) -> String {
        self.values.allowed()
    }

    /// The error for a value that may not stand there.
    #[must_use]
    pub fn refused(&self, value: &str) -> Error {
        let allowed = self.values.allowed();
        let allowed = if self.hint.is_empty() { allowed } else { format!("{allowed} ({})", self.hint) };
        refused(self.name, value, &allowed)
    }
}

impl<V: Values> Row for Key<V> {
    fn described(&self) -> Annotation {
        let doc = match self.counts_at_creation {
            true => format!("{} Counts only when the load balancer is created.", self.doc),
            false => self.doc.to_owned(),
        };
        let annotation = Annotation::new(self.name, self.values.allowed(), doc);
        if self.default.is_empty() { annotation } else { annotation.default(self.default) }
    }
}

impl Description {
    /// Adds all rows of a table of annotations. The host passes no others.
    #[must_use]
    pub fn annotations<'a>(self, table: impl IntoIterator<Item = &'a dyn Row>) -> Self {
        table.into_iter().map(Row::described).fold(self, Self::annotation)
    }
}

/// The annotations of a Service. An empty value is as good as none.
#[derive(Clone, Copy, Debug)]
pub struct Annotations<'a>(&'a [(String, String)]);

impl<'a> Annotations<'a> {
    /// Those of the Service that a call is about.
    #[must_use]
    pub fn of(service: &'a LoadBalancer) -> Self {
        Self(&service.annotations)
    }

    /// Whether it is there at all, empty or not.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        self.0.iter().any(|(it, _)| it == name)
    }

    /// Its value as it is, without the white space around it.
    #[must_use]
    pub fn text(self, name: &str) -> Option<&'a str> {
        let (_, value) = self.0.iter().find(|(it, _)| it == name)?;
        Some(value.trim()).filter(|it| !it.is_empty())
    }

    /// Its value; `None` where it is not there.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], naming the key, the value, and what may stand there.
    pub fn read<V: Values>(self, key: &Key<V>) -> Result<Option<V::Value<'a>>> {
        let Some(text) = self.text(key.name) else { return Ok(None) };
        key.values.parse(text).map(Some).ok_or_else(|| key.refused(text))
    }
}

/// The error for a value of an annotation, with what may stand there: it goes on after "is not".
#[must_use]
pub fn refused(name: &str, value: &str, allowed: &str) -> Error {
    Error::invalid(format_args!("annotation {name}: {} is not {allowed}", shown(value)))
}

/// A value for a message: in quotes, and cut after 120 characters.
#[must_use]
pub fn shown(value: &str) -> String {
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &value[..end]),
        None => format!("{value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SIZE: Key<Integer> = Key::new("acme.example/size", Integer::between(1, 9), "How large it is.").default("1");
    const ZONE: Key<OneOf<char>> =
        Key::new("acme.example/zone", OneOf(&[("a", 'a'), ("b", 'b'), ("c", 'c')]), "Where it is.").only_at_creation();
    const PORTS: Key<List<Port>> =
        Key::new("acme.example/ports", List { of: Port, what: "ports", example: "80,8080" }, "Its ports.");

    fn service() -> LoadBalancer {
        LoadBalancer::of("default", "web", "uid")
    }

    /// What is read of a value.
    fn read<V: Values>(key: &Key<V>, value: &str, check: impl FnOnce(Result<Option<V::Value<'_>>>)) {
        let service = service().with_annotation(key.name, value);
        check(Annotations::of(&service).read(key));
    }

    fn why<V: Values>(values: V, value: &str) -> String {
        let key = Key { name: "k", values, default: "", doc: "", hint: "", counts_at_creation: false };
        let service = service().with_annotation("k", value);
        let Err(Error::Invalid(why)) = Annotations::of(&service).read(&key).map(|_| ()) else {
            panic!("{value} was taken")
        };
        why
    }

    #[test]
    fn a_value_is_read_without_space_around_it() {
        read(&SIZE, " 7 ", |it| assert_eq!(it, Ok(Some(7))));
        read(&SIZE, " ", |it| assert_eq!(it, Ok(None)));
        read(&ZONE, "b", |it| assert_eq!(it, Ok(Some('b'))));
        read(&PORTS, "80, 443", |it| assert_eq!(it, Ok(Some(vec![80, 443]))));
        assert_eq!(Annotations::of(&service()).read(&SIZE), Ok(None));
    }

    #[test]
    fn what_is_there_and_empty_is_there() {
        let service = service().with_annotation(SIZE.name, "");
        let annotations = Annotations::of(&service);
        assert_eq!((annotations.has(SIZE.name), annotations.text(SIZE.name)), (true, None));
        assert!(!annotations.has(ZONE.name));
    }

    #[test]
    fn an_error_says_what_may_stand_there() {
        assert_eq!(why(Bool, "yes"), "annotation k: \"yes\" is not true or false");
        assert_eq!(why(Integer::between(1, 9), "10"), "annotation k: \"10\" is not a whole number from 1 to 9");
        let seconds = Integer::between(30, 600).of("seconds").or_zero();
        assert_eq!(why(seconds, "29"), "annotation k: \"29\" is not a whole number of seconds from 30 to 600");
        assert_eq!(why(OneOf(&[("a", 1), ("b", 2)]), "A"), "annotation k: \"A\" is not a or b");
        assert_eq!(why(OneOf(&[("a", 1), ("b", 2), ("c", 3)]), "d"), "annotation k: \"d\" is not a, b or c");
        assert_eq!(why(Port, "0"), "annotation k: \"0\" is not one port, a whole number from 1 to 65535");
        let list = List { of: Port, what: "ports", example: "80,8080" };
        assert_eq!(why(list, "80,,81"), "annotation k: \"80,,81\" is not a list of ports such as 80,8080");
        let span = Span::between(Duration::from_secs(1), Duration::from_secs(300));
        assert_eq!(why(span, "500ms"), "annotation k: \"500ms\" is not between 1s and 5m");
        let name = Form { allowed: "a name of one letter", parse: |it| (it.len() == 1).then(|| it.to_owned()) };
        assert_eq!(why(name, "ab"), "annotation k: \"ab\" is not a name of one letter");
        let rules = List { of: Bool, what: "", example: "true,false" };
        assert_eq!(why(rules, "x"), "annotation k: \"x\" is not a list such as true,false");
        let hinted = ZONE.hint("for size there is another").refused("7");
        let text = "annotation acme.example/zone: \"7\" is not a, b or c (for size there is another)";
        assert_eq!(hinted, Error::invalid(text));
        let long = "x".repeat(500);
        assert!(why(Bool, &long).len() < 200);
    }

    #[test]
    fn the_description_is_made_of_the_same_rows() {
        let described = Description::new("acme", "1.0.0").annotations([&SIZE as &dyn Row, &ZONE, &PORTS]).annotations;
        let lines: Vec<_> = described
            .iter()
            .map(|it| format!("{} | {} | {} | {}", it.key, it.values, it.default.as_deref().unwrap_or("-"), it.doc))
            .collect();
        assert_eq!(
            lines,
            [
                "acme.example/size | a whole number from 1 to 9 | 1 | How large it is.",
                "acme.example/zone | a, b or c | - | Where it is. Counts only when the load balancer is created.",
                "acme.example/ports | a list of ports such as 80,8080 | - | Its ports.",
            ]
        );
    }
}
