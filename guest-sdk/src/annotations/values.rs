//! The annotations of a Service as they are written.

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
    use crate::form::Text;

    #[test]
    fn what_is_there_and_empty_is_there() {
        let key: Key<Text> = Key::new("acme.example/size", Text("anything"), "");
        let service = LoadBalancer::of("default", "web", "uid").with_annotation(key.name, "");
        let annotations = Annotations::of(&service);
        assert_eq!((annotations.has(key.name), annotations.text(key.name)), (true, None));
        assert_eq!((annotations.has("acme.example/zone"), annotations.read(&key)), (false, Ok(None)));
    }
}
