//! Azure.

use std::time::Duration;

use conformance::protocol::{Changed, CloudLogin, CloudObject, ForeignChange, Setup};
use serde_json::{Value, json};

use crate::clouds::azure::{
    Assets, GROUP, Kind, LOCATION, Options, SUBSCRIPTION, Simulator, Taking, World, id, refusal,
};
use crate::simulator::{Fault, Recorded};

use super::{Published, Served, number};

/// The kinds of which a provider can make or change something.
const SHOWN: [Kind; 5] =
    [Kind::LoadBalancer, Kind::PublicIp, Kind::SecurityGroup, Kind::RouteTable, Kind::PrivateLinkService];

/// The fields that change by themselves, or with another resource.
const STATES: [&str; 2] = ["etag", "provisioningState"];

/// Serves it, with operations that last so long; without a time they end after two reads.
///
/// # Errors
///
/// Fails if the port is taken.
pub async fn serve(port: u16, pending: Option<Duration>) -> anyhow::Result<Served<Assets>> {
    let mut options = Options::default();
    options.behaviour.operations = pending.map_or(Taking::Reads(2), Taking::Time);
    let simulator = Simulator::start(options).await?;
    simulator.with(World::build_plain);
    let settings = [
        ("subscriptionId", SUBSCRIPTION),
        ("resourceGroup", GROUP),
        ("location", LOCATION),
        ("vnetName", "vnet1"),
        ("subnetName", "subnet1"),
        ("securityGroupName", "nsg1"),
        ("loadBalancerBackendPoolConfigurationType", "nodeIP"),
    ];
    let setup = Setup {
        settings: super::settings(&settings),
        login: Some(CloudLogin::Bearer { token: simulator.token.clone() }),
        ..Setup::default()
    };
    let served = super::serve(simulator, port, setup).await?;
    served.simulator.account().set_base(&served.url);
    Ok(served)
}

impl Published for Assets {
    fn objects(&self) -> Vec<CloudObject> {
        self.with(|world| {
            let all = SHOWN.into_iter().flat_map(|kind| world.all(kind).map(move |body| object(kind, body)));
            all.collect()
        })
    }

    fn change(&self, change: &ForeignChange) -> Option<Changed> {
        let machine = |name: &str| id(&format!("Microsoft.Compute/virtualMachines/{name}"));
        let numbered = |name: &str| u32::try_from(number(name)).unwrap_or_default();
        match change {
            ForeignChange::AddMachine { name } => self.with(|world| drop(world.add_machine(numbered(name), name))),
            ForeignChange::StopMachine { name } => {
                self.with(|world| _ = world.set_power(&machine(name), "deallocated"))
            }
            ForeignChange::RemoveMachine { name } => self.with(|world| drop(world.remove(&machine(name)))),
            ForeignChange::AddForeign { name } => {
                let id = id(&format!("Microsoft.Network/loadBalancers/{name}"));
                let body = json!({ "location": LOCATION, "sku": { "name": "Standard" }, "properties": {} });
                self.with(|world| world.insert(Kind::LoadBalancer, &id, body));
                return Some(Changed { id: Some(id) });
            }
            ForeignChange::Touch { id } => self.with(|world| {
                world.get_mut(id)?["tags"]["team"] = json!("blue");
                world.mark(id);
                Some(())
            })?,
            // Its addresses are given away again once it is gone.
            ForeignChange::AddSuccessor { name, of } => self.with(|world| {
                world.remove(&machine(of));
                world.remove(&id(&format!("Microsoft.Network/networkInterfaces/{of}-nic")));
                world.add_machine(numbered(of), name);
            }),
            // Locks are another service's. Route tables and disks are not played yet.
            ForeignChange::Protect { .. }
            | ForeignChange::AddForeignRoute { .. }
            | ForeignChange::AddVolume { .. }
            | ForeignChange::RemoveVolume { .. } => return None,
            ForeignChange::Advance { seconds } => self.with(|world| world.advance(Duration::from_secs(*seconds))),
        }
        Some(Changed::default())
    }

    fn lag(&self, lists_lag: bool) {
        let time = Duration::from_secs(if lists_lag { 3_600 } else { 0 });
        self.with(|world| world.behaviour.lists_late_by = time);
    }

    fn busy(request: &Recorded) -> Fault {
        let message = "Another operation on this or dependent resource is in progress.";
        refused(request, 409, "AnotherOperationInProgress", message).header("retry-after", "1")
    }

    fn refused(request: &Recorded) -> Fault {
        refused(request, 400, "InvalidRequestFormat", "this cannot be had here")
    }

    /// Tokens are asked for by the host.
    fn is_the_providers(request: &Recorded) -> bool {
        request.path.starts_with("/subscriptions")
    }
}

fn refused(request: &Recorded, status: u16, code: &str, message: &str) -> Fault {
    Fault::status(request.method.as_str(), &request.path, status).body(refusal(code, message))
}

/// A resource without what changes by itself.
fn object(kind: Kind, body: &Value) -> CloudObject {
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let (id, name) = (text("id"), text("name"));
    let mut body = body.clone();
    strip(&mut body);
    CloudObject { kind: kind.many().to_owned(), id, name, body }
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(all) => {
            all.retain(|name, _| !STATES.contains(&&**name));
            all.values_mut().for_each(strip);
        }
        Value::Array(all) => all.iter_mut().for_each(strip),
        _ => {}
    }
}
