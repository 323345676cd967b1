//! Reads answers of clouds that say `null`, `""` or `0` where others leave a field out, and changes parts of objects that
//! are written as a whole.
//!
//! ```
//! use aerostat_sdk::json;
//! use serde::Deserialize;
//!
//! #[derive(Debug, Deserialize, PartialEq)]
//! struct Balancer {
//!     #[serde(default, deserialize_with = "json::null_as_default")]
//!     ports: Vec<u16>,
//!     #[serde(default, deserialize_with = "json::empty_as_none")]
//!     network: Option<String>,
//!     #[serde(default, deserialize_with = "json::zero_as_none")]
//!     timeout: Option<u32>,
//! }
//!
//! let text = r#"{ "ports": null, "network": "", "timeout": 0 }"#;
//! let balancer: Balancer = serde_json::from_str(text).unwrap();
//! assert_eq!(balancer, Balancer { ports: Vec::new(), network: None, timeout: None });
//! ```
//!
//! A struct is read in the order of its fields, each looked for by its name, and the last of two with one name counts. So a field has one
//! name: with serde's `alias` a struct is not read, and `deny_unknown_fields` denies nothing. A field that is missing and may be null is read
//! as null is, also where it has another default. A type of its own visitor has to have `visit_seq`, and an enum with `tag` and `content`
//! both fields in each case.
//!
//! Where all fields of an object are like that, [`sparse`] removes them from its JSON, and `#[serde(default)]` fills them in.

mod edit;
mod error;
mod read;
mod revision;
mod sparse;
mod tree;

pub use self::edit::Edit;
pub use self::error::JsonError;
pub use self::read::read;
pub use self::revision::revision;
pub use self::sparse::sparse;
pub(crate) use self::tree::Tree;

use serde::de::IntoDeserializer as _;
use serde::{Deserialize, Deserializer};

/// Reads `null` as the default.
///
/// # Errors
///
/// Those of `T`.
pub fn null_as_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(value: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or_default())
}

/// Reads `null` and `""` as `None`.
///
/// # Errors
///
/// If it is no text.
pub fn empty_as_none<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    Ok(Option::deserialize(value)?.filter(|it: &String| !it.is_empty()))
}

/// Reads `null` and `""` as the default of an enum.
///
/// # Errors
///
/// If it is another word.
pub fn empty_as_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(value: D) -> Result<T, D::Error> {
    match empty_as_none(value)? {
        Some(word) => T::deserialize(word.into_deserializer()),
        None => Ok(T::default()),
    }
}

/// Reads `null` and `0` as `None`.
///
/// # Errors
///
/// If it is no number.
pub fn zero_as_none<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u32>, D::Error> {
    Ok(Option::deserialize(value)?.filter(|it| *it != 0))
}
