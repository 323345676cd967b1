//! Until when a certificate is valid. Pure.

use std::time::{Duration, SystemTime};

/// The end of a certificate's validity, in whole seconds; `None` if it cannot be read.
pub(crate) fn end(certificate: &[u8]) -> Option<SystemTime> {
    let (_, certificate, _) = element(certificate)?;
    let (_, mut fields, _) = element(certificate)?;
    // An explicit version, then serial number, algorithm, issuer, and the two times.
    if fields.first() == Some(&0xa0) {
        fields = element(fields)?.2;
    }
    for _ in 0..3 {
        fields = element(fields)?.2;
    }
    let (_, times, _) = element(fields)?;
    let (tag, end, _) = element(element(times)?.2)?;
    let text = std::str::from_utf8(end).ok()?.strip_suffix('Z')?;
    // Two digits of a year are those from 1950 to 2049.
    let text = match (tag, text.len()) {
        (0x17, 12) => format!("{}{text}", if text < "5" { "20" } else { "19" }),
        (0x18, 14) => text.to_owned(),
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

/// Tag, content and rest of an element in DER.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = der.split_first_chunk()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0, |length, it| length << 8 | usize::from(*it)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}
