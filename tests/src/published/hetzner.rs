//! Hetzner.

use std::time::Duration;

use conformance::protocol::{Changed, ClaimingAnnotation, CloudLogin, CloudObject, ForeignChange, Held, Setup};
use serde_json::json;

use crate::clouds::hetzner::{
    Assets, LoadBalancer, Network, Options, Route, Server, Simulator, Status, Taking, Volume,
};
use crate::simulator::{Fault, Recorded};
use crate::vendor::hetzner::{NETWORK, NETWORK_ID};
use crate::vendor::{Hetzner, Vendor};

use super::{Published, Served, number};

/// An address in the network that no server has.
const NO_SERVER: &str = "10.0.250.250";

/// Serves it, with actions that end after two reads.
///
/// # Errors
///
/// Fails if the port is taken.
pub async fn serve(port: u16) -> anyhow::Result<Served<Assets>> {
    let mut options = Options::default();
    options.behaviour.creation = Taking::Reads(2);
    options.behaviour.actions = Taking::Time(Duration::ZERO);
    let simulator = Simulator::start(options).await?;
    simulator.networks().insert(Network::new(NETWORK_ID, NETWORK));
    let of = |annotation: &str, holds| ClaimingAnnotation { annotation: annotation.to_owned(), holds };
    let setup = Setup {
        settings: super::settings(
            Hetzner::SETTINGS.iter().chain(Hetzner::NAMEABLE).chain(Hetzner::FAST).chain(super::WITH_VOLUMES),
        ),
        login: Some(CloudLogin::Bearer { token: simulator.token.clone() }),
        claims: vec![of(Hetzner::ID, Held::Id), of(Hetzner::NAME, Held::Name)],
        volume_place: super::settings(&[("csi.hetzner.cloud/location", "fsn1")]),
        ..Setup::default()
    };
    super::serve(simulator, port, setup).await
}

impl Published for Assets {
    fn objects(&self) -> Vec<CloudObject> {
        let object = |shown: LoadBalancer| CloudObject {
            kind: "load balancer".to_owned(),
            id: shown.id.to_string(),
            body: json!({
                "labels": shown.labels,
                "kind": shown.kind,
                "algorithm": shown.algorithm,
                "public": shown.public,
                "network": shown.private_net,
                "services": shown.services,
                "targets": format!("{:?}", shown.targets),
                "protected": shown.protected,
            }),
            name: shown.name,
        };
        let route = |route: Route| CloudObject {
            kind: "route".to_owned(),
            id: route.destination.clone(),
            name: String::new(),
            body: json!({ "gateway": route.gateway }),
        };
        let balancers = self.load_balancers().all().into_iter().map(object);
        balancers.chain(self.networks().routes(NETWORK_ID).into_iter().map(route)).collect()
    }

    fn change(&self, change: &ForeignChange) -> Option<Changed> {
        match change {
            ForeignChange::AddMachine { name } => {
                Hetzner::add_machine(self, number(name), name);
                return Some(Changed { id: Some(number(name).to_string()) });
            }
            ForeignChange::StopMachine { name } => self.servers().update(number(name), |it| it.status = Status::Off),
            ForeignChange::RemoveMachine { name } => Hetzner::remove_machine(self, number(name)),
            ForeignChange::AddSuccessor { name, of } => {
                Hetzner::add_machine(self, number(name), name);
                let Server { ipv4, ipv6, .. } = Server::new(number(of), of);
                self.servers().update(number(name), |it| (it.ipv4, it.ipv6) = (ipv4, ipv6));
            }
            ForeignChange::Protect { id, protected } => {
                let id = id.parse().ok()?;
                self.load_balancers().get(id)?;
                self.load_balancers().update(id, |it| it.protected = *protected);
            }
            ForeignChange::AddForeign { name } => return Some(Changed { id: Some(Hetzner::add_foreign(self, name)) }),
            ForeignChange::Touch { id } => {
                let id = id.parse().ok()?;
                self.load_balancers().get(id)?;
                self.load_balancers().update(id, |it| drop(it.labels.insert("team".to_owned(), "blue".to_owned())));
            }
            ForeignChange::AddForeignRoute { destination } => {
                let route = Route::new(destination, NO_SERVER);
                self.networks().update(NETWORK_ID, |it| it.routes.push(route));
                return Some(Changed { id: Some(destination.clone()) });
            }
            ForeignChange::AddVolume { beside } => {
                let location = self.servers().get(number(beside))?.location;
                let id = self.volumes().free_id();
                self.volumes().insert(Volume::new(id, &format!("volume-{id}")).location(&location));
                return Some(Changed { id: Some(id.to_string()) });
            }
            ForeignChange::RemoveVolume { id } => drop(self.volumes().remove(id.parse().ok()?)),
            ForeignChange::Advance { .. } => return None,
        }
        Some(Changed::default())
    }

    fn lag(&self, lists_lag: bool) {
        Hetzner::lists_late_by(self, if lists_lag { Duration::from_secs(3_600) } else { Duration::ZERO });
    }

    fn busy(request: &Recorded) -> Fault {
        Hetzner::busy(request.method.as_str(), &request.path)
    }

    fn refused(request: &Recorded) -> Fault {
        let fault = Fault::status(request.method.as_str(), &request.path, 422);
        fault.body(Hetzner::refusal("this cannot be had here"))
    }
}
