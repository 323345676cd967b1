//! Google Cloud.

use std::time::Duration;

use conformance::protocol::{Changed, CloudLogin, CloudObject, ForeignChange, Setup};
use serde_json::{Value, json};

use crate::clouds::gcp::{Assets, Collection, OperationTime, Options, PROJECT, Place, REGION, Simulator, World, link};
use crate::simulator::{Fault, Recorded};
use crate::vendor::{GoogleCloud, Vendor as _};

use super::{Published, Served, number};

/// The collections of which a provider can make or change something.
const SHOWN: [Collection; 9] = [
    Collection::Firewalls,
    Collection::Routes,
    Collection::HttpHealthChecks,
    Collection::HealthChecks,
    Collection::Addresses,
    Collection::ForwardingRules,
    Collection::TargetPools,
    Collection::BackendServices,
    Collection::InstanceGroups,
];

/// The fields that change by themselves, or with another resource.
const STATES: [&str; 5] = ["creationTimestamp", "fingerprint", "labelFingerprint", "status", "users"];

/// Serves it, with operations that last so long; without a time they end after two reads.
///
/// # Errors
///
/// Fails if the port is taken.
pub async fn serve(port: u16, pending: Option<Duration>) -> anyhow::Result<Served<Assets>> {
    let mut options = Options::default();
    options.behaviour.operations = pending.map_or(OperationTime::Reads(2), OperationTime::Time);
    let simulator = Simulator::start(options).await?;
    simulator.with(World::build_plain);
    let setup = Setup {
        settings: super::settings(GoogleCloud::SETTINGS),
        login: Some(CloudLogin::Bearer { token: simulator.token.clone() }),
        paths: ["compute", "network"].map(|it| (it.to_owned(), format!("/compute/v1/projects/{PROJECT}"))).into(),
        ..Setup::default()
    };
    super::serve(simulator, port, setup).await
}

/// Serves it to the provider of volumes alone, with operations that end after one read.
///
/// # Errors
///
/// Fails if the port is taken.
pub async fn serve_volumes(port: u16) -> anyhow::Result<Served<Assets>> {
    let mut options = Options::default();
    options.behaviour.operations = OperationTime::Reads(1);
    let simulator = Simulator::start(options).await?;
    simulator.with(World::build_plain);
    let place = format!("{REGION}-b");
    let setup = Setup {
        settings: super::settings(&[("project", PROJECT), ("appearsWithin", "1s")]),
        login: Some(CloudLogin::Bearer { token: simulator.token.clone() }),
        paths: [("compute".to_owned(), format!("/compute/v1/projects/{PROJECT}"))].into(),
        volume_place: super::settings(&[("topology.gke.io/zone", place.as_str())]),
        ..Setup::default()
    };
    super::serve(simulator, port, setup).await
}

/// The zone of the suite's machines.
fn zone() -> Place {
    Place::zone(PROJECT, &format!("{REGION}-b"))
}

impl Published for Assets {
    fn objects(&self) -> Vec<CloudObject> {
        self.with(|world| {
            let all = SHOWN.into_iter().flat_map(|it| world.all(it).map(move |(path, body)| object(it, path, body)));
            // Others belong to nodes.
            let disks = world.all(Collection::Disks).filter(|(_, it)| it["labels"]["aerostat-claim-uid"].is_string());
            all.chain(disks.map(|(path, body)| object(Collection::Disks, path, body))).collect()
        })
    }

