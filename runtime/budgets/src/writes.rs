//! How much may be written with one credential: of each kind of harm so much, and so much for what Kubernetes asks for.

use std::time::Duration;

use cloud_provider::Demand;

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

/// The harm of a write that should not have left. Each kind has limits of its own.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum WriteKind {
    /// Data or an address: a whole object is gone.
    Deletion,
    /// Money: a whole object is made. A write whose rule names no other effect counts here, too.
    Creation,
    /// A connection: a member is taken away, and can be put back.
    Detachment,
    /// Little: an object that stays is changed, or gets a member.
    Update,
}

impl WriteKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Deletion, Self::Creation, Self::Detachment, Self::Update];

    /// As the metric says it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deletion => "deletion",
            Self::Creation => "creation",
            Self::Detachment => "detachment",
            Self::Update => "update",
        }
    }

    /// Many of them, in a sentence.
    pub fn many(self) -> &'static str {
        match self {
            Self::Deletion => "deletions of whole objects",
            Self::Creation => "creations of whole objects",
            Self::Detachment => "detachments of members",
            Self::Update => "updates",
        }
    }

    /// The key of the config that raises its limit.
    pub fn key(self) -> &'static str {
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
    pub fn most(&self, kind: WriteKind, demand: Demand, is_filled: bool) -> u32 {
        let Demand { waiting, new, changes, .. } = demand;
        // A load balancer that was there before its Service was seen may have members that it should not have; but nothing has to go
        // because something is new.
        let changes = match kind {
            WriteKind::Deletion => changes,
            WriteKind::Creation | WriteKind::Detachment | WriteKind::Update => {
                changes.saturating_add(new).saturating_add(waiting)
            }
        };
        let (least, per_change) = self.of(kind);
        let asked = changes.saturating_mul(per_change);
        if is_filled { least.saturating_add(asked) } else { least.max(asked) }
    }

    /// Writes of one kind in any case, and for each change.
    pub fn of(&self, kind: WriteKind) -> (u32, u32) {
        match kind {
            WriteKind::Deletion => (self.deletions, self.deletions_per_change),
            WriteKind::Creation => (self.creations, self.creations_per_change),
            WriteKind::Detachment => (self.detachments, self.detachments_per_change),
            WriteKind::Update => (self.updates, self.updates_per_change),
        }
    }
}
