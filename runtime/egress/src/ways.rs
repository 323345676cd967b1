//! The ways to the places of one endpoint: one, or several among which a catalogue names the present one.

use std::sync::Arc;

use crate::base_url::Origin;
use crate::budget::EndpointBudget;
use crate::catalog::CatalogFault;
use crate::cause::{CauseKind, Stop, WayCause};
use crate::credentials::Authenticated;
use crate::destination::Destination;
use crate::endpoint::{Endpoint, EndpointPlace};
use crate::error::EgressError;
use crate::outcome::AnswerFailure;
use crate::outside::Outside;
use crate::reach::Way;
use crate::wire::{Exchange, Wire};

/// The ways to the places of one endpoint.
pub(crate) struct EndpointWays {
    wires: Vec<(Origin, Wire)>,
    /// The way that there is not, as long as a catalogue names no place.
    unnamed: Option<Arc<Way>>,
}

impl EndpointWays {
    pub(crate) fn new(
        endpoint: &Arc<Endpoint>,
        outside: &Outside,
        budget: &Arc<EndpointBudget>,
    ) -> Result<Self, EgressError> {
        let wire = |origin: Origin| {
            let destination = Destination::at(endpoint, origin.clone());
            Ok((origin, Wire::to(destination, endpoint.clone(), outside.clone(), budget.clone())?))
        };
        let unnamed = match &endpoint.place {
            EndpointPlace::Written(_) => None,
            EndpointPlace::Catalog(_) => Some(outside.reach.way(Destination::from(&**endpoint))),
        };
        Ok(Self { wires: endpoint.place.origins().into_iter().map(wire).collect::<Result<_, EgressError>>()?, unnamed })
    }

    /// Sends one request once, to where it is for.
    pub(crate) async fn send(&self, authenticated: Authenticated) -> Exchange {
        let origin = authenticated.permitted().origin();
        let Some((_, wire)) = self.wires.iter().find(|(it, _)| Some(it) == origin) else {
            let because = "no place is known for the endpoint".to_owned();
            return Exchange { address: None, result: Err(AnswerFailure::Unreachable(because)) };
        };
        // The place is the one that is named now, whatever became of requests to others.
        self.unnamed.iter().for_each(|it| it.forget());
        self.wires.iter().filter(|(it, _)| Some(it) != origin).for_each(|(_, it)| it.way.forget());
        wire.send(authenticated).await
    }

    /// The catalogue leads nowhere: counts it as a request that was not answered, and says it in a sentence.
    pub(crate) fn misplaced(&self, fault: CatalogFault) -> String {
        let cause = WayCause::new(Stop::Place, CauseKind::Catalog(fault));
        let Some(way) = &self.unnamed else { return "no place is known for the endpoint".to_owned() };
        let sentence = way.sentence(&cause);
        way.attempt().failed(cause, &sentence);
        sentence
    }
}
