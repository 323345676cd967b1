//! One attachment after the other: on each volume, and on each machine where the cloud wants it. No client, no clock.

use std::collections::{BTreeMap, HashMap};

/// A volume or a machine, on which one attachment is at work at a time.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum Place {
    /// By its handle.
    Volume(String),
    /// By its node id.
    Machine(String),
}

/// The places that attachments hold, and those that others wait for. What goes comes before what comes: it makes room.
#[derive(Debug, Default)]
pub(super) struct Turns {
    held: HashMap<Place, String>,
    waiting: BTreeMap<String, WaitingAttachment>,
}

#[derive(Debug)]
struct WaitingAttachment {
    places: Vec<Place>,
    goes: bool,
}

impl Turns {
    /// Gives an attachment these places, all of them or none. Where one is another's, the attachment waits.
    pub(super) fn enter(&mut self, attachment: &str, places: Vec<Place>, goes: bool) -> bool {
        self.waiting.remove(attachment);
        let is_others = |place: &Place| self.held.get(place).is_some_and(|it| it != attachment);
        let is_before = |it: &WaitingAttachment| it.goes && it.places.iter().any(|place| places.contains(place));
        let holds_all = places.iter().all(|it| self.held.get(it).is_some_and(|it| it == attachment));
        if places.iter().any(is_others) || (!goes && !holds_all && self.waiting.values().any(is_before)) {
            self.waiting.insert(attachment.to_owned(), WaitingAttachment { places, goes });
            return false;
        }
        self.held.extend(places.into_iter().map(|it| (it, attachment.to_owned())));
        true
    }

    /// Takes its places back from an attachment. Returns those that have waited for them, first what goes.
    pub(super) fn leave(&mut self, attachment: &str) -> Vec<String> {
        let waited = self.waiting.remove(attachment).map(|it| it.places).unwrap_or_default();
        let freed: Vec<_> =
            self.held.extract_if(|_, it| it == attachment).map(|(place, _)| place).chain(waited).collect();
        let is_freed = |it: &WaitingAttachment| it.places.iter().any(|place| freed.contains(place));
        let of = |goes: bool| {
            let waiting = self.waiting.iter().filter(|(_, it)| it.goes == goes && is_freed(it));
            waiting.map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        [of(true), of(false)].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(volume: &str, machine: &str) -> Vec<Place> {
        vec![Place::Volume(volume.to_owned()), Place::Machine(machine.to_owned())]
    }

    /// Cases: csi 59
    #[test]
    fn attachments_at_one_machine_come_one_after_the_other() {
        let mut all = Turns::default();
        assert!(all.enter("a", places("v1", "m1"), false) && all.enter("a", places("v1", "m1"), false), "its own");
        assert!(!all.enter("b", places("v2", "m1"), false) && !all.enter("c", places("v1", "m2"), false));
        assert!(all.enter("d", places("v4", "m2"), false), "what waits holds nothing");
        assert_eq!(all.leave("a"), ["b", "c"]);
        assert!(all.enter("b", places("v2", "m1"), false) && !all.enter("c", places("v1", "m2"), false));
        assert_eq!(all.leave("d"), ["c"]);
        assert_eq!(all.leave("c"), [""; 0]);
    }

    /// Cases: csi 58
    #[test]
    fn what_goes_comes_first() {
        let mut all = Turns::default();
        assert!(all.enter("a", places("v1", "m1"), false));
        assert!(!all.enter("b", places("v2", "m1"), false) && !all.enter("z", places("v3", "m1"), true));
        assert_eq!(all.leave("a"), ["z", "b"]);
        assert!(!all.enter("b", places("v2", "m1"), false), "it would need the room that is made");
        assert!(all.enter("z", places("v3", "m1"), true));
        assert_eq!(all.leave("z"), ["b"]);
        assert!(all.enter("b", places("v2", "m1"), false));
    }

    #[test]
    fn what_waited_for_one_that_is_gone_goes_on() {
        let mut all = Turns::default();
        assert!(all.enter("a", places("v1", "m1"), false) && !all.enter("z", places("v3", "m1"), true));
        assert_eq!(all.leave("a"), ["z"]);
        assert!(!all.enter("b", places("v2", "m1"), false));
        assert_eq!(all.leave("z"), ["b"]);
        assert!(all.enter("b", places("v2", "m1"), false));
    }
}
