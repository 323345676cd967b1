//! The way out of requests of the host itself. Credentials name no wire: they are handed it.

use std::sync::Arc;

use async_trait::async_trait;

use super::authenticated::Authenticated;
use crate::budget::EndpointBudget;
use crate::destination::Destination;
use crate::endpoint::Endpoint;
use crate::error::EgressError;
use crate::outcome::{AnswerFailure, CompleteAnswer};

/// The way to one endpoint.
#[async_trait]
pub(crate) trait Transport: Send + Sync {
    /// Sends one request once.
    async fn send(&self, authenticated: Authenticated) -> Result<CompleteAnswer, AnswerFailure>;
}

/// The way to any endpoint.
pub(crate) trait Connect {
    /// The way to `destination`, at which `endpoint` is.
    fn connect(
        &self,
        destination: Destination,
        endpoint: Arc<Endpoint>,
        budget: Arc<EndpointBudget>,
    ) -> Result<Box<dyn Transport>, EgressError>;
}
