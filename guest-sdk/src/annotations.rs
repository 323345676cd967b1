//! The annotations of a Service, read by the rows of a table: see [`crate::key`].

mod fixed;
mod reading;
mod values;

pub use self::reading::Reading;
pub use self::values::{Annotations, exclusive, refused};
