//! One attachment after the other: on each volume, and on each machine where the cloud wants it. No client, no clock.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;

/// How long an attachment keeps a machine for itself. An action that never ends is no reason that nothing else comes to the machine, and
/// nothing leaves it.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);

/// A volume or a machine, on which one attachment is at work at a time.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum TurnPlace {
    /// By its handle.
    Volume(String),
    /// By its node id.
    Machine(String),
}

/// The places that attachments hold, and those that others wait for. What goes comes before what comes, since it makes room; else the
/// first that came.
#[derive(Debug, Default)]
pub(super) struct Turns {
    held: HashMap<TurnPlace, String>,
    holders: HashMap<String, TurnHolder>,
    waiting: HashMap<String, WaitingAttachment>,
    arrivals: u64,
}

#[derive(Debug)]
struct TurnHolder {
    since: Instant,
    /// It keeps no machine for itself any more.
    is_late: bool,
    /// The cloud may be at work on what it was asked for, and has not said so.
    is_unsure: bool,
}

#[derive(Debug)]
struct WaitingAttachment {
    places: Vec<TurnPlace>,
    order: Order,
}

/// The order of those that wait: the smaller ones first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Order {
    comes: bool,
    arrival: u64,
}

impl Turns {
    /// Gives an attachment these places, all of them or none. Where one is another's, or another's first, the attachment waits.
    pub(super) fn enter(&mut self, attachment: &str, mut places: Vec<TurnPlace>, goes: bool, now: Instant) -> bool {
        self.tire(now);
        if self.holders.get(attachment).is_some_and(|it| it.is_late) {
            places.retain(|it| matches!(it, TurnPlace::Volume(_)));
        }
        let arrival = self.waiting.get(attachment).map(|it| it.order.arrival).unwrap_or_else(|| {
            self.arrivals += 1;
            self.arrivals
        });
        let order = Order { comes: !goes, arrival };
        if !self.is_free_for(attachment, &places, order) {
            self.waiting.insert(attachment.to_owned(), WaitingAttachment { places, order });
            return false;
        }
        self.waiting.remove(attachment);
        let holder = TurnHolder { since: now, is_late: false, is_unsure: false };
        self.holders.entry(attachment.to_owned()).or_insert(holder).is_unsure = false;
        self.held.extend(places.into_iter().map(|it| (it, attachment.to_owned())));
        true
    }

    /// Whether an attachment, which goes by now or still comes, does not wait, or could go on now.
    pub(super) fn may_enter(&mut self, attachment: &str, goes: bool, now: Instant) -> bool {
        self.tire(now);
        if let Some(waiting) = self.waiting.get_mut(attachment) {
            waiting.order.comes = !goes;
        }
        self.waiting.get(attachment).is_none_or(|it| self.is_free_for(attachment, &it.places, it.order))
    }

    /// The cloud may be at work on what this attachment has asked for: its places stay its own until it has asked again, or is late.
    pub(super) fn keep(&mut self, attachment: &str) {
        if let Some(holder) = self.holders.get_mut(attachment) {
            holder.is_unsure = true;
        }
    }

    /// Whether an attachment holds places: the cloud is at work on it, or may be.
    pub(super) fn is_at_work(&self, attachment: &str) -> bool {
        self.holders.contains_key(attachment)
    }

    /// Whether the places of an attachment stay its own, although it is not at work.
    pub(super) fn is_kept(&self, attachment: &str) -> bool {
        self.holders.get(attachment).is_some_and(|it| it.is_unsure && !it.is_late)
    }

    /// Whether an attachment has held its places for so long that the machine is not its own any more.
    pub(super) fn is_late(&mut self, attachment: &str, now: Instant) -> bool {
        self.tire(now);
        self.holders.get(attachment).is_some_and(|it| it.is_late)
    }

    /// Takes its places back from an attachment. Returns those that have waited for them and can go on, in their order: what they wake
    /// in turn they wake when they leave.
    pub(super) fn leave(&mut self, attachment: &str) -> Vec<String> {
        self.holders.remove(attachment);
        let waited = self.waiting.remove(attachment).map(|it| it.places).unwrap_or_default();
        let held = self.held.extract_if(|_, it| it == attachment).map(|(place, _)| place);
        let freed: HashSet<TurnPlace> = held.chain(waited).collect();
        let is_freed = |it: &WaitingAttachment| it.places.iter().any(|place| freed.contains(place));
        let mut next: Vec<_> = self.waiting.iter().filter(|(_, it)| is_freed(it)).collect();
        next.sort_unstable_by_key(|(_, it)| it.order);
        let can_go_on = |(name, it): &(&String, &WaitingAttachment)| self.is_free_for(name, &it.places, it.order);
        next.into_iter().filter(can_go_on).map(|(name, _)| name.clone()).collect()
    }

    /// Whether none of these places is another's, and none is wanted by one before that could have it now.
    fn is_free_for(&self, attachment: &str, places: &[TurnPlace], order: Order) -> bool {
        let is_others = |place: &TurnPlace, one: &str| self.held.get(place).is_some_and(|it| it != one);
        if places.iter().any(|it| is_others(it, attachment)) {
            return false;
        }
        let holds_all = places.iter().all(|it| self.held.contains_key(it));
        let is_before = |(name, it): (&String, &WaitingAttachment)| {
            it.order < order
                && name != attachment
                && it.places.iter().any(|place| places.contains(place))
                && !it.places.iter().any(|place| is_others(place, name))
        };
        holds_all || !self.waiting.iter().any(is_before)
    }

    /// Takes the machine from those that have held it for too long.
    fn tire(&mut self, now: Instant) {
        for (name, holder) in &mut self.holders {
            if !holder.is_late && holder.since + PATIENCE <= now {
                holder.is_late = true;
                self.held.retain(|place, it| it != name || matches!(place, TurnPlace::Volume(_)));
            }
        }
    }
}

#[cfg(test)]
mod tests;
