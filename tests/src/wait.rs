//! Waiting for a condition, with a deadline: what tests do instead of sleeping.

use std::time::{Duration, Instant};

/// How long a condition may take on a busy machine before the test fails.
pub const DEADLINE: Duration = Duration::from_secs(30);

const PAUSE: Duration = Duration::from_millis(20);

/// Asks until there is an answer, and gives it.
///
/// # Panics
///
/// Panics with `what` after [`DEADLINE`].
pub async fn until<T>(what: &str, probe: impl AsyncFnMut() -> Option<T>) -> T {
    match within(DEADLINE, probe).await {
        Some(answer) => answer,
        None => panic!("{what}: not within {DEADLINE:?}"),
    }
}

/// Asks until there is an answer, or until the time is over.
pub async fn within<T>(time: Duration, mut probe: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + time;
    loop {
        if let Some(answer) = probe().await {
            return Some(answer);
        }
        if Instant::now() > deadline {
            return None;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
