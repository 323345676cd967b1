//! Reads answers as the vendor's client does: what is null, empty or zero is as good as left out.

use serde::de::IntoDeserializer as _;
use serde::{Deserialize, Deserializer};

/// What is null is as good as left out.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(value: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or_default())
}

/// What is empty is as good as left out.
pub(super) fn not_empty<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    Ok(Option::deserialize(value)?.filter(|it: &String| !it.is_empty()))
}

/// A word that is null or empty is as good as left out.
pub(super) fn word<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(value: D) -> Result<T, D::Error> {
    match not_empty(value)? {
        Some(word) => T::deserialize(word.into_deserializer()),
        None => Ok(T::default()),
    }
}

/// What is zero is as good as left out.
pub(super) fn not_zero<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u32>, D::Error> {
    Ok(Option::deserialize(value)?.filter(|it| *it != 0))
}

pub(super) fn port_or_80<'de, D: Deserializer<'de>>(value: D) -> Result<u16, D::Error> {
    Ok(Option::deserialize(value)?.filter(|it| *it != 0).unwrap_or_else(port_80))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
pub(super) fn is_false(value: &bool) -> bool {
    !value
}

pub(super) fn port_80() -> u16 {
    80
}
