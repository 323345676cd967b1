//! What every form says.

/// What may stand in an annotation or a setting.
pub trait Form {
    /// What is read.
    type Value<'a>;

    /// Reads a value without white space around it; `None` if it may not stand there.
    fn parse<'a>(&self, text: &'a str) -> Option<Self::Value<'a>>;

    /// What may stand there. In an error it goes on after "is not".
    fn allowed(&self) -> String;
}
