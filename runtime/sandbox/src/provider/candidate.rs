//! A version of a provider that is loaded and checked, and does not serve.

use std::sync::Arc;
use std::time::Duration;

use cloud_provider::{Description, Error, Result};
use futures::FutureExt as _;
use sha256::Digest;

use super::identity;
use super::judged;
use super::loaded::Loaded;
use super::object::Subject;
use super::versions::Version;
use crate::call::{Earlier, Function};
use crate::convert;

/// A version of a provider that was loaded beside the one that serves, or served before it.
pub struct Candidate(pub(super) Arc<Version>);

/// Why a candidate has not named its account.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ProbeError {
    /// It is the candidate's own fault: it crashed, or gave an answer that cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// The cloud's error, or a slow one: it says nothing about the candidate.
    #[error("{0}")]
    Unanswered(Error),
}

/// The version that served, after another took its place.
pub struct Swapped {
    /// It can be put back for as long as this is held.
    pub former: Candidate,
    /// Under which version of credentials and provider the account counts as checked; `None` if it has to be asked about.
    pub approved: Option<u64>,
}

impl Candidate {
    /// Its description of itself.
    #[must_use]
    pub fn description(&self) -> Arc<Description> {
        self.0.loaded.description.clone()
    }

    /// The SHA-256 of its bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.0.loaded.calls.digest
    }

    /// The interfaces that it exports beside `provider`, as in "load-balancers".
    #[must_use]
    pub fn capabilities(&self) -> Vec<&'static str> {
        self.0.loaded.capabilities()
    }

    /// How long the compilation took.
    #[must_use]
    pub fn compile_time(&self) -> Duration {
        self.0.loaded.compile_time
    }

    /// Asks it for the account behind the credential: one call, reads only, through the same egress as every other.
    ///
    /// # Errors
    ///
    /// If it gives no answer.
    pub async fn identity(&self) -> Result<Option<String>, ProbeError> {
        let Loaded { provider, .. } = &*self.0.loaded;
        let pre = provider.clone();
        let ask = self.0.loaded.attempt(Function::Identity, Subject::Nothing, Earlier::default(), |store| {
            identity::ask(pre, store).boxed()
        });
        let (reply, seen) = ask.await;
        let answer = match reply.answer {
            Ok(answer) => judged::account(&seen, answer.map_err(convert::error)).map_err(ProbeError::Unanswered)?,
            Err(stopped) if stopped.crashed => return Err(ProbeError::Unusable(stopped.error.to_string())),
            Err(stopped) => return Err(ProbeError::Unanswered(stopped.error)),
        };
        convert::identity(answer)
            .map_err(|because| ProbeError::Unusable(self.0.loaded.unusable(Function::Identity, &because).to_string()))
    }
}
