//! Pages of all kinds of lists.

use super::nonempty;
use crate::untrusted::printable;

const CURSOR_BYTES: usize = 4 << 10;
/// How many unusable items a page names.
const NAMED: usize = 3;
/// The longest reason why something may be missing.
const REASON_BYTES: usize = 256;

/// The cursor of the next page, or a sentence on what is wrong with it. Its text goes back to the provider and nowhere
/// else.
pub(super) fn next(next: Option<String>, cursor: Option<&str>) -> Result<Option<String>, String> {
    let next = nonempty(next);
    if next.as_ref().is_some_and(|it| it.len() > CURSOR_BYTES) {
        return Err(format!("a cursor is longer than {CURSOR_BYTES} bytes"));
    }
    if next.is_some() && next.as_deref() == cursor {
        return Err("a page names itself as the next one".into());
    }
    Ok(next)
}

/// Why a page may lack something: one line, never empty.
pub(super) fn reason(text: &str) -> String {
    nonempty(Some(printable(text, REASON_BYTES))).unwrap_or_else(|| "the provider gave no reason".into())
}

/// The items that can be used, and why others were left out, if any were: one strange object in an account must not hide
/// all others. `items` is the plural of what they are.
pub(super) fn usable<T, U>(
    listed: Vec<T>,
    items: &str,
    check: impl Fn(T) -> Result<U, String>,
) -> (Vec<U>, Option<String>) {
    let (mut usable, mut reasons, mut unusable) = (Vec::with_capacity(listed.len()), Vec::new(), 0);
    for it in listed {
        match check(it) {
            Ok(it) => usable.push(it),
            Err(because) => {
                unusable += 1;
                if unusable <= NAMED {
                    reasons.push(because);
                }
            }
        }
    }
    if unusable > NAMED {
        reasons.push(format!("{} more {items} are unusable", unusable - NAMED));
    }
    (usable, (!reasons.is_empty()).then(|| reasons.join("; ")))
}
