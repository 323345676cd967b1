//! The parts that a new load balancer has, in the memo behind its id, so that the others are made without a look at it. Pure.
//!
//! `lb-1 new:0` is one that the call before has made: it has no parts. `lb-1 new:98307` is one that the calls since have given as many parts as
//! the number says, in their order, and whose cloud takes no second change while it carries out a first one. The number has a fingerprint of
//! what they were made for, too. Only the first call with such a memo believes it: any other one may come after a call that has made more.

use std::cell::Cell;

/// The most parts that a memo counts.
pub(super) const MOST: usize = 0x3ff;
/// The bits of a number that count parts.
const PARTS: u64 = MOST as u64;
/// The bits that count refusals of the same part, so that each memo is another, and the lowest of them.
const REFUSALS: u64 = 0xfc00;
const REFUSAL: u64 = 0x400;

/// The number in the memo that this call is the first to have.
#[derive(Debug, Default)]
pub(super) struct NewParts(pub(super) Cell<Option<u64>>);

impl NewParts {
    /// How many there are; `None` where nobody knows, and where they were made for what had another fingerprint.
    pub(super) fn there(&self, fingerprint: u64) -> Option<usize> {
        let known = self.0.get()?;
        let parts = known & PARTS;
        let counts = parts == 0 || (known ^ fingerprint) & !(PARTS | REFUSALS) == 0;
        counts.then_some(parts as usize)
    }

    /// The number with which the next call goes on behind so many parts, at most [`MOST`], which were made for what has this fingerprint.
    pub(super) fn next(&self, fingerprint: u64, parts: usize) -> u64 {
        let next = fingerprint & !(PARTS | REFUSALS) | parts as u64;
        match self.0.get() {
            Some(known) if (known ^ next) & !REFUSALS == 0 => known.wrapping_add(REFUSAL),
            _ => next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: u64 = 0xabcd_0123_4567_89ab;

    fn known(number: u64) -> NewParts {
        NewParts(Cell::new(Some(number)))
    }

    #[test]
    fn a_new_load_balancer_has_no_parts_whatever_is_asked_for() {
        assert_eq!([ASKED, 0].map(|it| known(0).there(it)), [Some(0); 2]);
        assert_eq!(NewParts::default().there(ASKED), None);
    }

    #[test]
    fn parts_count_for_what_they_were_made_for() {
        let next = known(known(0).next(ASKED, 7));
        assert_eq!(next.there(ASKED), Some(7));
        assert_eq!(next.there(ASKED ^ 0x1_0000), None, "something else is asked for");
    }

    #[test]
    fn a_refusal_of_the_same_part_is_another_memo() {
        let (mut number, mut seen) = (0, vec![0]);
        for made in [0, 0, 0, 2, 2, 3] {
            number = known(number).next(ASKED, made);
            assert!(!seen.contains(&number), "{number} after {seen:?}");
            seen.push(number);
            assert_eq!(known(number).there(ASKED), Some(made));
        }
        for _ in 0..=REFUSALS / REFUSAL {
            number = known(number).next(ASKED, 3);
        }
        assert_eq!(known(number).there(ASKED), None, "after so many it is looked at");
    }
}
