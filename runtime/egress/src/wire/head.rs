//! Heads of requests and answers.

use http::header::HeaderValue;

/// The most headers of an answer.
pub(crate) const HEADERS: usize = 100;
/// The largest head of an answer.
pub(crate) const HEAD_BYTES: usize = 64 << 10;
/// The name of this program.
pub(crate) const USER_AGENT_VALUE: HeaderValue =
    HeaderValue::from_static(concat!("aerostat/", env!("CARGO_PKG_VERSION")));
