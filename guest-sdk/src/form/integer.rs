//! Whole numbers within bounds.

use super::traits::Form;

/// A whole number within bounds.
#[derive(Clone, Copy, Debug)]
pub struct Integer {
    least: u32,
    most: u32,
    unit: &'static str,
    or_zero: bool,
}

impl Integer {
    /// Both bounds are allowed.
    #[must_use]
    pub const fn between(least: u32, most: u32) -> Self {
        Self { least, most, unit: "", or_zero: false }
    }

    /// The unit that is counted: "seconds".
    #[must_use]
    pub const fn of(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// Zero is allowed as well, and means that it is not set. Errors and the description do not mention it.
    #[must_use]
    pub const fn or_zero(self) -> Self {
        Self { or_zero: true, ..self }
    }
}

impl Form for Integer {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_within_its_bounds() {
        let form = Integer::between(30, 600).of("seconds");
        for (text, read) in
            [("30", Some(30)), ("600", Some(600)), ("29", None), ("601", None), ("0", None), ("x", None)]
        {
            assert_eq!(form.parse(text), read, "{text}");
        }
        assert_eq!(form.or_zero().parse("0"), Some(0));
        assert_eq!(form.or_zero().allowed(), "a whole number of seconds from 30 to 600");
    }
}
