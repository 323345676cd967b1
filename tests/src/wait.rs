//! Waiting for a condition, with a deadline: what tests do instead of sleeping.

use std::time::{Duration, Instant};

/// How long a condition may take on a busy machine before the test fails.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// The pause after the first question, and the longest one: what takes long is asked about less often, since
/// each question costs the API server that works at the answer.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(100)];

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

/// As [`until`], where what is waited for comes only after a pause that the product makes by design: the deadline begins after it.
///
/// # Panics
///
/// Panics with `what` after the pause and [`DEADLINE`].
pub async fn until_after<T>(pause: Duration, what: &str, probe: impl AsyncFnMut() -> Option<T>) -> T {
    match within(pause + DEADLINE, probe).await {
        Some(answer) => answer,
        None => panic!("{what}: not within {DEADLINE:?} after a pause of {pause:?}"),
    }
}

/// Asks until there is an answer, or until the time is over.
pub async fn within<T>(time: Duration, mut probe: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + time;
    let [mut pause, longest] = PAUSES;
    loop {
        if let Some(answer) = probe().await {
            return Some(answer);
        }
        if Instant::now() > deadline {
            return None;
        }
        tokio::time::sleep(pause).await;
        pause = longest.min(pause.mul_f64(1.5));
    }
}
