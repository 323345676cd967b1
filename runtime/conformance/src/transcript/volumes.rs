//! Questions about volumes, and their answers.

use cloud_provider::{Instance, Topology};

use crate::protocol::{ArrivedRequest, How};

use super::wrong::Wrong;

/// One question about one volume.
#[derive(Clone, Debug)]
pub(crate) struct RecordedVolumeQuestion {
    /// In words: "get-topology of a volume beside web-1".
    pub(crate) title: String,
    /// The trouble of its requests, by the number of the one that goes wrong.
    pub(crate) trouble: Option<(usize, How)>,
    /// Whether the volume exists.
    pub(crate) exists: bool,
    pub(crate) said: Result<Option<Topology>, Wrong>,
    pub(crate) requests: Vec<ArrivedRequest>,
}

/// Everything about volumes.
#[derive(Clone, Debug)]
pub(crate) struct RecordedVolumes {
    pub(crate) questions: Vec<RecordedVolumeQuestion>,
    /// The machine beside the volume that exists.
    pub(crate) machine: Option<Instance>,
    /// The answers to a question about several, with whether each volume exists: of another process, in another order.
    pub(crate) together: Vec<(bool, Result<Option<Topology>, Wrong>)>,
}
