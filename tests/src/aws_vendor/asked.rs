//! Which of AWS's actions change something.

use crate::beside::Asked;

/// How often each of these actions stands there.
pub(super) fn asked(actions: impl IntoIterator<Item = String>) -> Asked {
    Asked::of(actions.into_iter().map(|it| (it.clone(), !is_read(&it))))
}

/// Whether an action changes nothing.
pub(super) fn is_read(action: &str) -> bool {
    action.contains("/Describe")
}
