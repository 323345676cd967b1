//! How often a provider is called, and how soon again.

use std::time::Duration;

use tokio::time::sleep;

/// How many calls a part of a story may take: each is answered within milliseconds here.
pub(super) const MOST_CALLS: usize = 400;
/// How many calls lists lag for after something was made.
pub(super) const LAGGING_CALLS: usize = 5;
/// How much longer is waited after each call than after the one before it: an earlier call is always safe, and clouds here take
/// little time.
const PAUSE_STEP: Duration = Duration::from_millis(10);
/// How long is waited between two calls at most.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Waits as long as the provider asked for after so many calls, and not for long.
pub(super) async fn rest(pause: Duration, calls: usize) {
    let longest = PAUSE_STEP.saturating_mul(u32::try_from(calls).unwrap_or(u32::MAX)).min(LONGEST_PAUSE);
    sleep(pause.min(longest)).await;
}
