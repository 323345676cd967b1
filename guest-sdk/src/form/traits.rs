//! The trait of every form.

/// The allowed values of an annotation or a setting.
pub trait Form {
    /// The value that is read.
    type Value<'a>;

    /// Reads a value without white space around it; `None` if it is not allowed.
    fn parse<'a>(&self, text: &'a str) -> Option<Self::Value<'a>>;

    /// The allowed values. In an error they follow "is not".
    fn allowed(&self) -> String;
}
