//! One fault that is ordered by the number of its request.

use super::fault::Fault;
use super::record::Recorded;

/// A fault at the nth request from now on, whichever that is.
pub struct Ordered {
    /// How many requests are still to come, the one that goes wrong included.
    left: usize,
    fault: Box<dyn Fn(&Recorded) -> Fault + Send + Sync>,
    /// Whether a request counts.
    counts: fn(&Recorded) -> bool,
    /// Whether nothing is carried out after it.
    ends: bool,
    has_ended: bool,
}

impl Ordered {
    /// At the `nth` request that `counts`, from one on, what `fault` makes of it; if it `ends` something, no such request after it is carried out
    /// or answered.
    #[must_use]
    pub fn new(
        nth: usize,
        ends: bool,
        counts: fn(&Recorded) -> bool,
        fault: impl Fn(&Recorded) -> Fault + Send + Sync + 'static,
    ) -> Ordered {
        Ordered { left: nth, fault: Box::new(fault), counts, ends, has_ended: false }
    }

    /// Whether nothing is carried out any more.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The fault of this request, if it has one.
    pub(super) fn draw(&mut self, request: &Recorded) -> Option<Fault> {
        if !(self.counts)(request) {
            return None;
        }
        if self.has_ended {
            return Some(Fault::nothing("*", "/**").undone());
        }
        self.left = self.left.checked_sub(1)?;
        if self.left > 0 {
            return None;
        }
        self.has_ended = self.ends;
        Some((self.fault)(request))
    }
}
