//! Acme, the cloud of the SDK's example.

use std::time::Duration;

use conformance::protocol::{Changed, ClaimingAnnotation, CloudObject, ForeignChange, Held, Setup, TaggingAnnotation};
use serde_json::json;

use crate::clouds::acme::{Assets, Simulator};
use crate::simulator::{Fault, Recorded};

use super::{Published, Served};

/// The annotation by which an author of Services names a balancer; the example does not read it.
pub const NAME: &str = "acme.example/name";

/// The annotation that holds the id of a balancer which Services share; the example does not read it.
pub const SHARE: &str = "acme.example/share";

/// The annotation by which an author of Services writes labels; the example does not read it.
pub const LABELS: &str = "acme.example/labels";

/// Serves it, with these settings of its provider.
///
/// # Errors
///
/// Fails if the port is taken.
pub async fn serve(port: u16, settings: &[(&str, &str)]) -> anyhow::Result<Served<Assets>> {
    let setup = Setup {
        settings: super::settings(settings),
        claims: vec![ClaimingAnnotation { annotation: NAME.to_owned(), holds: Held::Name }],
        shares: Some(SHARE.to_owned()),
        tags: Some(TaggingAnnotation { annotation: LABELS.to_owned(), at: "/labels".to_owned() }),
        // The example makes no volumes; a provider that needs no cloud for them does.
        volume_place: super::settings(&[("zone", "a")]),
        ..Setup::default()
    };
    super::serve(Simulator::start().await?, port, setup).await
}

impl Published for Assets {
    fn objects(&self) -> Vec<CloudObject> {
        let object = |(id, it): (String, crate::clouds::acme::Balancer)| CloudObject {
            kind: "load balancer".to_owned(),
            id,
            name: it.name,
            body: json!({ "spec": it.spec, "labels": it.labels }),
        };
        let route = |(id, body): (String, serde_json::Value)| CloudObject {
            kind: "route".to_owned(),
            id,
            name: String::new(),
            body,
        };
        let balancers = self.balancers().into_iter().map(object);
        balancers.chain(self.routes().into_iter().map(route)).collect()
    }

    fn change(&self, change: &ForeignChange) -> Option<Changed> {
        match change {
            ForeignChange::AddMachine { name } => {
                self.add_machine(name, true);
                return Some(Changed { id: Some(name.clone()) });
            }
            ForeignChange::StopMachine { name } => self.add_machine(name, false),
            ForeignChange::RemoveMachine { name } => self.remove_machine(name),
            ForeignChange::AddSuccessor { name, of } => self.add_successor(name, of),
            ForeignChange::Protect { id, protected } => {
                if !self.protect(id, *protected) {
                    return None;
                }
            }
            ForeignChange::AddForeign { name } => {
                self.add_balancer(name);
                return Some(Changed { id: Some(name.clone()) });
            }
            ForeignChange::Touch { id } => {
                if !self.label(id, "team", "blue") {
                    return None;
                }
            }
            ForeignChange::AddForeignRoute { destination } => {
                return Some(Changed { id: Some(self.add_foreign_route(destination)) });
            }
            ForeignChange::AddVolume { .. } => return Some(Changed { id: Some(self.add_volume()) }),
            ForeignChange::RemoveVolume { id } => self.remove_volume(id),
            ForeignChange::Advance { .. } => return None,
        }
        Some(Changed::default())
    }

    fn lag(&self, lists_lag: bool) {
        self.lists_late_by(if lists_lag { Duration::from_secs(3_600) } else { Duration::ZERO });
    }

    fn busy(request: &Recorded) -> Fault {
        Fault::status(request.method.as_str(), &request.path, 409)
    }

    fn refused(request: &Recorded) -> Fault {
        Fault::status(request.method.as_str(), &request.path, 422)
    }
}
