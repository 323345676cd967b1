/// An event: something that a provider wants a person to know about the object that a call is about.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Event {
    /// A node's name, where a call concerns several nodes.
    pub about: Option<String>,
    /// Normal or Warning.
    pub kind: EventKind,
    /// UpperCamelCase, as in every event.
    pub reason: String,
    /// A sentence.
    pub message: String,
}

/// The type of an event.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum EventKind {
    /// For information.
    Normal,
    /// Somebody should look.
    Warning,
}

/// An answer, what the provider said beside it, and whether it has changed something.
///
/// Events count whatever the answer is: also when it is an error.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reply<T> {
    /// The answer itself.
    pub answer: T,
    /// Events on the objects that the call was about, at most 64 of one call of the provider, and at most
    /// [`EventList::MOST`] where an answer took several calls.
    pub events: Vec<Event>,
    /// Whether a write to the cloud may have left the host: then what was read of it before may not be so any more.
    pub wrote: bool,
}

impl<T> From<T> for Reply<T> {
    fn from(answer: T) -> Self {
        Self { answer, events: Vec::new(), wrote: false }
    }
}

/// The events of many calls, no more of them than [`EventList::MOST`]: the rest is counted.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct EventList {
    kept: Vec<Event>,
    dropped: usize,
}

impl EventList {
    /// A Kubernetes cluster has 5,000 nodes at most by its documentation: an event for each fifth of them is more than a
    /// person reads. An event is bounded by 2.2 KiB, and so all of them by 2.2 MiB.
    pub const MOST: usize = 1_000;

    /// Keeps those for which there is room, and counts the others.
    pub fn add(&mut self, events: Vec<Event>) {
        let room = Self::MOST - self.kept.len();
        self.dropped += events.len().saturating_sub(room);
        self.kept.extend(events.into_iter().take(room));
    }

    /// How many there was no room for.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Those that were kept.
    #[must_use]
    pub fn into_vec(self) -> Vec<Event> {
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_over_the_limit_are_counted() {
        let event = Event { about: None, kind: EventKind::Normal, reason: "Note".to_owned(), message: String::new() };
        let mut events = EventList::default();
        for _ in 0..17 {
            events.add(vec![event.clone(); 64]);
        }
        assert_eq!((events.dropped(), events.into_vec().len()), (17 * 64 - 1_000, 1_000));
    }
}
