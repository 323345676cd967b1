//! Fields that cannot be changed once a load balancer exists, and its name.

use super::reading::Reading;
use super::values::refused;
use crate::form::{Custom, OneOf};
use crate::key::Key;
use crate::{LoadBalancer, Result};

impl<L> Reading<'_, L> {
    /// A field that only a creation sets. Of a load balancer that exists it is the value that it has, with a warning if the
    /// annotation asks for another one; otherwise it is the annotation's. `field` is its name in the warning.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the key, the value, and the allowed values.
    pub fn fixed<T: Copy + PartialEq>(
        &mut self,
        field: &str,
        key: &Key<OneOf<T>>,
        shown: impl FnOnce(&L) -> T,
    ) -> Result<Option<T>> {
        // A value that is not allowed asks for nothing, not for the default.
        let desired = if self.text(key).is_none() { key.fallback() } else { self.read(key)? };
        let Some(live) = self.live.map(shown) else { return Ok(desired) };
        let word = |it| key.form.word(it);
        if let (Some(live), Some(desired)) = (word(live), desired.filter(|it| *it != live).and_then(word)) {
            self.warnings.immutable(field, live, desired);
        }
        Ok(Some(live))
    }

    /// The same for an id, in upper or lower case, that a load balancer need not have.
    pub fn fixed_id(
        &mut self,
        field: &str,
        desired: Option<&str>,
        shown: impl FnOnce(&L) -> Option<&str>,
    ) -> Option<String> {
        let Some(live) = self.live.map(shown) else { return desired.map(str::to_owned) };
        if let (Some(live), Some(desired)) = (live, desired)
            && !live.eq_ignore_ascii_case(desired)
        {
            self.warnings.immutable(field, live, desired);
        }
        live.map(str::to_owned)
    }

    /// The name of the load balancer: what the annotation says, or the one that holds the Service's UID. The name that holds
    /// another Service's UID is refused: in a cloud without other marks it proves whose a load balancer is.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the key, the value, and the allowed values.
    pub fn load_balancer_name(
        &mut self,
        service: &LoadBalancer,
        key: &Key<Custom<String>>,
        shown: impl Fn(&L) -> &str,
    ) -> Result<String> {
        let as_shown = |live: &L, text: &str| (shown(live) == text).then(|| text.to_owned());
        let Some(chosen) = self.read_or_keep(key, as_shown)? else { return Ok(service.name.clone()) };
        if is_default_name(&chosen) && !chosen.eq_ignore_ascii_case(&service.name) {
            let allowed =
                "free to choose: it is what the load balancer of the Service with this UID is called by default";
            if self.live.is_none_or(|it| shown(it) != chosen) {
                return Err(refused(key.name, &chosen, allowed));
            }
            self.keep(key.name, &chosen, allowed);
        }
        Ok(chosen)
    }
}

/// Whether it has the form of the name that holds a UID: "a", and a UID without its dashes and its end.
fn is_default_name(name: &str) -> bool {
    name.len() == 32 && name.starts_with(['a', 'A']) && name.bytes().all(|it| it.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Host;

    /// The value that is read of a Service before a load balancer, and the warnings.
    fn read<T>(
        service: &LoadBalancer,
        live: Option<&str>,
        read: impl Fn(&mut Reading<'_, &str>) -> T,
    ) -> (T, Vec<String>) {
        let mut reading = Reading::of(service, live.as_ref());
        let read = read(&mut reading);
        let host = Host::new();
        host.run(|| reading.warnings.emit());
        (read, host.events().into_iter().map(|it| it.message).collect())
    }

    fn service(name: &str, value: &str) -> LoadBalancer {
        LoadBalancer::of("default", "web", "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11").with_annotation(name, value)
    }

    #[test]
    fn a_fixed_field_stays_with_a_warning() {
        let key: Key<OneOf<u8>> =
            Key::new("zone", OneOf(&[("one", 1), ("two", 2)]), "").default("one").only_at_creation();
        let fixed = |value, live| {
            read(&service(key.name, value), live, |it| it.fixed("zone", &key, |live| live.parse().unwrap()))
        };
        assert_eq!(fixed("two", None), (Ok(Some(2)), Vec::new()));
        assert_eq!(fixed("", None), (Ok(Some(1)), Vec::new()));
        assert_eq!(fixed("two", Some("2")), (Ok(Some(2)), Vec::new()));
        let warning = "zone stays two: it cannot become one once the load balancer is built".to_owned();
        assert_eq!(fixed("one", Some("2")), (Ok(Some(2)), vec![warning.clone()]));
        assert_eq!(fixed("", Some("2")), (Ok(Some(2)), vec![warning]), "the default is what its author asks for");
        let (kept, warnings) = fixed("three", Some("2"));
        assert_eq!((kept, warnings.len()), (Ok(Some(2)), 1), "{warnings:?}");
        assert!(fixed("three", None).0.is_err());
    }

    #[test]
    fn an_id_that_is_fixed_stays_with_a_warning() {
        let fixed = |desired, live| read(&service("a", ""), live, |it| it.fixed_id("VPC", desired, |live| Some(*live)));
        assert_eq!(fixed(Some("v-1"), None), (Some("v-1".to_owned()), Vec::new()));
        assert_eq!(fixed(Some("V-1"), Some("v-1")), (Some("v-1".to_owned()), Vec::new()));
        assert_eq!(fixed(None, Some("v-1")), (Some("v-1".to_owned()), Vec::new()));
        let warning = "VPC stays v-1: it cannot become v-2 once the load balancer is built".to_owned();
        assert_eq!(fixed(Some("v-2"), Some("v-1")), (Some("v-1".to_owned()), vec![warning]));
    }

    #[test]
    fn a_name_that_holds_another_uid_is_refused() {
        let key = Key::new("name", Custom { allowed: "a name", parse: |it| Some(it.to_owned()) }, "");
        let name = |value: &str, live| {
            let service = service(key.name, value);
            read(&service, live, |it| it.load_balancer_name(&service, &key, |live| live)).0
        };
        let (own, foreign) = ("a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1", "a1f2e3d4c5b6a79880910a1b2c3d4e5f");
        assert_eq!((name("", None), name("web", None)), (Ok(own.to_owned()), Ok("web".to_owned())));
        assert_eq!(name(own, None), Ok(own.to_owned()));
        assert!(name(foreign, None).is_err() && name(&foreign.to_uppercase(), None).is_err());
        assert_eq!(name(foreign, Some(foreign)), Ok(foreign.to_owned()), "the load balancer has it");
    }
}
