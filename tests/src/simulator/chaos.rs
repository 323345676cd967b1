//! Faults drawn by a seed.

use super::fault::Fault;
use super::record::Recorded;

/// Faults at random, the same for the same seed and the same requests in the same order.
///
/// Drawn are a 5xx before the request is carried out, a 5xx after it, an answer that breaks off, a connection that ends after the request
/// was carried out, and, if wanted, an answer that never comes.
#[derive(Clone, Debug)]
pub struct Chaos {
    /// Said where a test fails, so that it can be repeated.
    pub seed: u64,
    /// One request in so many goes wrong, on average.
    pub one_in: u64,
    /// Whether some answers never come: the client has to give up by itself.
    pub hangs: bool,
}

/// The draws of one seed.
#[derive(Debug)]
pub(super) struct Draws {
    chaos: Chaos,
    state: u64,
}

impl Draws {
    pub(super) fn new(chaos: Chaos) -> Draws {
        Draws { state: chaos.seed, chaos }
    }

    /// The fault of this request, if it has one.
    pub(super) fn draw(&mut self, request: &Recorded) -> Option<Fault> {
        let (whether, what) = (self.next(), self.next());
        if !whether.is_multiple_of(self.chaos.one_in.max(1)) {
            return None;
        }
        let (method, path) = (request.method.as_str(), request.path.as_str());
        let kinds = if self.chaos.hangs { 6 } else { 5 };
        Some(match what % kinds {
            0 => Fault::status(method, path, 500),
            1 => Fault::status(method, path, 503),
            2 => Fault::status(method, path, 500).done(),
            3 => Fault::half(method, path),
            4 => Fault::nothing(method, path),
            _ => Fault::hang(method, path),
        })
    }

    /// The next number of the generator splitmix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