    fn change(&self, change: &ForeignChange) -> Option<Changed> {
        let machine = |name: &str| zone().path(Collection::Instances, name);
        match change {
            ForeignChange::AddMachine { name } => {
                let number = u32::try_from(number(name)).unwrap_or_default();
                let id = self.with(|world| world.add_machine(&zone(), number, name));
                return Some(Changed { id: Some(id) });
            }
            ForeignChange::StopMachine { name } => self.with(|world| {
                if let Some(it) = world.get_mut(&machine(name)) {
                    it["status"] = json!("TERMINATED");
                }
            }),
            ForeignChange::RemoveMachine { name } => self.with(|world| drop(world.remove(&machine(name)))),
            ForeignChange::AddForeign { name } => {
                let rule = json!({ "name": name, "IPAddress": "203.0.113.250", "description": "somebody's" });
                let place = Place::region(PROJECT, REGION);
                let id = self.with(|world| world.insert(&place, Collection::ForwardingRules, rule));
                return Some(Changed { id: Some(id) });
            }
            // Other kinds have no labels.
            ForeignChange::Touch { id } if !["/forwardingRules/", "/addresses/"].iter().any(|it| id.contains(it)) => {
                return None;
            }
            ForeignChange::Touch { id } => self.with(|world| {
                world.get_mut(id)?["labels"]["team"] = json!("blue");
                Some(())
            })?,
            // Its addresses are given away again once it is gone.
            ForeignChange::AddSuccessor { name, of } => self.with(|world| {
                world.remove(&machine(of));
                world.add_machine(&zone(), u32::try_from(number(of)).unwrap_or_default(), name);
            }),
            ForeignChange::AddForeignRoute { destination } => {
                let network = Place::global(PROJECT).path(Collection::Networks, "default");
                let route = json!({
                    "name": format!("somebodys-{}", destination.replace(['.', '/'], "-")), "description": "by hand",
                    "destRange": destination, "network": link(&network), "nextHopInstance": link(&machine("nobody")),
                    "priority": 1000,
                });
                let id = self.with(|world| world.insert(&Place::global(PROJECT), Collection::Routes, route));
                return Some(Changed { id: Some(id) });
            }
            // All machines are in one zone.
            ForeignChange::AddVolume { .. } => {
                let id = self.with(|world| {
                    let name = format!("data-{}", world.all_ever(Collection::Disks).count());
                    world.insert(&zone(), Collection::Disks, json!({ "name": name, "sizeGb": "10" }))
                });
                return Some(Changed { id: Some(id) });
            }
            ForeignChange::RemoveVolume { id } => self.with(|world| drop(world.remove(id))),
            // Compute Engine protects no load balancer.
            ForeignChange::Protect { .. } => return None,
            ForeignChange::Advance { seconds } => self.with(|world| world.advance(Duration::from_secs(*seconds))),
        }
        Some(Changed::default())
    }

    fn lag(&self, lists_lag: bool) {
        let time = Duration::from_secs(if lists_lag { 3_600 } else { 0 });
        self.with(|world| world.behaviour.lists_late_by = time);
    }

    fn busy(request: &Recorded) -> Fault {
        let path = request.path.strip_prefix("/compute/v1/").unwrap_or(&request.path);
        refusal(request, "resourceNotReady", &format!("The resource '{path}' is not ready"))
    }

    fn refused(request: &Recorded) -> Fault {
        refusal(request, "invalid", "Invalid value for field 'resource': this cannot be had here")
    }

    /// Tokens are asked for by the host.
    fn is_the_providers(request: &Recorded) -> bool {
        request.path.starts_with("/compute/")
    }

    /// Lists of a group's machines are asked for by POST, and so is the end of an operation.
    fn writes(request: &Recorded) -> bool {
        let reads = ["/listInstances", "/wait"];
        !request.method.is_safe() && !reads.iter().any(|it| request.path.ends_with(it))
    }
}

fn refusal(request: &Recorded, reason: &str, message: &str) -> Fault {
    let one = json!({ "message": message, "domain": "global", "reason": reason });
    let body = json!({ "error": { "code": 400, "message": message, "errors": [one], "status": "INVALID_ARGUMENT" } });
    Fault::status(request.method.as_str(), &request.path, 400).body(body.to_string())
}

/// A resource without what changes by itself.
fn object(collection: Collection, path: &str, body: &Value) -> CloudObject {
    let mut body = body.clone();
    if let Some(fields) = body.as_object_mut() {
        fields.retain(|name, _| !STATES.contains(&&**name));
    }
    let name = body["name"].as_str().unwrap_or_default().to_owned();
    let kind = if collection == Collection::ForwardingRules { "load balancer" } else { collection.one() };
    CloudObject { kind: kind.to_owned(), id: path.to_owned(), name, body }
}
