//! Durations, in Go's spelling.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

/// Reads `1.5s`, `300ms`, `2m30s`.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    go_duration::parse(&text).map_err(serde::de::Error::custom)
}

/// The same, where there may be none.
pub(super) fn read_optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    read(deserializer).map(Some)
}
