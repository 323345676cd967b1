/// What a provider wants a person to know about the object that a call is about: an event.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Notice {
    /// A provider id, where a call concerns several nodes.
    pub about: Option<String>,
    /// Normal or Warning.
    pub severity: Severity,
    /// UpperCamelCase, as in every event.
    pub reason: String,
    /// A sentence.
    pub message: String,
}

/// The type of an event.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Severity {
    /// For information.
    Normal,
    /// Somebody should look.
    Warning,
}

/// An answer, and what the provider said beside it.
///
/// Notices count whatever the answer is: also when it is an error.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reply<T> {
    /// What was asked for.
    pub answer: T,
    /// Events on the objects that the call was about, at most 64 of one call of the provider, and at most
    /// [`NoticeList::MOST`] where an answer took several calls.
    pub notices: Vec<Notice>,
}

impl<T> From<T> for Reply<T> {
    fn from(answer: T) -> Self {
        Self { answer, notices: Vec::new() }
    }
}

/// The notices of many calls, no more of them than [`NoticeList::MOST`]: the rest is counted.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct NoticeList {
    kept: Vec<Notice>,
    dropped: usize,
}

impl NoticeList {
    /// A Kubernetes cluster has 5,000 nodes at most by its documentation: an event for each fifth of them is more than a
    /// person reads. A notice is bounded by 2.2 KiB, and so all of them by 2.2 MiB.
    pub const MOST: usize = 1_000;

    /// Keeps those for which there is room, and counts the others.
    pub fn add(&mut self, notices: Vec<Notice>) {
        let room = Self::MOST - self.kept.len();
        self.dropped += notices.len().saturating_sub(room);
        self.kept.extend(notices.into_iter().take(room));
    }

    /// How many there was no room for.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Those that were kept.
    #[must_use]
    pub fn into_vec(self) -> Vec<Notice> {
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_over_the_limit_are_counted() {
        let notice =
            Notice { about: None, severity: Severity::Normal, reason: "Note".to_owned(), message: String::new() };
        let mut notices = NoticeList::default();
        for _ in 0..17 {
            notices.add(vec![notice.clone(); 64]);
        }
        assert_eq!((notices.dropped(), notices.into_vec().len()), (17 * 64 - 1_000, 1_000));
    }
}
