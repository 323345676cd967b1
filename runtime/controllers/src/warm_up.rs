//! How long nothing is deleted: whoever has just begun has seen too little to say what is not there.

use std::time::Duration;

use tokio::time::Instant;

/// When deletions may begin, of a controller that began to work at `began`, with a provider that was replaced by another
/// version of itself at `replaced`, if it was.
pub(crate) fn ends(began: Instant, replaced: Option<Instant>, warm_up: Duration) -> Instant {
    replaced.map_or(began, |it| it.max(began)) + warm_up
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_of_the_provider_begins_again() {
        let (began, minute) = (Instant::now(), Duration::from_secs(60));
        assert_eq!(ends(began, None, minute), began + minute);
        assert_eq!(ends(began, Some(began + 10 * minute), minute), began + 11 * minute);
        assert_eq!(ends(began + minute, Some(began), minute), began + 2 * minute, "it came before");
    }
}
