//! Which of two versions of the objects of one kind is newer.
//!
//! The API server counts resourceVersions up, and promises that they are decimal numbers that can be compared (KEP-5504).

/// Whether one version is newer than the other. Of what is no number nothing is newer.
pub(crate) fn is_newer(one: &str, other: &str) -> bool {
    let number = |it: &str| it.parse::<u128>().ok();
    matches!((number(one), number(other)), (Some(one), Some(other)) if one > other)
}

/// The newest version that a watch has seen of its kind. It never goes back.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct NewestVersion(Option<String>);

impl NewestVersion {
    /// The newest version; `None` before the first.
    pub(crate) fn newest(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Takes note of the version of a complete list.
    ///
    /// # Errors
    ///
    /// The newest version, if the list is older: then it is not to be believed.
    pub(crate) fn list(&mut self, version: &str) -> Result<(), &str> {
        match self.0 {
            Some(ref newest) if is_newer(newest, version) => {}
            _ => {
                self.0 = Some(version.to_owned());
                return Ok(());
            }
        }
        Err(self.newest().unwrap_or_default())
    }

    /// Takes note of the version of one change. Returns whether it is newer than everything before: in a watch each change
    /// is. What cannot be compared counts as newer.
    pub(crate) fn change(&mut self, version: &str) -> bool {
        if self.0.as_deref().is_some_and(|newest| newest == version || is_newer(newest, version)) {
            return false;
        }
        self.0 = Some(version.to_owned());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(is_newer("10", "9") && !is_newer("9", "10") && !is_newer("9", "9"));
        assert!(is_newer("18446744073709551616", "18446744073709551615"), "beyond 64 bits");
        for (one, other) in [("a", "9"), ("9", "a"), ("", "9"), ("9", "")] {
            assert!(!is_newer(one, other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn an_older_list_is_not_believed() {
        let mut seen = NewestVersion::default();
        assert_eq!(seen.list("9"), Ok(()));
        assert_eq!(seen.list("10"), Ok(()));
        assert_eq!(seen.list("9"), Err("10"));
        assert_eq!(seen.list("10"), Ok(()), "nothing has changed");
        assert_eq!(seen.newest(), Some("10"));
    }

    #[test]
    fn a_change_is_newer_than_everything_before() {
        let mut seen = NewestVersion::default();
        assert!(seen.change("9") && seen.change("11"));
        assert!(!seen.change("11") && !seen.change("10"));
        assert_eq!(seen.list("10"), Err("11"));
        assert!(seen.change("12"));
    }

    #[test]
    fn a_version_that_cannot_be_compared_is_believed() {
        let mut seen = NewestVersion::default();
        assert!(seen.change("b") && seen.change("a") && !seen.change("a"));
        assert_eq!(seen.list("b"), Ok(()));
    }
}
