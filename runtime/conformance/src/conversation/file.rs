//! The file of a conversation: values, read and written as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::exchange::RecordedExchange;

/// The version of the file's form.
const FORM: u32 = 1;

/// Calls of a provider, with the requests of each and their answers.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Conversation {
    /// The version of this form: 1.
    pub recording: u32,
    /// The provider that it is of.
    pub provider: ConversationProvider,
    /// The name of the cluster that the provider worked for.
    pub cluster_name: String,
    /// The UID of the cluster; empty if no call needed one.
    #[serde(default)]
    pub cluster_uid: String,
    /// `provider.settings`. They hold no secret by the contract.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The base URL of each endpoint, by its name.
    pub endpoints: BTreeMap<String, String>,
    /// In their order.
    pub calls: Vec<ConversationCall>,
}

/// The provider that was recorded.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ConversationProvider {
    /// As it describes itself.
    pub name: String,
    /// As it describes itself.
    pub version: String,
    /// The digest of its module.
    pub sha256: String,
}

/// One call.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ConversationCall {
    /// In the words of `wit/`: `instances.get`.
    pub function: String,
    /// As `aerostat provider call` takes it.
    #[serde(default)]
    pub argument: Value,
    /// As `aerostat provider call` prints it.
    #[serde(default)]
    pub answer: Value,
    /// The requests, in their order.
    pub exchanges: Vec<RecordedExchange>,
}

/// The reason why a text is no conversation: a sentence with the next step.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// It is no JSON, or says something else.
    #[error("it is no recording; make one with aerostat provider record")]
    Form(#[from] serde_json::Error),
    /// It was written by another version.
    #[error("its form is {0}, and this aerostat reads {FORM}; record it again with aerostat provider record")]
    Version(u32),
}

impl Conversation {
    /// One without calls.
    #[must_use]
    pub fn new(
        provider: ConversationProvider,
        (cluster_name, cluster_uid): (String, String),
        settings: BTreeMap<String, String>,
        endpoints: BTreeMap<String, String>,
    ) -> Self {
        Self { recording: FORM, provider, cluster_name, cluster_uid, settings, endpoints, calls: Vec::new() }
    }

    /// Reads a file's text.
    ///
    /// # Errors
    ///
    /// If it is another file, or of another version.
    pub fn parse(text: &[u8]) -> Result<Self, ConversationError> {
        let value: Value = serde_json::from_slice(text)?;
        match value["recording"].as_u64() {
            Some(form) if form != u64::from(FORM) => {
                Err(ConversationError::Version(u32::try_from(form).unwrap_or(u32::MAX)))
            }
            _ => Ok(serde_json::from_value(value)?),
        }
    }

    /// The file's text.
    ///
    /// # Panics
    ///
    /// Never: texts and numbers become JSON.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers become JSON") + "\n"
    }

    /// The requests of each call.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Vec<RecordedExchange>> {
        self.calls.iter().map(|it| it.exchanges.clone()).collect()
    }
}
