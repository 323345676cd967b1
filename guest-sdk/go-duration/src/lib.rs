//! Durations as Go writes them: `1h15m30.5s`, `500ms`, `0`.
//!
//! `kube::core::Duration` reads the same form, but is made for what an API server has checked: it panics at `5s-3s` and at
//! a time beyond what fits, takes the empty text for 0 and `--5s` for a duration, and its errors do not quote what was
//! written. Here are integers alone: providers carry this parser, and one of floats is as large as a small provider.

mod read;
mod written;

pub use self::read::{Error, parse};
pub use self::written::WrittenDuration;
