//! The annotations of a Service as they are written.

use std::fmt::Display;

use crate::form::Form;
use crate::key::{self, Key, KeyPlace};
use crate::{Error, LoadBalancer, Result};

/// The annotations of a Service. An empty value counts as not set.
#[derive(Clone, Copy, Debug)]
pub struct Annotations<'a>(&'a [(String, String)]);

impl<'a> Annotations<'a> {
    /// Those of the Service that a call is about.
    #[must_use]
    pub fn of(service: &'a LoadBalancer) -> Self {
        Self(&service.annotations)
    }

    /// Whether it is set, empty or not.
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

    /// Its value; `None` where it is not set.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], naming the key, the value, and the allowed values.
    pub fn read<F: Form>(self, key: &Key<F>) -> Result<Option<F::Value<'a>>> {
        self.text(key.name).map(|text| key.parse(KeyPlace::Annotation, text)).transpose()
    }

    /// Its value, or its default where it is not set.
    ///
    /// # Errors
    ///
    /// As [`Self::read`], and [`Error::Invalid`] where it is not set and has no default.
    pub fn get<T, F: for<'b> Form<Value<'b> = T>>(self, key: &Key<F>) -> Result<T> {
        self.read(key)?.map_or_else(|| key.missing(KeyPlace::Annotation), Ok)
    }

    /// The value of a row whose key has one `*`, with `part` in its place: of "acme.example/port-*-protocol" the one for port 443,
    /// say. Without such an annotation `None`.
    ///
    /// ```
    /// use aerostat_sdk::annotations::Annotations;
    /// use aerostat_sdk::{LoadBalancer, form::OneOf, key::Key};
    ///
    /// const PROTOCOL: Key<OneOf<u8>> =
    ///     Key::new("acme.example/port-*-protocol", OneOf(&[("tcp", 4), ("http", 7)]), "What a port carries.").default("tcp");
    ///
    /// let service = LoadBalancer::of("default", "web", "uid").with_annotation("acme.example/port-80-protocol", "http");
    /// let annotations = Annotations::of(&service);
    /// assert_eq!(annotations.read_at(&PROTOCOL, 80), Ok(Some(7)));
    /// assert_eq!(annotations.get_at(&PROTOCOL, 443), Ok(4));
    /// assert_eq!(annotations.read_each(&PROTOCOL), Ok(vec![("80", 7)]));
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`], naming the annotation as it is written, the value, and the allowed values.
    pub fn read_at<F: Form>(self, key: &Key<F>, part: impl Display) -> Result<Option<F::Value<'a>>> {
        let name = key.name.replacen('*', &part.to_string(), 1);
        self.text(&name).map(|text| key.parse_named(KeyPlace::Annotation, &name, text)).transpose()
    }

    /// The same value, or the row's default.
    ///
    /// # Errors
    ///
    /// As [`Self::read_at`], and [`Error::Invalid`] where it is not set and has no default.
    pub fn get_at<T, F: for<'b> Form<Value<'b> = T>>(self, key: &Key<F>, part: impl Display) -> Result<T> {
        self.read_at(key, part)?.map_or_else(|| key.missing(KeyPlace::Annotation), Ok)
    }

    /// All values of a row whose key has one `*`, each with what stands in its place, in the order of the Service's annotations.
    /// Names of ports that the Service does not have are among them: say so, rather than pass over a typing error.
    ///
    /// # Errors
    ///
    /// As [`Self::read_at`], for the first value that is not allowed.
    pub fn read_each<F: Form>(self, key: &Key<F>) -> Result<Vec<(&'a str, F::Value<'a>)>> {
        let Some((before, after)) = key.name.split_once('*') else { return Ok(Vec::new()) };
        let part = |name: &'a str| {
            let part = name.strip_prefix(before)?.strip_suffix(after)?;
            (!part.is_empty() && !part.contains('/')).then_some(part)
        };
        let mut values = Vec::new();
        for (name, text) in self.0 {
            if let Some(part) = part(name).filter(|_| !text.trim().is_empty()) {
                values.push((part, key.parse_named(KeyPlace::Annotation, name, text.trim())?));
            }
        }
        Ok(values)
    }
}

/// The error for a value of an annotation that is not allowed. `allowed` follows "is not".
#[must_use]
pub fn refused(name: &str, value: &str, allowed: &str) -> Error {
    key::refused(KeyPlace::Annotation, name, value, allowed)
}

/// The error for two annotations of which only one may be set.
#[must_use]
pub fn exclusive<F, G>(one: &Key<F>, other: &Key<G>) -> Error {
    Error::invalid(format_args!("annotations {} and {} cannot both be set", one.name, other.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::{Integer, Text};

    #[test]
    fn an_empty_annotation_is_there() {
        let key: Key<Text> = Key::new("acme.example/size", Text("anything"), "");
        let service = LoadBalancer::of("default", "web", "uid").with_annotation(key.name, "");
        let annotations = Annotations::of(&service);
        assert_eq!((annotations.has(key.name), annotations.text(key.name)), (true, None));
        assert_eq!((annotations.has("acme.example/zone"), annotations.read(&key)), (false, Ok(None)));
    }

    #[test]
    fn values_of_ports_are_read_by_their_row() {
        let key: Key<Integer> = Key::new("acme.example/port-*-weight", Integer::between(1, 9), "");
        let service = LoadBalancer::of("default", "web", "uid")
            .with_annotation("acme.example/port-80-weight", " 3 ")
            .with_annotation("acme.example/port-443-weight", "")
            .with_annotation("acme.example/port--weight", "x")
            .with_annotation("acme.example/port-80-colour", "x");
        let annotations = Annotations::of(&service);
        assert_eq!(annotations.read_each(&key), Ok(vec![("80", 3)]));
        assert_eq!([80, 443].map(|it| annotations.read_at(&key, it)), [Ok(Some(3)), Ok(None)]);
        assert!(matches!(annotations.get_at(&key, 443), Err(Error::Invalid(why)) if why.contains("is missing")));
        let wrong = service.with_annotation("acme.example/port-81-weight", "12");
        let expected =
            Error::invalid("annotation acme.example/port-81-weight: \"12\" is not a whole number from 1 to 9");
        assert_eq!(Annotations::of(&wrong).read_each(&key), Err(expected.clone()));
        assert_eq!(Annotations::of(&wrong).read_at(&key, 81), Err(expected));
    }
}
