//! DigitalOcean.

use std::time::Duration;

use conformance::protocol::{Changed, ClaimingAnnotation, CloudLogin, CloudObject, ForeignChange, Held, Setup};
use serde_json::json;

use crate::clouds::digitalocean::{Assets, Droplet, Status};
use crate::simulator::{Fault, Recorded};
use crate::vendor::{Behaviour, Creation, DigitalOcean, Vendor};

use super::{Published, Served, number};

/// A project that is not the account's default one.
const PROJECT: &str = "4e1bfbc3-dc3e-41f2-a18f-1b4d7ba71679";

/// Serves it, with load balancers that are there after two reads.
///
/// # Errors
///
/// Fails if the port is taken.
pub async fn serve(port: u16) -> anyhow::Result<Served<Assets>> {
    // The cloud refuses a name that is taken, and its description does not promise it.
    let behaviour = Behaviour { creation: Creation::Reads(2), names_are_unique: false, ..Behaviour::default() };
    let simulator = DigitalOcean::start(behaviour).await?;
    let of = |annotation: &str, holds| ClaimingAnnotation { annotation: annotation.to_owned(), holds };
    let setup = Setup {
        settings: super::settings(
            DigitalOcean::SETTINGS
                .iter()
                .chain(DigitalOcean::NAMEABLE)
                .chain(DigitalOcean::FAST)
                .chain(super::WITH_VOLUMES),
        ),
        login: Some(CloudLogin::Bearer { token: simulator.token.clone() }),
        claims: vec![of(DigitalOcean::ID, Held::Id), of(DigitalOcean::NAME, Held::Name)],
        volume_place: super::settings(&[("region", "fra1")]),
        ..Setup::default()
    };
    super::serve(simulator, port, setup).await
}

impl Published for Assets {
    fn objects(&self) -> Vec<CloudObject> {
        let all = self.load_balancers().all().into_iter();
        let object = |shown: crate::clouds::digitalocean::LoadBalancer| CloudObject {
            kind: "load balancer".to_owned(),
            name: shown.name().to_owned(),
            body: json!({ "attributes": shown.attributes, "tags": shown.tags }),
            id: shown.id,
        };
        all.map(object).collect()
    }

    fn change(&self, change: &ForeignChange) -> Option<Changed> {
        match change {
            ForeignChange::AddMachine { name } => {
                DigitalOcean::add_machine(self, number(name), name);
                return Some(Changed { id: Some(number(name).to_string()) });
            }
            ForeignChange::StopMachine { name } => self.droplets().update(number(name), |it| it.status = Status::Off),
            ForeignChange::RemoveMachine { name } => DigitalOcean::remove_machine(self, number(name)),
            ForeignChange::AddSuccessor { name, of } => {
                let Droplet { private_v4, public_v4, .. } = Droplet::new(number(of), of);
                self.droplets().insert(Droplet { private_v4, public_v4, ..Droplet::new(number(name), name) });
            }
            ForeignChange::AddForeign { name } => {
                return Some(Changed { id: Some(DigitalOcean::add_foreign(self, name)) });
            }
            ForeignChange::Touch { id } => {
                self.load_balancers().get(id)?;
                self.load_balancers().update(id, |it| PROJECT.clone_into(&mut it.attributes.project_id));
            }
            // A load balancer is not protected by anything, and the provider neither makes routes nor says where volumes are.
            ForeignChange::Advance { .. }
            | ForeignChange::Protect { .. }
            | ForeignChange::AddForeignRoute { .. }
            | ForeignChange::AddVolume { .. }
            | ForeignChange::RemoveVolume { .. } => return None,
        }
        Some(Changed::default())
    }

    fn lag(&self, lists_lag: bool) {
        DigitalOcean::lists_late_by(self, if lists_lag { Duration::from_secs(3_600) } else { Duration::ZERO });
    }

    fn busy(request: &Recorded) -> Fault {
        DigitalOcean::busy(request.method.as_str(), &request.path)
    }

    fn refused(request: &Recorded) -> Fault {
        let fault = Fault::status(request.method.as_str(), &request.path, 422);
        fault.body(DigitalOcean::refusal("this cannot be had here"))
    }
}
