//! The parameters of a StorageClass, and the annotations of a claim, read by the rows of a table: see [`crate::key`].

use crate::form::Form;
use crate::key::{Key, KeyPlace};
use crate::{DesiredVolume, Result};

/// The parameters of a volume's StorageClass. An empty value counts as not set.
///
/// ```
/// use aerostat_sdk::form::OneOf;
/// use aerostat_sdk::parameters::Parameters;
/// use aerostat_sdk::{DesiredVolume, VolumeDescription};
///
/// aerostat_sdk::table! {
///     /// The parameters of a class.
///     const PARAMETERS;
///     TIER: OneOf<u8> = ("tier", OneOf(&[("slow", 1), ("fast", 2)]), "How fast it is.").default("slow");
/// }
///
/// let description = VolumeDescription::new("csi.acme.example").parameters(PARAMETERS);
/// assert_eq!(description.parameters[0].key, "tier");
///
/// let plain = DesiredVolume::of("default", "data", "uid", 1 << 30);
/// assert_eq!(Parameters::of(&plain).get(&TIER), Ok(1));
/// let wrong = plain.with_parameter("tier", "huge");
/// let error = aerostat_sdk::Error::invalid("parameter tier: \"huge\" is not slow or fast");
/// assert_eq!(Parameters::of(&wrong).get(&TIER), Err(error));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    pairs: &'a [(String, String)],
    place: KeyPlace,
}

impl<'a> Parameters<'a> {
    /// Those of the class.
    #[must_use]
    pub fn of(desired: &'a DesiredVolume) -> Self {
        Self { pairs: &desired.parameters, place: KeyPlace::Parameter }
    }

    /// The annotations of the claim.
    #[must_use]
    pub fn of_claim(desired: &'a DesiredVolume) -> Self {
        Self { pairs: &desired.annotations, place: KeyPlace::Annotation }
    }

    /// Its value as it is, without the white space around it.
    #[must_use]
    pub fn text(self, name: &str) -> Option<&'a str> {
        let (_, value) = self.pairs.iter().find(|(it, _)| it == name)?;
        Some(value.trim()).filter(|it| !it.is_empty())
    }

    /// Its value; `None` where it is not set.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid), naming the key, the value, and the allowed values.
    pub fn read<F: Form>(self, key: &Key<F>) -> Result<Option<F::Value<'a>>> {
        self.text(key.name).map(|text| key.parse(self.place, text)).transpose()
    }

    /// Its value, or its default where it is not set.
    ///
    /// # Errors
    ///
    /// As [`Self::read`], and [`Error::Invalid`](crate::Error::Invalid) where it is not set and has no default.
    pub fn get<T, F: for<'b> Form<Value<'b> = T>>(self, key: &Key<F>) -> Result<T> {
        self.read(key)?.map_or_else(|| key.missing(self.place), Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::form::Integer;

    const SIZE: Key<Integer> = Key::new("size", Integer::between(1, 9), "How large.").required();

    #[test]
    fn a_missing_parameter_is_named_with_the_place_to_write_it() {
        let plain = DesiredVolume::of("default", "data", "uid", 1);
        let why = "parameter size is missing: write it under parameters of the StorageClass";
        assert_eq!(Parameters::of(&plain).get(&SIZE), Err(Error::invalid(why)));
        let set = plain.with_parameter("size", " 7 ");
        assert_eq!(Parameters::of(&set).get(&SIZE), Ok(7));
        assert_eq!(Parameters::of_claim(&set).read(&SIZE), Ok(None), "an annotation is no parameter");
    }
}
