//! What may stand in an annotation: how it is read, and how an error and the description say it.

use std::time::Duration;

/// What may stand in an annotation.
pub trait Values {
    /// What is read.
    type Value<'a>;

    /// Reads a value, which is not empty and has no white space around it; `None` if it may not stand there.
    fn parse<'a>(&self, text: &'a str) -> Option<Self::Value<'a>>;

    /// What may stand there. In an error it goes on after "is not".
    fn allowed(&self) -> String;
}

/// Yes or no, in the spellings of Go: `1`, `t`, `T`, `true`, `True`, `TRUE`, and the same for no.
#[derive(Clone, Copy, Debug)]
pub struct Bool;

impl Values for Bool {
    type Value<'a> = bool;

    fn parse(&self, text: &str) -> Option<bool> {
        match text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
            _ => None,
        }
    }

    fn allowed(&self) -> String {
        "true or false".to_owned()
    }
}

/// A whole number within bounds.
#[derive(Clone, Copy, Debug)]
pub struct Integer {
    least: u32,
    most: u32,
    unit: &'static str,
    or_zero: bool,
}

impl Integer {
    /// Both bounds may stand there.
    #[must_use]
    pub const fn between(least: u32, most: u32) -> Self {
        Self { least, most, unit: "", or_zero: false }
    }

    /// What is counted: "seconds".
    #[must_use]
    pub const fn of(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// Zero is read as well, which means that it is not set. It is not told of.
    #[must_use]
    pub const fn or_zero(self) -> Self {
        Self { or_zero: true, ..self }
    }
}

impl Values for Integer {
    type Value<'a> = u32;

    fn parse(&self, text: &str) -> Option<u32> {
        let fits = |it: &u32| (self.least..=self.most).contains(it) || (self.or_zero && *it == 0);
        text.parse().ok().filter(fits)
    }

    fn allowed(&self) -> String {
        let Self { least, most, unit, .. } = self;
        let of = if unit.is_empty() { "" } else { " of " };
        format!("a whole number{of}{unit} from {least} to {most}")
    }
}

/// One of a few words, and what each of them means.
#[derive(Clone, Copy, Debug)]
pub struct OneOf<T: 'static>(pub &'static [(&'static str, T)]);

impl<T: Copy> Values for OneOf<T> {
    type Value<'a> = T;

    fn parse(&self, text: &str) -> Option<T> {
        self.0.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning)
    }

    fn allowed(&self) -> String {
        let words: Vec<_> = self.0.iter().map(|(word, _)| *word).collect();
        match words.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => String::new(),
        }
    }
}

/// A length of time within bounds: a whole number and `ms`, `s`, `m` or `h`.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    least: Duration,
    most: Duration,
}

/// The units of a [`Span`] in milliseconds, the largest first.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

impl Span {
    /// Both bounds may stand there.
    #[must_use]
    pub const fn between(least: Duration, most: Duration) -> Self {
        Self { least, most }
    }

    fn shown(duration: Duration) -> String {
        let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let (unit, size) = UNITS.into_iter().find(|(_, size)| milliseconds % size == 0).unwrap_or(("ms", 1));
        format!("{}{unit}", milliseconds / size)
    }
}

impl Values for Span {
    type Value<'a> = Duration;

    fn parse(&self, text: &str) -> Option<Duration> {
        let (number, unit) = text.split_at(text.find(|it: char| !it.is_ascii_digit())?);
        let (_, size) = UNITS.into_iter().find(|(it, _)| *it == unit)?;
        let duration = Duration::from_millis(number.parse::<u64>().ok()?.checked_mul(size)?);
        Some(duration).filter(|it| (self.least..=self.most).contains(it))
    }

    fn allowed(&self) -> String {
        format!("between {} and {}", Self::shown(self.least), Self::shown(self.most))
    }
}

/// A port.
#[derive(Clone, Copy, Debug)]
pub struct Port;

impl Values for Port {
    type Value<'a> = u16;

    fn parse(&self, text: &str) -> Option<u16> {
        text.parse().ok().filter(|it| *it != 0)
    }

    fn allowed(&self) -> String {
        "one port, a whole number from 1 to 65535".to_owned()
    }
}

/// Values of one kind with commas between them.
#[derive(Clone, Copy, Debug)]
pub struct List<V> {
    /// What stands between the commas.
    pub of: V,
    /// What they are called together: "ports". Empty where the example says enough.
    pub what: &'static str,
    /// A list that may stand there.
    pub example: &'static str,
}

impl<V: Values> Values for List<V> {
    type Value<'a> = Vec<V::Value<'a>>;

    fn parse<'a>(&self, text: &'a str) -> Option<Self::Value<'a>> {
        text.split(',').map(|it| self.of.parse(it.trim())).collect()
    }

    fn allowed(&self) -> String {
        let Self { what, example, .. } = self;
        let of = if what.is_empty() { "" } else { " of " };
        format!("a list{of}{what} such as {example}")
    }
}

/// Any text; what it is stands in the description.
#[derive(Clone, Copy, Debug)]
pub struct Text(pub &'static str);

impl Values for Text {
    type Value<'a> = &'a str;

    fn parse<'a>(&self, text: &'a str) -> Option<&'a str> {
        Some(text)
    }

    fn allowed(&self) -> String {
        self.0.to_owned()
    }
}

/// Text of a form of the cloud's own: an id, a name, an address.
#[derive(Debug)]
pub struct Form<T> {
    /// What may stand there. In an error it goes on after "is not".
    pub allowed: &'static str,
    /// Reads it; `None` if it has another form.
    pub parse: fn(&str) -> Option<T>,
}

impl<T> Clone for Form<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Form<T> {}

impl<T> Values for Form<T> {
    type Value<'a> = T;

    fn parse(&self, text: &str) -> Option<T> {
        (self.parse)(text)
    }

    fn allowed(&self) -> String {
        self.allowed.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_a_unit() {
        let span = Span::between(Duration::from_millis(1), Duration::from_hours(2));
        for (text, milliseconds) in [("250ms", 250), ("90s", 90_000), ("5m", 300_000), ("1h", 3_600_000)] {
            assert_eq!(span.parse(text), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "15", "1.5s", "-1s", "1d", "3h", "0s", "99999999999999999999h", "5 m", "5µ"] {
            assert_eq!(span.parse(text), None, "{text}");
        }
        assert_eq!(span.allowed(), "between 1ms and 2h");
    }

    #[test]
    fn booleans_are_those_of_go() {
        for text in ["1", "t", "T", "true", "True", "TRUE"] {
            assert_eq!(Bool.parse(text), Some(true), "{text}");
        }
        for text in ["0", "f", "F", "false", "False", "FALSE"] {
            assert_eq!(Bool.parse(text), Some(false), "{text}");
        }
        for text in ["yes", "no", "on", "tRUE", "2", ""] {
            assert_eq!(Bool.parse(text), None, "{text}");
        }
    }
}
