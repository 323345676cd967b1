//! The time until which a certificate is valid. Pure.

use std::time::{Duration, SystemTime};

use x509_parser::certificate::X509CertificateParser;
use x509_parser::nom::Parser as _;

/// The end of a certificate's validity, in whole seconds; `None` if it cannot be read.
pub(crate) fn end(certificate: &[u8]) -> Option<SystemTime> {
    let (_, certificate) = X509CertificateParser::new().with_deep_parse_extensions(false).parse(certificate).ok()?;
    let seconds = u64::try_from(certificate.validity().not_after.timestamp()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}
