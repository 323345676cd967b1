//! The provider, its recorded calls, and what could not be played of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use cloud_provider::Description;
use sandbox::{Module, Sandbox};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::conversation::{Conversation, ConversationCall};
use crate::error::{ConformanceError, Result};
use crate::host::{HostProcess, NativeHost};
use crate::protocol::{ArrivedRequest, How};

use super::replay::TroubledReplayer;

/// The troubles of a request in a recording.
pub(super) const TROUBLES: [How; 2] = [How::LostAfter, How::Failed];

/// The provider, its recorded calls, and what could not be played of them.
pub(super) struct RecordedStage {
    host: NativeHost,
    replayer: Arc<TroubledReplayer>,
    calls: Vec<ConversationCall>,
    uid: String,
    cluster: String,
    file: String,
    stories: usize,
    /// Calls that ask for what was not recorded, and the first request of it.
    pub(super) unplayed: BTreeMap<String, String>,
}

impl RecordedStage {
    pub(super) async fn set(sandbox: Sandbox, module: Module, conversation: &Conversation, file: &str) -> Result<Self> {
        let replayer = Arc::new(TroubledReplayer::new(conversation));
        let host = NativeHost::recorded(sandbox, module, conversation, replayer.clone()).await?;
        Ok(Self {
            host,
            replayer,
            calls: conversation.calls.clone(),
            uid: conversation.cluster_uid.clone(),
            cluster: conversation.cluster_name.clone(),
            file: file.to_owned(),
            stories: 0,
            unplayed: BTreeMap::new(),
        })
    }

    pub(super) fn description(&self) -> &Arc<Description> {
        self.host.description()
    }

    /// How often something was played.
    pub(super) fn stories(&self) -> usize {
        self.stories
    }

    /// The name of the cluster that the provider worked for.
    pub(super) fn cluster(&self) -> &str {
        &self.cluster
    }

    /// A new process, as it was set up when it was recorded.
    pub(super) async fn process(&self) -> Result<HostProcess> {
        self.host.process(&self.uid).await
    }

    /// All calls in their order.
    pub(super) fn calls(&self) -> &[ConversationCall] {
        &self.calls
    }

    /// The calls of a function, by their numbers.
    pub(super) fn calls_of(&self, function: &str) -> Vec<usize> {
        (0..self.calls.len()).filter(|it| self.calls[*it].function == function).collect()
    }

    /// A call for people: "call 3, instances.get".
    pub(super) fn title(&self, number: usize) -> String {
        format!("call {}, {}", number + 1, self.calls[number].function)
    }

    /// The argument of a call.
    pub(super) fn argument<T: DeserializeOwned>(&self, number: usize) -> Result<T> {
        let argument = self.calls[number].argument.clone();
        serde_json::from_value(argument).map_err(|error| self.unusable(number, error))
    }

    /// The argument of a call for a page; there may be none.
    pub(super) fn page<T: DeserializeOwned + Default>(&self, number: usize) -> Result<T> {
        if self.calls[number].argument == Value::Null { Ok(T::default()) } else { self.argument(number) }
    }

    /// A recorded call that nobody can make.
    pub(super) fn unusable(&self, number: usize, because: impl std::fmt::Display) -> ConformanceError {
        let title = self.title(number);
        ConformanceError::Recording(format!(
            "the argument of {title} in {} cannot be read ({because}); record it again with aerostat provider record",
            self.file
        ))
    }

    /// A story begins, in which one request goes wrong or none.
    pub(super) fn begin(&mut self, trouble: Option<(usize, How)>) {
        self.stories += 1;
        self.replayer.begin(trouble);
    }

    /// This recorded call is made now.
    pub(super) fn call(&self, number: usize) {
        self.replayer.call(number);
    }

    /// The requests of the story until now.
    pub(super) fn asked(&self) -> Vec<ArrivedRequest> {
        self.replayer.asked()
    }

    /// Whether the present call, in which nothing goes wrong, has asked for what was not recorded: then it proves nothing.
    pub(super) fn is_unplayed(&mut self, number: usize) -> bool {
        let unknown = self.replayer.unknown();
        let title = self.title(number);
        unknown.map(|why| self.unplayed.insert(title, why)).is_some()
    }
}
