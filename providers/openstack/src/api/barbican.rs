//! Barbican: whether a certificate is there.

use aerostat_sdk::{Error, Result};

use super::BARBICAN;

/// Checks that the container or secret of a reference is there. The reference ends with its kind and its id.
///
/// # Errors
///
/// Whatever Barbican answered; `invalid` if it is not there.
pub(crate) fn check(reference: &str) -> Result<()> {
    let mut parts = reference.rsplit('/');
    let (Some(id), Some(kind)) = (parts.next(), parts.next()) else {
        return Err(Error::invalid(format_args!("{reference} is no reference of the key manager")));
    };
    match BARBICAN.get([kind, id]).find_response()? {
        Some(_) => Ok(()),
        None => Err(Error::invalid(format_args!("the key manager has no {reference}"))),
    }
}
