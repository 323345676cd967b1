//! Waiting until what was left is as recorded.

use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use super::meant::{Meant, unmeant};
use crate::wait;

/// How long a step may take.
const PATIENCE: Duration = Duration::from_secs(40);

/// Waits until what ours leaves of a step differs from theirs only by what a table means, and nothing was asked for so long. Answers what
/// ours leaves, alike or not. `last` is when the last request of the step came.
pub async fn until_alike(
    table: &[Meant],
    step: &str,
    theirs: &Value,
    quiet: Duration,
    mut ours: impl AsyncFnMut() -> Value,
    last: impl Fn() -> Option<SystemTime>,
) -> Value {
    let begun = Instant::now();
    let mut left = Value::Null;
    let is_over = async || {
        left = ours().await;
        let is_past = |it: SystemTime| SystemTime::now().duration_since(it).is_ok_and(|it| it > quiet);
        let is_quiet = begun.elapsed() > quiet && last().is_none_or(is_past);
        (is_quiet && unmeant(table, step, theirs, &left).is_empty()).then_some(())
    };
    wait::within(PATIENCE, is_over).await;
    left
}
