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
    let begun = Instant::now();
    let mut left = Value::Null;
    let is_over = async || {
        left = ours().await;
        let is_quiet = is_quiet(begun, limits.quiet, last());
        (is_quiet && unmeant(table, step, theirs, &left).is_empty()).then_some(())
    };
    wait::within(limits.patience, is_over).await;
    left
}

/// Waits until nothing is asked any more. `last` is when the last request came.
///
/// # Panics
///
/// Panics if it goes on for longer than a step may take.
pub async fn until_quiet(limits: StepLimits, last: impl Fn() -> Option<SystemTime>) {
    let begun = Instant::now();
    let rested = wait::within(limits.patience, async || is_quiet(begun, limits.quiet, last()).then_some(()));
    assert!(rested.await.is_some(), "requests still come after {:?}", limits.patience);
}

/// Whether nothing was asked for so long, and waiting began before that.
fn is_quiet(begun: Instant, quiet: Duration, last: Option<SystemTime>) -> bool {
    begun.elapsed() > quiet && last.is_none_or(|it| it.elapsed().is_ok_and(|it| it > quiet))
}
