//! Both kinds of load balancers before the SDK: a module has its steps once.

use aerostat_sdk::backend::{self, Backend, Creation, Found, Pauses, Removal, Update};
use aerostat_sdk::form::Custom;
use aerostat_sdk::key::Key;
use aerostat_sdk::{Change, Deletion, Error, LoadBalancer, Progress, Result};

use crate::api::load_balancers::SlbBalancer;
use crate::api::network_load_balancers::NlbBalancer;
use crate::load_balancer::SlbCall;
use crate::load_balancer::annotations::ID;
use crate::load_balancer::marks::{refuse_second, refuse_two};
use crate::network::NlbCall;

/// One call about one Service.
enum AliCall<'c, 's> {
    Classic(&'c SlbCall<'s>),
    Network(&'c NlbCall<'s>),
}

/// A load balancer.
enum AliBalancer {
    Classic(Box<SlbBalancer>),
    Network(Box<NlbBalancer>),
}

/// The error where a load balancer is given to a call about the other kind, which nobody does.
fn mixed<T>() -> Result<T> {
    Err(Error::unavailable("a load balancer of the other kind"))
}

/// Takes one step towards a Classic Load Balancer.
pub(crate) fn ensure_classic(call: &SlbCall<'_>) -> Result<Progress> {
    backend::ensure(&AliCall::Classic(call))
}

/// Takes one step towards a Network Load Balancer.
pub(crate) fn ensure_network(call: &NlbCall<'_>) -> Result<Progress> {
    backend::ensure(&AliCall::Network(call))
}

/// Takes one step towards the absence of a Classic Load Balancer.
pub(crate) fn delete_classic(call: &SlbCall<'_>) -> Result<Deletion> {
    backend::delete(&AliCall::Classic(call))
}

/// Takes one step towards the absence of a Network Load Balancer.
pub(crate) fn delete_network(call: &NlbCall<'_>) -> Result<Deletion> {
    backend::delete(&AliCall::Network(call))
}

impl Backend for AliCall<'_, '_> {
    type Live = AliBalancer;

    const CLAIM: Option<&'static Key<Custom<String>>> = Some(&ID);

    fn service(&self) -> &LoadBalancer {
        match self {
            Self::Classic(call) => call.service(),
            Self::Network(call) => call.service(),
        }
    }

    fn claimed_id<'f>(&self, found: &'f Found) -> &'f str {
        crate::load_balancer::reused::bare(&found.id)
    }

    fn is_id(&self, text: &str) -> bool {
        match self {
            Self::Classic(call) => call.is_id(text),
            Self::Network(call) => call.is_id(text),
        }
    }

    fn pauses(&self) -> Pauses {
        match self {
            Self::Classic(call) => call.pauses(),
            Self::Network(call) => call.pauses(),
        }
    }

    fn list(&self) -> Result<Vec<Found>> {
        let listed = match self {
            Self::Classic(call) => call.list(),
            Self::Network(call) => call.list(),
        }?;
        refuse_two(&listed)?;
        Ok(listed)
    }

    fn find(&self, id: &str) -> Result<Option<AliBalancer>> {
        Ok(match self {
            Self::Classic(call) => call.find(id)?.map(|it| AliBalancer::Classic(Box::new(it))),
            Self::Network(call) => call.find(id)?.map(|it| AliBalancer::Network(Box::new(it))),
        })
    }

    fn found(&self, live: &AliBalancer) -> Found {
        match (self, live) {
            (Self::Classic(call), AliBalancer::Classic(live)) => call.found(live),
            (Self::Network(call), AliBalancer::Network(live)) => call.found(live),
            _ => Found::new("", "", false),
        }
    }

    fn proof(&self, live: &AliBalancer) -> Result<std::result::Result<(), String>> {
        match (self, live) {
            (Self::Classic(call), AliBalancer::Classic(live)) => call.proof(live),
            (Self::Network(call), AliBalancer::Network(live)) => call.proof(live),
            _ => mixed(),
        }
    }

    fn can_create(&self) -> Result<()> {
        match self {
            Self::Classic(call) => call.can_create(),
            Self::Network(call) => call.can_create(),
        }
    }

    fn create(&self, listed: &[Found]) -> Result<Creation> {
        refuse_second(listed)?;
        match self {
            Self::Classic(call) => call.create(listed),
            Self::Network(call) => call.create(listed),
        }
    }

    fn update(&self, live: &AliBalancer) -> Result<Update> {
        match (self, live) {
            (Self::Classic(call), AliBalancer::Classic(live)) => call.update(live),
            (Self::Network(call), AliBalancer::Network(live)) => call.update(live),
            _ => mixed(),
        }
    }

    fn follow_nodes(&self, live: &AliBalancer) -> Result<Change<()>> {
        match (self, live) {
            (Self::Classic(call), AliBalancer::Classic(live)) => call.follow_nodes(live),
            (Self::Network(call), AliBalancer::Network(live)) => call.follow_nodes(live),
            _ => mixed(),
        }
    }

    fn delete(&self, id: &str) -> Result<Removal> {
        match self {
            Self::Classic(call) => call.delete(id),
            Self::Network(call) => call.delete(id),
        }
    }

    fn keep(&self, id: &str) -> Result<Change<()>> {
        match self {
            Self::Classic(call) => call.keep(id),
            Self::Network(call) => call.keep(id),
        }
    }
}
