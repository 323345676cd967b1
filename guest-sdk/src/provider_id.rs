//! `spec.providerID` of a node: the prefix of the cloud, and the cloud's own id.
//!
//! A provider must read every form that it has ever written: a node keeps its id for as long as it exists.

use std::fmt::Display;
use std::str::FromStr;

use crate::{Error, Result};

/// The provider id of the machine that the cloud calls `id`.
pub fn join(prefix: &str, id: impl Display) -> String {
    format!("{prefix}{id}")
}

/// The cloud's own id in `provider_id`: what follows `prefix`, never empty.
///
/// # Errors
///
/// [`Error::Invalid`], naming the id and the prefix that it should have.
pub fn split<'a>(prefix: &str, provider_id: &'a str) -> Result<&'a str> {
    match provider_id.strip_prefix(prefix) {
        Some("") => Err(Error::invalid(format_args!("provider id {provider_id:?} has nothing behind {prefix}"))),
        Some(id) => Ok(id),
        None => Err(Error::invalid(format_args!("provider id {provider_id:?} does not begin with {prefix}"))),
    }
}

/// The cloud's own id in `provider_id`, where it has a form of its own: a number, say.
///
/// Only the form that [`join`] writes is accepted: two spellings of one id would look like two machines.
///
/// # Errors
///
/// [`Error::Invalid`], naming the id and the form that it should have.
pub fn parse<T: FromStr + Display>(prefix: &str, provider_id: &str, form: &str) -> Result<T> {
    let text = split(prefix, provider_id)?;
    text.parse()
        .ok()
        .filter(|it: &T| it.to_string() == text)
        .ok_or_else(|| Error::invalid(format_args!("provider id {provider_id:?} is not {prefix} and {form}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = "acme://";

    #[test]
    fn a_joined_provider_id_is_split() {
        assert_eq!(split(PREFIX, &join(PREFIX, "a/b")), Ok("a/b"));
        assert_eq!(parse(PREFIX, &join(PREFIX, 42_u64), "a number"), Ok(42_u64));
    }

    #[test]
    fn another_clouds_id_is_invalid() {
        let error = Error::invalid("provider id \"aws:///x/i-1\" does not begin with acme://");
        assert_eq!(split(PREFIX, "aws:///x/i-1"), Err(error));
    }

    #[test]
    fn an_empty_id_is_invalid() {
        assert_eq!(split(PREFIX, "acme://"), Err(Error::invalid("provider id \"acme://\" has nothing behind acme://")));
    }

    #[test]
    fn only_the_canonical_number_is_a_number() {
        for id in ["acme://042", "acme://+42", "acme://4 2", "acme://-1", "acme://x", "acme://99999999999999999999"] {
            let error = Error::invalid(format_args!("provider id {id:?} is not acme:// and a number"));
            assert_eq!(parse::<u64>(PREFIX, id, "a number"), Err(error));
        }
    }
}
