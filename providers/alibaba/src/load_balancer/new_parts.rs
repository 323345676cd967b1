//! The parts that a new load balancer has, in the memo behind its id, so that the others are made without a look at it. Pure.
//!
//! `lb-1 new:0` is one that the call before has made: it has no parts. `lb-1 new:98307` is one that the calls since have given as many parts as
//! the number says, in their order, and whose cloud takes no second change while it carries out a first one. The number has a fingerprint of
//! what they were made for, too. Only the first call with such a memo believes it: any other one may come after a call that has made more.

use std::cell::Cell;

/// The word before the number.
const NEW: &str = "new:";
/// The bits of a number that count parts.
const PARTS: u64 = 0x3ff;
/// Those that count refusals of the same part, so that each memo is another, and the lowest of them.
const REFUSALS: u64 = 0xfc00;
const REFUSAL: u64 = 0x400;

/// The parts of a load balancer that is new.
#[derive(Debug, Default)]
pub(super) struct NewParts {
    /// The number in the memo that this call is the first to have.
    known: Cell<Option<u64>>,
    /// The number for the next call.
    next: Cell<Option<u64>>,
}

impl NewParts {
    /// Whether these words of a memo are a number of parts. It is believed by the first call that has it.
    pub(super) fn read(&self, words: &str, is_first: bool) -> bool {
        let number = words.strip_prefix(NEW).and_then(|it| it.parse().ok());
        self.known.set(number.filter(|_| is_first));
        number.is_some()
    }

    /// The words for the next call.
    pub(super) fn words(&self) -> Option<String> {
        self.next.get().map(|it| format!("{NEW}{it}"))
    }

    /// The load balancer is made, without parts.
    pub(super) fn begin(&self) {
        self.next.set(Some(0));
    }

    /// How many there are; `None` where nobody knows, and where they were made for what had another fingerprint.
    pub(super) fn there(&self, fingerprint: u64) -> Option<usize> {
        let known = self.known.get()?;
        let parts = known & PARTS;
        let counts = parts == 0 || (known ^ fingerprint) & !(PARTS | REFUSALS) == 0;
        counts.then_some(parts as usize)
    }

    /// Lets the next call go on behind so many parts, which were made for what has this fingerprint. More than a memo can count are read.
    pub(super) fn go_on(&self, fingerprint: u64, parts: usize) {
        let parts = parts as u64;
        let next = fingerprint & !(PARTS | REFUSALS) | parts;
        let next = match self.known.get() {
            Some(known) if (known ^ next) & !REFUSALS == 0 => known.wrapping_add(REFUSAL),
            _ => next,
        };
        self.next.set((parts <= PARTS).then_some(next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WISH: u64 = 0xabcd_0123_4567_89ab;

    fn read(words: &str) -> NewParts {
        let parts = NewParts::default();
        assert!(parts.read(words, true), "{words}");
        parts
    }

    /// The parts as the call after this one reads them.
    fn after(parts: &NewParts) -> NewParts {
        read(&parts.words().unwrap())
    }

    #[test]
    fn a_new_load_balancer_has_no_parts_whatever_is_asked_for() {
        let made = NewParts::default();
        assert_eq!((made.words(), made.there(WISH)), (None, None));
        made.begin();
        assert_eq!(made.words().as_deref(), Some("new:0"));
        assert_eq!([WISH, 0].map(|it| after(&made).there(it)), [Some(0); 2]);
    }

    #[test]
    fn parts_count_for_what_they_were_made_for() {
        let parts = read("new:0");
        parts.go_on(WISH, 7);
        assert_eq!(after(&parts).there(WISH), Some(7));
        assert_eq!(after(&parts).there(WISH ^ 0x1_0000), None, "something else is asked for");
        assert_eq!(after(&parts).words(), None, "a call that says nothing ends the count");
        parts.go_on(WISH, PARTS as usize + 1);
        assert_eq!(parts.words(), None, "a memo has no room for it");
    }

    #[test]
    fn a_refusal_of_the_same_part_is_another_memo() {
        let mut parts = read("new:0");
        let mut seen = vec!["new:0".to_owned()];
        for made in [0, 0, 0, 2, 2, 3] {
            parts.go_on(WISH, made);
            let words = parts.words().unwrap();
            assert!(!seen.contains(&words), "{words} after {seen:?}");
            seen.push(words);
            parts = after(&parts);
            assert_eq!(parts.there(WISH), Some(made));
        }
        for _ in 0..REFUSALS / REFUSAL {
            parts.go_on(WISH, 3);
            parts = after(&parts);
        }
        parts.go_on(WISH, 3);
        assert_eq!(after(&parts).there(WISH), None, "after so many it is looked at");
    }

    #[test]
    fn parts_are_known_to_the_first_call_alone() {
        let parts = NewParts::default();
        assert!(parts.read("new:7", false), "they are ours");
        assert_eq!(parts.there(7), None);
        for other in ["new:", "new:x", "new: 7", "announced:7", "acl-2:7"] {
            assert!(!parts.read(other, true) && parts.there(7).is_none(), "{other}");
        }
    }
}
