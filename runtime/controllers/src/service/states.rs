//! The lock around what is remembered of Services: it is held while one closure runs, and so never over a call.

use k8s_openapi::api::core::v1::Service;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::service::state::{Counted, RefusedMove, ServiceState, ServiceStates};

/// What is remembered of Services, for all parts of the controller.
#[derive(Default)]
pub(super) struct States(Mutex<ServiceStates>);

impl States {
    pub(super) fn new(counted: Counted) -> Self {
        Self(Mutex::new(ServiceStates::new(counted)))
    }

    /// Looks at all that is remembered.
    pub(super) fn all<T>(&self, look: impl FnOnce(&mut ServiceStates) -> T) -> T {
        look(&mut self.0.lock())
    }

    /// Looks at what is remembered under a key; `None` if nothing is.
    pub(super) fn with<T>(&self, key: &str, look: impl FnOnce(&mut ServiceState) -> T) -> Option<T> {
        self.all(|states| states.get(key).map(look))
    }

    /// Looks at what is remembered of this Service. From now on its state is kept.
    pub(super) fn of<T>(&self, key: &str, service: &Service, look: impl FnOnce(&mut ServiceState) -> T) -> T {
        self.all(|states| look(states.of(key, service, Instant::now())))
    }

    /// Looks at what is remembered of a Service that was to be written: as it is now, or under its key if it is gone.
    pub(super) fn written<T>(
        &self,
        key: &str,
        written: Option<&Service>,
        look: impl FnOnce(&mut ServiceState) -> T,
    ) -> Option<T> {
        self.all(|states| match written {
            Some(service) => Some(look(states.of(key, service, Instant::now()))),
            None => states.get(key).map(look),
        })
    }

    /// Ends a step of the work on a Service: what is not to be remembered after it is forgotten. Returns the move of its state that was
    /// refused.
    pub(super) fn end_step(&self, key: &str, forgets: bool) -> Option<RefusedMove> {
        self.all(|states| {
            let refused = states.get(key).and_then(ServiceState::take_refused);
            if forgets {
                states.forget(key, Instant::now());
            }
            refused
        })
    }
}
