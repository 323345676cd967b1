//! What every form implements.

/// The allowed values of an annotation or a setting.
pub trait Form {
    /// What is read.
    type Value<'a>;

    /// Reads a value without white space around it; `None` if it is not allowed.
    fn parse<'a>(&self, text: &'a str) -> Option<Self::Value<'a>>;

    /// The allowed values. In an error they follow "is not".
    fn allowed(&self) -> String;
}
