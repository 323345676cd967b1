//! Lists of clouds: they may lag behind, and they come in pages.

use std::time::{Duration, SystemTime};

/// Whether a list that lags by `late_by` shows by now what was made at `made`.
#[must_use]
pub fn shows(made: SystemTime, late_by: Duration) -> bool {
    made + late_by <= SystemTime::now()
}

/// One page of a list, counted from one: empty after the last.
#[must_use]
pub fn page<T>(all: &[T], page: usize, size: usize) -> &[T] {
    let from = page.saturating_sub(1).saturating_mul(size).min(all.len());
    &all[from..all.len().min(from.saturating_add(size))]
}
