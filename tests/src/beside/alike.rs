//! Waiting until what was left is as recorded.

use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use super::meant::{Meant, unmeant};
use crate::wait;

/// When a step is over.
#[derive(Clone, Copy, Debug)]
pub struct StepLimits {
    /// How long nothing is asked by then.
    pub quiet: Duration,
    /// How long it may take.
    pub patience: Duration,
}

/// Waits until what ours leaves of a step differs from theirs only by what a table means, and nothing is asked any more. Answers what
/// ours leaves, alike or not. `last` is when the last request of the step came.
pub async fn until_alike(
    table: &[Meant],
    step: &str,
    theirs: &Value,
    limits: StepLimits,
    mut ours: impl AsyncFnMut() -> Value,
    last: impl Fn() -> Option<SystemTime>,
) -> Value {
    let (begun, quiet) = (Instant::now(), limits.quiet);
    let mut left = Value::Null;
    let is_over = async || {
        left = ours().await;
        let is_past = |it: SystemTime| SystemTime::now().duration_since(it).is_ok_and(|it| it > quiet);
        let is_quiet = begun.elapsed() > quiet && last().is_none_or(is_past);
        (is_quiet && unmeant(table, step, theirs, &left).is_empty()).then_some(())
    };
    wait::within(limits.patience, is_over).await;
    left
}
