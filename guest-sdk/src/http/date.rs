//! The date in HTTP headers: "Sun, 06 Nov 1994 08:49:37 GMT".

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Seconds since 1970. Of the three forms of RFC 9110 only the one that may still be sent is understood.
pub(super) fn parse(text: &str) -> Option<u64> {
    let (_, text) = text.split_once(", ")?;
    let text = text.strip_suffix(" GMT")?;
    let [day, month, year, time] = text.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let [hour, minute, second] = time.split(':').collect::<Vec<_>>().try_into().ok()?;
    let month = MONTHS.iter().position(|it| *it == month)?;
    let within = |text: &str, range: std::ops::RangeInclusive<u64>| text.parse().ok().filter(|it| range.contains(it));

    // A year that begins in March ends with its leap day.
    let year: u64 = within(year, 1970..=9999)? - u64::from(month < 2);
    let month = (month as u64 + 10) % 12;
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = year * 365 + leap_days + (month * 153 + 2) / 5 + within(day, 1..=31)? - 1;
    // From the first of March of the year 0 to 1970.
    let days = days.checked_sub(719_468)?;
    Some(((days * 24 + within(hour, 0..=23)?) * 60 + within(minute, 0..=59)?) * 60 + within(second, 0..=60)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_seconds_since_1970() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
            ("Sat, 21 Nov 2026 02:30:00 GMT", 1_795_228_200),
        ] {
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_date_is_none() {
        for text in [
            "",
            "soon",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Now 1994 08:49:37 GMT",
            "Sun, 06 Nov 1969 08:49:37 GMT",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
