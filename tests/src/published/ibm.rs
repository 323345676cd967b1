//! IBM Cloud.

use std::time::Duration;

use conformance::protocol::{Changed, ClaimingAnnotation, CloudLogin, CloudObject, ForeignChange, Held, Setup};
use serde_json::{Value, json};

use crate::clouds::ibm::{Assets, Options, Simulator, Taking, VPC, VpcKind, World, machine_id};
use crate::simulator::{Fault, Recorded};
use crate::vendor::{IbmCloud, Vendor as _, ibm};

use super::{Published, Served, number};

/// The fields of load balancers and their parts that change by themselves, or with every write.
const STATES: [&str; 7] = ["_revision", "_stamp", "balancer", "id", "operating_status", "pool", "provisioning_status"];

/// Serves it, with changes of load balancers that take so much time; without one they end after two reads.
///
/// # Errors
///
/// Fails if the port is taken.
pub async fn serve(port: u16, pending: Option<Duration>) -> anyhow::Result<Served<Assets>> {
    let mut options = Options::default();
    let taking = pending.map_or(Taking::Reads(2), Taking::Time);
    (options.behaviour.creation, options.behaviour.change, options.behaviour.route_deletion) = (taking, taking, taking);
    let simulator = Simulator::start(options).await?;
    simulator.with(World::build_plain);
    let setup = Setup {
        settings: super::settings(IbmCloud::SETTINGS.iter().chain(IbmCloud::FAST)),
        login: Some(CloudLogin::Bearer { token: simulator.token.clone() }),
        claims: vec![ClaimingAnnotation { annotation: IbmCloud::NAME.to_owned(), holds: Held::Name }],
        paths: [(IbmCloud::ENDPOINT.to_owned(), IbmCloud::BASE.to_owned())].into(),
        ..Setup::default()
    };
    super::serve(simulator, port, setup).await
}

impl Published for Assets {
    /// Load balancers with all that is in them, and entries of routing tables. Load balancers whose deletion has begun are no more.
    fn objects(&self) -> Vec<CloudObject> {
        self.with(|world| {
            let all = world.all(VpcKind::LoadBalancer);
            let all = all.filter(|it| it["provisioning_status"] != json!("delete_pending")).map(|it| object(world, it));
            all.chain(world.all(VpcKind::Route).map(entry)).collect()
        })
    }

    fn change(&self, change: &ForeignChange) -> Option<Changed> {
        let machine = |name: &str| machine_id(u32::try_from(number(name)).unwrap_or_default());
        match change {
            ForeignChange::AddMachine { name } => IbmCloud::add_machine(self, number(name), name),
            ForeignChange::StopMachine { name } => self.with(|world| {
                if let Some(it) = world.get_mut(VpcKind::Instance, &machine(name)) {
                    it["status"] = json!("stopped");
                }
            }),
            ForeignChange::RemoveMachine { name } => IbmCloud::remove_machine(self, number(name)),
            ForeignChange::AddForeign { name } => {
                return Some(Changed { id: Some(IbmCloud::add_foreign(self, name)) });
            }
            // Its address is given away again once it is gone.
            ForeignChange::AddSuccessor { name, of } => self.with(|world| {
                let earlier = world.remove(&machine(of));
                world.add_machine(u32::try_from(number(name)).unwrap_or_default(), name);
                if let (Some(earlier), Some(it)) = (earlier, world.get_mut(VpcKind::Instance, &machine(name))) {
                    it["address"] = earlier["address"].clone();
                }
            }),
            ForeignChange::AddVolume { .. } => {
                let volume = json!({ "name": "data", "zone": "us-south-1" });
                return Some(Changed { id: Some(self.with(|world| world.insert(VpcKind::Volume, volume))) });
            }
            ForeignChange::RemoveVolume { id } => self.with(|world| drop(world.remove(id))),
            ForeignChange::AddForeignRoute { destination } => {
                let name = format!("somebodys-{}", destination.replace(['.', ':', '/'], "-"));
                return Some(Changed { id: Some(self.with(|world| world.add_route(VPC, &name, destination, "drop"))) });
            }
            // Load balancers have neither labels nor protection.
            ForeignChange::Touch { .. } | ForeignChange::Protect { .. } => return None,
            ForeignChange::Advance { seconds } => self.with(|world| world.advance(Duration::from_secs(*seconds))),
        }
        Some(Changed::default())
    }

    fn lag(&self, lists_lag: bool) {
        IbmCloud::lists_late_by(self, Duration::from_secs(if lists_lag { 3_600 } else { 0 }));
    }

    fn busy(request: &Recorded) -> Fault {
        IbmCloud::busy(request.method.as_str(), &request.path)
    }

    fn refused(request: &Recorded) -> Fault {
        let fault = Fault::status(request.method.as_str(), &request.path, 400);
        fault.body(IbmCloud::refusal("this cannot be had here"))
    }

    /// Tokens are asked for by the host.
    fn is_the_providers(request: &Recorded) -> bool {
        !ibm::is_for_a_token(request)
    }
}

/// A load balancer with its parts, without what changes by itself.
fn object(world: &World, balancer: &Value) -> CloudObject {
    let own = |key: &str| balancer[key].as_str().unwrap_or_default().to_owned();
    let (id, name) = (own("id"), own("name"));
    let parts = |kind: VpcKind| {
        let mut all: Vec<Value> = world.all(kind).filter(|it| it["balancer"] == json!(id)).map(plain).collect();
        all.sort_by_key(ToString::to_string);
        all
    };
    let mut body = plain(balancer);
    body["listeners"] = json!(parts(VpcKind::Listener));
    body["pools"] = json!(parts(VpcKind::Pool));
    body["members"] = json!(parts(VpcKind::Member));
    CloudObject { kind: "load balancer".to_owned(), id, name, body }
}

/// An entry of a routing table.
fn entry(route: &Value) -> CloudObject {
    let own = |key: &str| route[key].as_str().unwrap_or_default().to_owned();
    CloudObject { kind: "route".to_owned(), id: own("id"), name: own("name"), body: plain(route) }
}

fn plain(it: &Value) -> Value {
    let mut it = it.clone();
    if let Some(fields) = it.as_object_mut() {
        fields.retain(|name, _| !STATES.contains(&&**name));
    }
    it
}
