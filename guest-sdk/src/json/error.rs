//! Why JSON could not be read.

use std::fmt::{self, Display};

use serde::de::{self, Error as _, Expected, Unexpected};

/// Why JSON is not what it has to be.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct JsonError(Box<Mistake>);

/// Boxed, so that what reads a type hands over one word.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Mistake {
    why: String,
    /// Where it is, as a JSON pointer.
    place: String,
}

impl JsonError {
    /// The same, in a field or an item with this name.
    #[cold]
    pub(super) fn within(mut self, name: &dyn Display) -> Self {
        self.0.place = format!("/{name}{}", self.0.place);
        self
    }
}

impl Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mistake { why, place } = &*self.0;
        f.write_str(why)?;
        if place.is_empty() { Ok(()) } else { write!(f, " at {place}") }
    }
}

impl std::error::Error for JsonError {}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> Self {
        Self::custom(error)
    }
}

impl de::Error for JsonError {
    fn custom<T: Display>(why: T) -> Self {
        Self(Box::new(Mistake { why: why.to_string(), place: String::new() }))
    }

    fn invalid_type(is: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid type: {}, expected {expected}", UnexpectedValue(is)))
    }

    fn invalid_value(is: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(format_args!("invalid value: {}, expected {expected}", UnexpectedValue(is)))
    }
}

/// The value that was found, for a person. It does not spell numbers with a fraction, which takes the code of a small provider.
struct UnexpectedValue<'a>(Unexpected<'a>);

impl Display for UnexpectedValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Unexpected::Unit => f.write_str("null"),
            Unexpected::Bool(it) => write!(f, "boolean `{it}`"),
            Unexpected::Unsigned(it) => write!(f, "integer `{it}`"),
            Unexpected::Signed(it) => write!(f, "integer `{it}`"),
            Unexpected::Float(_) => f.write_str("number with a fraction"),
            Unexpected::Str(it) => write!(f, "string {it:?}"),
            Unexpected::Seq => f.write_str("sequence"),
            Unexpected::Map => f.write_str("map"),
            Unexpected::Other(it) => f.write_str(it),
            _ => f.write_str("another value"),
        }
    }
}
