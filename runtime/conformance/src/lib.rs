//! Runs any provider against a simulator of its cloud, and says which promises of the contract it keeps.
//!
//! ```text
//! Module, URL ─► host: the real sandbox and egress ─► the simulator, which speaks as the vendor's cloud does
//!                play: what Kubernetes could ask    ─► three routes of the simulator (protocol)
//!                  └► Transcript ─► ■ judge: one function for each promise ─► ConformanceReport
//! ```
//!
//! A recorded conversation takes the simulator's place as far as it goes: its calls are made again, and each of their requests goes wrong in
//! turn.
//!
//! A transcript holds requests, answers, and what was in the cloud before and after. Judges are functions from transcripts to
//! sentences; they know no cloud. How a right answer looks like is not written down anywhere: a story in which nothing fails
//! is the measure of all others.

#![forbid(unsafe_code)]

mod admin;
mod breach;
mod conversation;
mod error;
mod host;
mod judge;
mod play;
mod promise;
pub mod protocol;
mod recording;
mod report;
mod suite;
mod transcript;
mod trouble;

pub use crate::breach::Breach;
pub use crate::conversation::{
    AttachInput, Conversation, ConversationCall, ConversationError, ConversationProvider, DesiredVolumeInput,
    DetachInput, ExchangeRecorder, ExpandInput, KnownVolumeInput, LoadBalancerInput, NodeInput, NodesInput, PageInput,
    PodNetworkInput, RecordedContent, RecordedExchange, RecordedFailure, ReplayOrder, Replayer, RouteChangeInput,
    VolumeInput,
};
pub use crate::error::ConformanceError;
pub use crate::promise::{PROMISES, Promise, SuitePart};
pub use crate::recording::{RecordedSuite, run_recorded};
pub use crate::report::{ConformanceReport, Cost, PartTime, PromiseOutcome};
pub use crate::suite::{PATIENCE, Suite, run};
