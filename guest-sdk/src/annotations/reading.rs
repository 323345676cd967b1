//! Reads a Service's annotations where a load balancer may exist already. A value that is not allowed and would change nothing
//! is a warning there and no error: another controller may have accepted it before.

use std::str::FromStr;

use super::values::Annotations;
use crate::events::Warnings;
use crate::form::{Custom, Form, Integer, List};
use crate::key::{Key, Row};
use crate::{Error, LoadBalancer, Result, SortedSet};

/// The annotations of a Service, its load balancer if it exists, and warnings for the Service's author.
#[derive(Debug)]
pub struct Reading<'a, L> {
    /// The annotations.
    pub annotations: Annotations<'a>,
    /// The load balancer as the cloud shows it, if it exists.
    pub live: Option<&'a L>,
    /// Warnings about the values.
    pub warnings: Warnings,
    /// The first error of [`Self::take`].
    refused: Option<Error>,
}

impl<'a, L> Reading<'a, L> {
    /// The annotations of `service`, whose load balancer is `live`.
    #[must_use]
    pub fn of(service: &'a LoadBalancer, live: Option<&'a L>) -> Self {
        Self { annotations: Annotations::of(service), live, warnings: Warnings::default(), refused: None }
    }

    /// A value. Where the load balancer exists and the annotation has an effect only at its creation, a value that is not allowed
    /// is a warning.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the key, the value, and the allowed values.
    pub fn read<F: Form>(&mut self, key: &Key<F>) -> Result<Option<F::Value<'a>>> {
        let refused = match self.annotations.read(key) {
            Err(refused) if key.is_only_at_creation() && self.live.is_some() => refused,
            read => return read,
        };
        let Some(text) = self.text(key) else { return Err(refused) };
        let meaning = format!("has no effect on a load balancer that is there, and is not {}", key.allowed());
        self.warnings.tolerated(key.name, text, &meaning);
        Ok(None)
    }

    /// A value as [`Self::read`] has it, or `None` where it is not allowed: [`Self::check`] fails then. Where many are read one after
    /// the other, a module is smaller so.
    pub fn take<F: Form>(&mut self, key: &Key<F>) -> Option<F::Value<'a>> {
        match self.read(key) {
            Ok(read) => read,
            Err(refused) => {
                self.refuse(refused);
                None
            }
        }
    }

    #[cold]
    fn refuse(&mut self, refused: Error) {
        self.refused.get_or_insert(refused);
    }

    /// Whether all values that were taken are allowed. Call it before anything is made of them.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the first key, its value, and the allowed values.
    pub fn check(&self) -> Result<()> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    /// A value. One that is not allowed is kept, with a warning, if the load balancer has it already: `as_shown` reads it then.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the key, the value, and the allowed values.
    pub fn read_or_keep<F: Form>(
        &mut self,
        key: &Key<F>,
        as_shown: impl FnOnce(&L, &'a str) -> Option<F::Value<'a>>,
    ) -> Result<Option<F::Value<'a>>> {
        let refused = match self.read(key) {
            Ok(read) => return Ok(read),
            Err(refused) => refused,
        };
        let (Some(live), Some(text)) = (self.live, self.text(key)) else { return Err(refused) };
        let shown = as_shown(live, text).ok_or(refused)?;
        self.keep(key.name, text, &key.allowed());
        Ok(Some(shown))
    }

    /// A value or its default. One that is not allowed is kept, with a warning, if the load balancer has it already.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the key, the value, and the allowed values.
    pub fn read_or_shown<F, T>(&mut self, key: &Key<F>, shown: impl FnOnce(&L) -> Option<T>) -> Result<Option<T>>
    where
        F: for<'b> Form<Value<'b> = T>,
        T: FromStr + PartialEq,
    {
        let read =
            self.read_or_keep(key, |live, text| shown(live).filter(|it| text.parse().ok().as_ref() == Some(it)))?;
        Ok(read.or_else(|| key.fallback()))
    }

    /// A number of which zero counts as not set, with a warning: `meaning` says what applies then.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the key, the value, and the allowed values.
    pub fn read_nonzero(
        &mut self,
        key: &Key<Integer>,
        meaning: &str,
        shown: impl FnOnce(&L) -> Option<u32>,
    ) -> Result<Option<u32>> {
        let number = self.read_or_shown(key, shown)?;
        if number == Some(0) {
            self.tolerated(key, "0", &format!("counts as not set: {meaning}"));
        }
        Ok(number.filter(|it| *it != 0))
    }

    /// A list without order. One that is not allowed is kept, with a warning, if the load balancer has it already.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the key, the value, and the allowed values.
    pub fn read_set(
        &mut self,
        key: &Key<List<Custom<String>>>,
        shown: impl FnOnce(&L) -> &SortedSet<String>,
    ) -> Result<SortedSet<String>> {
        let as_shown = |live: &L, text: &str| {
            let items: SortedSet<_> = text.split(',').map(|it| it.trim().to_owned()).collect();
            (items == *shown(live)).then(|| items.into_iter().collect())
        };
        Ok(self.read_or_keep(key, as_shown)?.unwrap_or_default().into_iter().collect())
    }

    /// A value or its default. One that is not allowed counts as the default, with a warning: `meaning` says so.
    pub fn read_or_default<T: Default, F>(&mut self, key: &Key<F>, meaning: &str) -> T
    where
        F: for<'b> Form<Value<'b> = T>,
    {
        let read = self.read(key).unwrap_or_else(|_| {
            let value = self.text(key).unwrap_or_default();
            self.tolerated(key, value, meaning);
            None
        });
        read.or_else(|| key.fallback()).unwrap_or_default()
    }

    /// A boolean; false where it is not set.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the key, the value, and the allowed values.
    pub fn flag<F: for<'b> Form<Value<'b> = bool>>(&mut self, key: &Key<F>) -> Result<bool> {
        Ok(self.read(key)?.unwrap_or(false))
    }

    /// A value as it is written; `None` where it is not set, or empty.
    #[must_use]
    pub fn text<F>(&self, key: &Key<F>) -> Option<&'a str> {
        self.annotations.text(key.name)
    }

    /// Warns that a value stays although it is not what `allowed` says.
    pub fn keep(&mut self, name: &str, value: &str, allowed: &str) {
        self.warnings.tolerated(name, value, &format!("stays, because the load balancer has it; it is not {allowed}"));
    }

    /// Warns about the first of these annotations that is set: it has no effect. `meaning` says so.
    pub fn without_effect(&mut self, keys: &[&dyn Row], meaning: &str) {
        if let Some((name, value)) = keys.iter().find_map(|it| Some((it.name(), self.annotations.text(it.name())?))) {
            self.warnings.tolerated(name, value, meaning);
        }
    }

    /// Warns that a value that is not allowed has a meaning all the same, or that a value has no effect.
    pub fn tolerated<F>(&mut self, key: &Key<F>, value: &str, meaning: &str) {
        self.warnings.tolerated(key.name, value, meaning);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::OneOf;
    use crate::testing::Host;

    const SIZE: Key<Integer> = Key::new("acme.example/size", Integer::between(1, 9), "").default("3");
    const ZONE: Key<Integer> = Key::new("acme.example/zone", Integer::between(1, 9), "").only_at_creation();

    /// The number that a value is read as where the load balancer has `live`, and the warnings.
    fn read(key: &Key<Integer>, value: &str, live: Option<u32>) -> (Result<Option<u32>>, Vec<String>) {
        let service = LoadBalancer::of("default", "web", "uid").with_annotation(key.name, value);
        let mut reading = Reading::of(&service, live.as_ref());
        let read = reading.read_or_shown(key, |it| Some(*it));
        let host = Host::new();
        host.run(|| reading.warnings.emit());
        (read, host.events().into_iter().map(|it| format!("{}: {}", it.reason, it.message)).collect())
    }

    #[test]
    fn a_value_that_the_load_balancer_has_stays() {
        let warning = "AnnotationTolerated: annotation acme.example/size: \"12\" stays, because the load balancer has it; \
                       it is not a whole number from 1 to 9";
        assert_eq!(read(&SIZE, "12", Some(12)), (Ok(Some(12)), vec![warning.to_owned()]));
        assert!(read(&SIZE, "12", Some(11)).0.is_err() && read(&SIZE, "12", None).0.is_err());
    }

    #[test]
    fn a_default_holds_without_a_value() {
        assert_eq!(read(&SIZE, "", Some(7)), (Ok(Some(3)), Vec::new()));
        assert_eq!(read(&ZONE, "", Some(7)), (Ok(None), Vec::new()));
    }

    #[test]
    fn an_annotation_of_the_creation_is_a_warning_later() {
        let warning = "AnnotationTolerated: annotation acme.example/zone: \"12\" has no effect on a load balancer that is \
                       there, and is not a whole number from 1 to 9";
        assert_eq!(read(&ZONE, "12", Some(7)), (Ok(None), vec![warning.to_owned()]));
        assert!(read(&ZONE, "12", None).0.is_err());
    }

    /// The result of `read` for a Service with this annotation before the load balancer `live`, and the warnings.
    fn reading<L, T>(
        name: &str,
        value: &str,
        live: Option<&L>,
        read: impl Fn(&mut Reading<'_, L>) -> T,
    ) -> (T, Vec<String>) {
        let service = LoadBalancer::of("default", "web", "uid").with_annotation(name, value);
        let mut reading = Reading::of(&service, live);
        let read = read(&mut reading);
        let host = Host::new();
        host.run(|| reading.warnings.emit());
        (read, host.events().into_iter().map(|it| it.message).collect())
    }

    #[test]
    fn zero_counts_as_not_set() {
        let key: Key<Integer> = Key::new("size", Integer::between(0, 9), "");
        let size =
            |value| reading(key.name, value, None, |it| it.read_nonzero(&key, "one machine", |live: &u32| Some(*live)));
        let warning = "annotation size: \"0\" counts as not set: one machine";
        assert_eq!(size("0"), (Ok(None), vec![warning.to_owned()]));
        assert_eq!(size("3"), (Ok(Some(3)), Vec::new()));
    }

    #[test]
    fn a_list_that_the_load_balancer_has_stays_in_any_order() {
        let key =
            Key::new("ranges", List { of: Custom::cidr("a network"), what: "networks", example: "10.0.0.0/8" }, "");
        let live = SortedSet::from(["b".to_owned(), "a".to_owned()]);
        let ranges = |value| reading(key.name, value, Some(&live), |it| it.read_set(&key, |live| live));
        let (kept, warnings) = ranges("a, b");
        assert_eq!((kept, warnings.len()), (Ok(live.clone()), 1));
        assert!(ranges("a").0.is_err());
        assert_eq!(ranges("10.0.0.0/8"), (Ok(SortedSet::from(["10.0.0.0/8".to_owned()])), Vec::new()));
    }

    #[test]
    fn an_unknown_value_counts_as_the_default() {
        let key = Key::new("kind", OneOf(&[("small", 1), ("large", 2)]), "").default("small");
        let kind = |value| {
            reading(key.name, value, None, |it: &mut Reading<'_, ()>| it.read_or_default(&key, "counts as small"))
        };
        assert_eq!((kind("large"), kind("")), ((2, Vec::new()), (1, Vec::new())));
        assert_eq!(kind("huge"), (1, vec!["annotation kind: \"huge\" counts as small".to_owned()]));
    }

    #[test]
    fn the_first_value_taken_that_is_refused_is_the_error() {
        let check = |size: &str, zone: &str| {
            let service = LoadBalancer::of("default", "web", "uid").with_annotation(SIZE.name, size);
            let service = service.with_annotation(ZONE.name, zone);
            let mut reading: Reading<'_, ()> = Reading::of(&service, None);
            let taken = (reading.take(&SIZE), reading.take(&ZONE));
            (taken, reading.check().map_err(|it| format!("{it:?}").contains(SIZE.name)))
        };
        assert_eq!(check("7", "8"), ((Some(7), Some(8)), Ok(())));
        assert_eq!(check("12", "8"), ((None, Some(8)), Err(true)));
        assert_eq!(check("12", "13"), ((None, None), Err(true)));
        assert_eq!(check("7", "13"), ((Some(7), None), Err(false)));
    }

    #[test]
    fn an_annotation_without_effect_is_a_warning() {
        let check = |name| {
            reading(name, "4", None, |it: &mut Reading<'_, ()>| it.without_effect(&[&ZONE, &SIZE], "is ignored")).1
        };
        assert_eq!(check(SIZE.name), [format!("annotation {}: \"4\" is ignored", SIZE.name)]);
        assert_eq!(check("other"), [""; 0]);
    }
}
