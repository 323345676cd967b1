//! How much may be written with one credential: of each kind of harm so much, and so much for what Kubernetes asks for.

use std::time::Duration;

use cloud_provider::Demand;

use crate::effect::Effect;

/// The limits of writes with a credential: so much in any case, and so much for what Kubernetes asks for, whichever is more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WriteLimits {
    /// The time over which writes are counted.
    pub window: Duration,
    /// Deletions of whole objects in a window.
    pub deletions: u32,
    /// Creations of whole objects in a window, and writes whose rule names no other effect.
    pub creations: u32,
    /// Detachments of members in a window.
    pub detachments: u32,
    /// Updates in a window.
    pub updates: u32,
    /// Deletions for each change that Kubernetes asks for: of one object its own, and one that is repeated.
    pub deletions_per_change: u32,
    /// Creations for each change, and for each Service or pod network that is new: of one object to build, to describe, and
    /// one that is repeated.
    pub creations_per_change: u32,
    /// Detachments for each change, and for each Service or pod network that is new.
    pub detachments_per_change: u32,
    /// Updates for each change, and for each Service or pod network that is new.
    pub updates_per_change: u32,
}

impl Default for WriteLimits {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(600),
            deletions: 20,
            creations: 50,
            detachments: 50,
            updates: 200,
            deletions_per_change: 2,
            creations_per_change: 3,
            detachments_per_change: 3,
            updates_per_change: 5,
        }
    }
}

/// The harm of a write that should not have left. Each kind has limits of its own.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Kind {
    /// Data or an address: a whole object is gone.
    Deletion,
    /// Money: a whole object is made. A write whose rule names no other effect counts here, too.
    Creation,
    /// A connection: a member is taken away, and can be put back.
    Detachment,
    /// Little: an object that stays is changed, or gets a member.
    Update,
}

impl Kind {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Deletion, Self::Creation, Self::Detachment, Self::Update];

    /// As what a request is counted: `None` if it only reads.
    pub(crate) fn of(effect: Effect) -> Option<Self> {
        match effect {
            Effect::Read => None,
            Effect::Update => Some(Self::Update),
            Effect::Detach => Some(Self::Detachment),
            Effect::Write => Some(Self::Creation),
            Effect::Delete => Some(Self::Deletion),
        }
    }

    /// As the metric says it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Deletion => "deletion",
            Self::Creation => "creation",
            Self::Detachment => "detachment",
            Self::Update => "update",
        }
    }

    /// Many of them, and of what.
    fn many(self) -> &'static str {
        match self {
            Self::Deletion => "deletions of whole objects",
            Self::Creation => "creations of whole objects",
            Self::Detachment => "detachments of members",
            Self::Update => "updates",
        }
    }

    /// The rule's word for it.
    fn effect(self) -> Effect {
        match self {
            Self::Deletion => Effect::Delete,
            Self::Creation => Effect::Write,
            Self::Detachment => Effect::Detach,
            Self::Update => Effect::Update,
        }
    }

    /// The key of the config that raises its limit.
    fn key(self) -> &'static str {
        match self {
            Self::Deletion => "deletions",
            Self::Creation => "creations",
            Self::Detachment => "detachments",
            Self::Update => "updates",
        }
    }
}

impl WriteLimits {
    /// The most writes of one kind in a window. `is_filled`: as many as may be sent in any case count as sent, since what was sent
    /// is not known; what Kubernetes asks for comes on top.
    pub(crate) fn most(&self, kind: Kind, demand: Demand, is_filled: bool) -> u32 {
        let Demand { waiting, new, changes, .. } = demand;
        // Nothing has to go because something is new.
        let asked = changes.saturating_add(new).saturating_add(waiting);
        let (least, per_change, changes) = match kind {
            Kind::Deletion => (self.deletions, self.deletions_per_change, changes),
            Kind::Creation => (self.creations, self.creations_per_change, asked),
            // A load balancer that was there before its Service was seen may have members that it should not have.
            Kind::Detachment => (self.detachments, self.detachments_per_change, asked),
            Kind::Update => (self.updates, self.updates_per_change, asked),
        };
        let asked = changes.saturating_mul(per_change);
        if is_filled { least.saturating_add(asked) } else { least.max(asked) }
    }

    /// Why no more leave, as a sentence without its full stop.
    pub(crate) fn denial(&self, whose: &str, kind: Kind, used: usize, limit: u32, demand: Demand) -> String {
        let Demand { waiting, new, changes, .. } = demand;
        let window = self.window;
        let mut asked = format!("{changes} changes of Services and of pod networks");
        if kind != Kind::Deletion {
            asked += &format!(", {new} new ones and {waiting} Services that wait for a load balancer");
        }
        format!(
            "{whose}: {used} {} (effect: {}) were sent in the last {window:?}, and no more than {limit} may be for {asked}: \
             further ones wait until the oldest are {window:?} old, or until the annotation {}: \"true\" on the Lease lifts \
             the limit for {window:?}; limits.{} of the credential raises it",
            kind.many(),
            kind.effect(),
            cloud_provider::APPROVAL,
            kind.key()
        )
    }
}
