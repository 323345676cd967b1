//! The allowed values of annotations and settings: how they are read, and how errors and the description name them.

mod custom;
mod integer;
mod list;
mod seconds;
mod span;
mod traits;
mod words;

pub use self::custom::Custom;
pub use self::integer::Integer;
pub use self::list::{List, PORTS, Port};
pub use self::seconds::Seconds;
pub use self::span::Span;
pub use self::traits::Form;
pub use self::words::{AnyCase, Bool, OneOf, Text};
