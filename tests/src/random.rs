//! Numbers by chance that can be repeated: a test that fails prints the seed that they came from.

use std::time::{SystemTime, UNIX_EPOCH};

/// The generator xorshift64*: enough to choose places.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Another seed each second, unless `AEROSTAT_SEED` says which. Returns the seed, too.
    ///
    /// # Panics
    ///
    /// Panics if `AEROSTAT_SEED` is no number.
    #[must_use]
    pub fn seeded() -> (Self, u64) {
        let seed = number("AEROSTAT_SEED")
            .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs());
        (Self(seed), seed)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        let mut state = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.0 = state;
        let high = state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(high).expect("31 bits fit") % end
    }
}

/// A number that whoever starts the tests gives them.
///
/// # Panics
///
/// Panics if it is none.
#[expect(
    clippy::disallowed_methods,
    reason = "how long tests run, and which numbers they choose, is said when they are started"
)]
#[must_use]
pub fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number, and not {text:?}")))
}
