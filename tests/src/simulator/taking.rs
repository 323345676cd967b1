//! Changes that take time: how long, and when one that has begun ends.

use std::time::{Duration, SystemTime};

/// How long a change takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taking {
    /// So much time.
    Time(Duration),
    /// Until it, or what it is about, was read so often.
    Reads(usize),
    /// For ever: whoever carries it out stands still.
    Forever,
}

/// The end of a change that has begun.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// At this time.
    At(SystemTime),
    /// After so many reads.
    After(usize),
    /// Never by itself.
    Never,
    /// It has ended.
    Over,
}

impl Taking {
    /// The end of a change that begins now.
    #[must_use]
    pub fn begun(self, now: SystemTime) -> End {
        match self {
            Taking::Time(time) => End::At(now + time),
            Taking::Reads(count) => End::After(count),
            Taking::Forever => End::Never,
        }
    }
}

impl End {
    /// Whether the change ends by now, and has not ended.
    #[must_use]
    pub fn is_due(self, now: SystemTime) -> bool {
        match self {
            End::At(time) => time <= now,
            End::After(reads) => reads == 0,
            End::Never | End::Over => false,
        }
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, End::Over)
    }

    /// Counts a read.
    pub fn count_read(&mut self) {
        if let End::After(left) = self {
            *left = left.saturating_sub(1);
        }
    }
}
