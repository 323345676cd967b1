//! Until when a certificate is valid. Pure.

use std::time::{Duration, SystemTime};

use crate::der::{DerElement, GENERALIZED_TIME, UTC_TIME};

/// The end of a certificate's validity, in whole seconds; `None` if it cannot be read.
pub(crate) fn end(certificate: &[u8]) -> Option<SystemTime> {
    let (certificate, _) = DerElement::first(certificate)?;
    let (to_be_signed, _) = DerElement::first(certificate.content)?;
    let mut fields = to_be_signed.content;
    // An explicit version, then serial number, algorithm, issuer, and the two times.
    if fields.first() == Some(&0xa0) {
        fields = DerElement::first(fields)?.1;
    }
    for _ in 0..3 {
        fields = DerElement::first(fields)?.1;
    }
    let (times, _) = DerElement::first(fields)?;
    let (end, _) = DerElement::first(DerElement::first(times.content)?.1)?;
    let text = std::str::from_utf8(end.content).ok()?.strip_suffix('Z')?;
    // Two digits of a year are those from 1950 to 2049.
    let text = match (end.tag, text.len()) {
        (UTC_TIME, 12) => format!("{}{text}", if text < "5" { "20" } else { "19" }),
        (GENERALIZED_TIME, 14) => text.to_owned(),
        _ => return None,
    };
    let formatted = format!(
        "{}-{}-{}T{}:{}:{}Z",
        text.get(..4)?,
        text.get(4..6)?,
        text.get(6..8)?,
        text.get(8..10)?,
        text.get(10..12)?,
        text.get(12..)?
    );
    let end = formatted.parse::<jiff::Timestamp>().ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(end.as_second()).ok()?))
}
