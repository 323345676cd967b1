//! Times as clouds write them.

/// Seconds since 1970 of a time as RFC 3339 writes it: `2026-08-20T09:30:12+00:00`. `None`, if it is none or before 1970.
///
/// ```
/// assert_eq!(aerostat_sdk::time::seconds("1970-01-01T00:01:00Z"), Some(60));
/// ```
#[must_use]
pub fn seconds(text: &str) -> Option<u64> {
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let mut date = date.split('-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1970..=9999).contains(&year) {
        return None;
    }
    let zone = time.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = time.split_at(zone);
    let clock = clock.split('.').next()?;
    let mut clock = clock.split(':').map(str::parse::<i64>);
    let (hours, minutes, seconds) = (clock.next()?.ok()?, clock.next()?.ok()?, clock.next()?.ok()?);
    let offset = match zone.as_bytes().first()? {
        b'Z' | b'z' => 0,
        sign => {
            let (hours, minutes) = zone.get(1..)?.split_once(':')?;
            let offset = hours.parse::<i64>().ok()? * 3_600 + minutes.parse::<i64>().ok()? * 60;
            if *sign == b'-' { -offset } else { offset }
        }
    };
    // Days from 1970-01-01 in the Gregorian calendar, whose years begin in March here.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    u64::try_from(days * 86_400 + hours * 3_600 + minutes * 60 + seconds - offset).ok()
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn a_time_is_read() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2026-08-20T09:30:12+00:00"), Some(1_787_218_212));
        assert_eq!(seconds("2026-08-20T11:30:12.5+02:00"), Some(1_787_218_212));
        assert_eq!(seconds("2024-02-29T23:59:59Z"), Some(1_709_251_199));
        for text in ["", "2026-08-20", "2026-13-20T09:30:12Z", "2026-08-20T09:30:12", "1969-01-01T00:00:00Z", "x"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
