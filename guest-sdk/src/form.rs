//! What may stand in an annotation or a setting: how it is read, and how an error and the description say it.

mod custom;
mod integer;
mod list;
mod span;
mod traits;
mod words;

pub use self::custom::Custom;
pub use self::integer::Integer;
pub use self::list::{List, PORTS, Port};
pub use self::span::Span;
pub use self::traits::Form;
pub use self::words::{Bool, OneOf, Text};
