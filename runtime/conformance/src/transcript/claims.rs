//! The lives of volumes of claims, and the answers in them.

use crate::protocol::{ArrivedRequest, How};

use super::wrong::Wrong;

/// The bytes that a volume grows to.
pub(crate) const LARGER: u64 = 12 << 30;

/// A part of the life of a volume.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ClaimPhase {
    /// Until it can be used.
    Create,
    /// Until it is at a machine.
    Attach,
    /// Until it is larger.
    Expand,
    /// Until it is not there any more.
    Detach,
    /// Until it is gone.
    Delete,
    /// One call that creates it, whatever comes of that.
    Begin,
    /// Until nothing of it is there, and nothing can still appear.
    Abandon,
}

impl ClaimPhase {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Attach => "attach",
            Self::Expand => "expand",
            Self::Detach => "detach",
            Self::Delete => "delete",
            Self::Begin => "the first create",
            Self::Abandon => "abandon",
        }
    }
}

/// The parts of a volume's life, in their order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ClaimLife {
    /// It does not grow.
    Fixed,
    /// It grows while it is attached.
    GrowsAttached,
    /// It grows while it is attached nowhere.
    GrowsDetached,
    /// Its claim goes after the first call.
    Abandoned,
    /// Nothing is remembered of the first call, as where a process dies over it, and it is asked for again.
    Repeated,
}

impl ClaimLife {
    pub(crate) fn phases(self) -> &'static [ClaimPhase] {
        use ClaimPhase::{Abandon, Attach, Begin, Create, Delete, Detach, Expand};
        match self {
            Self::Fixed => &[Create, Attach, Detach, Delete],
            Self::GrowsAttached => &[Create, Attach, Expand, Detach, Delete],
            Self::GrowsDetached => &[Create, Attach, Detach, Expand, Delete],
            Self::Abandoned => &[Begin, Abandon],
            Self::Repeated => &[Begin, Create, Delete],
        }
    }

    /// A story of it in words.
    pub(crate) fn title(self, trouble: Option<ClaimTrouble>) -> String {
        match (trouble, self) {
            (None, Self::Abandoned) => "a volume that nobody waits for, and nothing goes wrong".to_owned(),
            (None, Self::Repeated) => "a volume that is asked for twice, and nothing goes wrong".to_owned(),
            (None, _) => "a volume, and nothing goes wrong".to_owned(),
            (Some((phase, nth, how)), Self::Repeated) => {
                format!("a volume that is asked for twice, {}: request {nth} {}", phase.as_str(), how.words())
            }
            (Some((phase, nth, how)), _) => format!("a volume, {}: request {nth} {}", phase.as_str(), how.words()),
        }
    }
}

/// An answer about a volume.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum SaidOfVolume {
    /// It is there, attached, larger, detached or gone. With its handle, its publish context or its bytes.
    Over(Vec<(String, String)>),
    /// `pending`, for this reason.
    Pending(String),
    /// It is attached to the machines with these node ids.
    Taken(Vec<String>),
    /// There is no room for it, for this reason.
    Full(String),
    /// An error.
    Error(Wrong),
}

/// A call about a volume.
#[derive(Clone, Debug)]
pub(crate) struct RecordedVolumeCall {
    pub(crate) said: SaidOfVolume,
    pub(crate) requests: Vec<ArrivedRequest>,
}

/// A volume as `get` has it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct SeenVolume {
    pub(crate) bytes: u64,
    /// The node ids of its machines.
    pub(crate) attached_to: Vec<String>,
    /// Whether the cloud is at work on it.
    pub(crate) is_changing: bool,
}

/// All calls of one part.
#[derive(Clone, Debug)]
pub(crate) struct ClaimPart {
    pub(crate) phase: ClaimPhase,
    /// Until it was over, or nobody waited any longer.
    pub(crate) calls: Vec<RecordedVolumeCall>,
    /// The same call once more, after it was over.
    pub(crate) again: Option<RecordedVolumeCall>,
    /// The volume afterwards; `None` if there is none.
    pub(crate) seen: Result<Option<SeenVolume>, Wrong>,
    /// How many volumes have its name in the list; `None` where the cloud has no list, or it cannot be read.
    pub(crate) named: Option<usize>,
}

/// The trouble of a story: a part, the number of its request, and how that goes wrong.
pub(crate) type ClaimTrouble = (ClaimPhase, usize, How);

/// The life of one volume.
#[derive(Clone, Debug)]
pub(crate) struct ClaimStory {
    pub(crate) life: ClaimLife,
    /// The request of a part that goes wrong, counted from one, and how; `None`: nothing does.
    pub(crate) trouble: Option<ClaimTrouble>,
    /// In their order.
    pub(crate) parts: Vec<ClaimPart>,
    /// It is attached to another machine, while it is at the first.
    pub(crate) elsewhere: Option<RecordedVolumeCall>,
    /// It is deleted, while it is at the first.
    pub(crate) used: Option<RecordedVolumeCall>,
    /// It is to have fewer bytes than it has, once it has grown.
    pub(crate) smaller: Option<RecordedVolumeCall>,
}

/// Everything about volumes of claims.
#[derive(Clone, Debug)]
pub(crate) struct RecordedClaims {
    /// The first is the one in which nothing goes wrong.
    pub(crate) stories: Vec<ClaimStory>,
    /// The node id of the machine to which they are attached.
    pub(crate) here: String,
}

impl ClaimPart {
    /// The last answer.
    pub(crate) fn last(&self) -> Option<&SaidOfVolume> {
        self.calls.last().map(|it| &it.said)
    }

    /// Whether it came to its end.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == ClaimPhase::Begin || matches!(self.last(), Some(SaidOfVolume::Over(_)))
    }
}

impl ClaimStory {
    /// The story in words.
    pub(crate) fn title(&self) -> String {
        self.life.title(self.trouble)
    }

    /// Whether each part came to its end.
    pub(crate) fn is_over(&self) -> bool {
        self.parts.len() == self.life.phases().len() && self.parts.iter().all(ClaimPart::is_over)
    }
}
