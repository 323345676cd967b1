//! How old an answer may be.

use std::time::Duration;

use tokio::time::Instant;

/// How old an answer may be for whoever asks. All who keep answers are told it, and none has an idea of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Freshness {
    /// The question began then or later; `None`: at any time.
    pub not_before: Option<Instant>,
    /// The question began less than so long ago.
    pub max_age: Duration,
}

impl Freshness {
    /// Any answer, however old it is.
    pub const ANY: Self = Self::within(Duration::MAX);

    /// Any answer that began less than so long ago.
    #[must_use]
    pub const fn within(max_age: Duration) -> Self {
        Self { not_before: None, max_age }
    }

    /// Any answer to a question that began then or later.
    #[must_use]
    pub const fn since(not_before: Instant) -> Self {
        Self { not_before: Some(not_before), ..Self::ANY }
    }

    /// The same, and the question began then or later.
    #[must_use]
    pub fn and_since(self, not_before: Instant) -> Self {
        Self { not_before: self.not_before.max(Some(not_before)), ..self }
    }

    /// Any answer to a question that began after that.
    #[must_use]
    pub fn after(end: Instant) -> Self {
        Self::ANY.and_after(end)
    }

    /// The same, and the question began after that.
    #[must_use]
    pub fn and_after(self, end: Instant) -> Self {
        self.and_since(end + Duration::from_nanos(1))
    }

    /// The same for whoever asks now, however long the answer takes: what is young enough now is young enough then.
    #[must_use]
    pub fn asked_at(self, now: Instant) -> Self {
        let oldest = self.max_age.checked_sub(Duration::from_nanos(1)).and_then(|it| now.checked_sub(it));
        oldest.map_or(self, |it| Self { max_age: Duration::MAX, ..self.and_since(it) })
    }

    /// Whether an answer serves now whose question began at `asked`.
    #[must_use]
    pub fn allows(self, asked: Instant, now: Instant) -> bool {
        let is_young = now.saturating_duration_since(asked) < self.max_age;
        is_young && self.not_before.is_none_or(|it| asked >= it)
    }
}

/// The default is any answer.
impl Default for Freshness {
    fn default() -> Self {
        Self::ANY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_serves_unless_it_is_too_old() {
        let start = Instant::now();
        let second = |it: u64| start + Duration::from_secs(it);
        let minute = Freshness::within(Duration::from_secs(60));
        assert_eq!([0, 59, 60].map(|it| minute.allows(start, second(it))), [true, true, false]);
        assert!(Freshness::since(start).allows(start, second(1 << 40)));
        assert!(!Freshness::since(second(1)).allows(start, second(1)));
        let both = minute.and_since(second(1));
        assert_eq!([0, 1, 2].map(|it| both.allows(second(it), second(61))), [false, false, true]);
        let asked = minute.asked_at(second(60));
        assert_eq!([0, 1].map(|it| asked.allows(second(it), second(1 << 40))), [false, true], "however long it takes");
        assert!(!Freshness::after(start).allows(start, start) && Freshness::after(start).allows(second(1), second(1)));
        assert_eq!(both.and_since(start), both, "the later of both counts");
    }
}
