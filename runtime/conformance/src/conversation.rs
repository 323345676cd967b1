//! Conversations of a provider with its cloud, in one file: recorded by the egress, and played again without the cloud.
//!
//! ```text
//! LeavingRequest, before a credential is attached ┐
//!                                                 ├─► ■ without secrets ─► RecordedExchange ─► ExchangeRecorder ─► Conversation ─► file
//! GuestResponse, as the provider sees it          ┘
//! file ─► Conversation ─► Replayer ─► ■ by its key, or strictly in its order ─► GuestResponse
//! ```

mod exchange;
mod file;
mod input;
mod recorder;
mod replayer;
mod secrets;
mod volume_input;

pub use self::exchange::{RecordedContent, RecordedExchange, RecordedFailure};
pub use self::file::{Conversation, ConversationCall, ConversationError, ConversationProvider};
pub use self::input::{
    LoadBalancerInput, NodeInput, NodesInput, PageInput, PodNetworkInput, RouteChangeInput, VolumeInput,
};
pub use self::recorder::ExchangeRecorder;
pub use self::replayer::{ReplayOrder, Replayer};
pub use self::volume_input::{AttachInput, DesiredVolumeInput, DetachInput, ExpandInput, KnownVolumeInput};
