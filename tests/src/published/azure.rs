//! Azure.

use std::time::Duration;

use conformance::protocol::{Changed, CloudLogin, CloudObject, ForeignChange, Setup, TaggingAnnotation};
use serde_json::{Value, json};

use crate::azure_vendor::entries::entries;
use crate::clouds::azure::{Assets, Kind, LOCATION, Options, Simulator, Taking, World, id, refusal};
use crate::simulator::{Fault, Recorded};
use crate::vendor::{AzureCloud, Vendor as _};

use super::{Published, Served, number};

/// The kinds of which a provider can make or change something.
const SHOWN: [Kind; 5] =
    [Kind::LoadBalancer, Kind::PublicIp, Kind::SecurityGroup, Kind::RouteTable, Kind::PrivateLinkService];

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
    simulator.with(|world| {
        world.insert(Kind::RouteTable, &table(), json!({ "location": LOCATION, "properties": { "routes": [] } }));
    });
    let own = [("loadBalancerBackendPoolConfigurationType", "nodeIP"), ("routeTableName", "rt1")];
    let setup = Setup {
        settings: super::settings(AzureCloud::SETTINGS.iter().chain(&own)),
        login: Some(CloudLogin::Bearer { token: simulator.token.clone() }),
        tags: Some(TaggingAnnotation { annotation: format!("{}pip-tags", AzureCloud::PREFIX), at: "/tags".to_owned() }),
        ..Setup::default()
    };
    let served = super::serve(simulator, port, setup).await?;
    served.simulator.account().set_base(&served.url);
    Ok(served)
}

impl Published for Assets {
    fn objects(&self) -> Vec<CloudObject> {
        self.with(|world| {
            SHOWN.into_iter().flat_map(|kind| world.all(kind).flat_map(move |it| objects(kind, it))).collect()
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
            // Parts of resources have no tags.
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
            ForeignChange::AddForeignRoute { destination } => {
                let name = format!("somebodys-{}", destination.replace(['.', ':', '/'], "-"));
                let route = json!({ "name": name, "id": format!("{}/routes/{name}", table()), "properties": {
                    "addressPrefix": destination, "nextHopType": "VirtualAppliance", "nextHopIpAddress": "10.240.0.250",
                } });
                let id = route["id"].as_str().map(str::to_owned);
                self.with(|world| {
                    world.get_mut(&table())?["properties"]["routes"].as_array_mut()?.push(route);
                    world.mark(&table());
                    Some(())
                })?;
                return Some(Changed { id });
            }
            ForeignChange::AddVolume { .. } => {
                let number = self.with(|world| world.all_ever(Kind::Disk).count());
                let id = id(&format!("Microsoft.Compute/disks/data-{number}"));
                let disk = json!({ "location": LOCATION, "zones": ["1"], "sku": { "name": "Premium_LRS" }, "properties": {
                    "diskSizeGB": 4, "creationData": { "createOption": "Empty" },
                } });
                self.with(|world| world.insert(Kind::Disk, &id, disk));
                return Some(Changed { id: Some(id) });
            }
            ForeignChange::RemoveVolume { id } => self.with(|world| drop(world.remove(id))),
            // Locks are another service's.
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

/// The route table of the suite.
fn table() -> String {
    id("Microsoft.Network/routeTables/rt1")
}

/// A resource and its parts, each an object of its own: Services share the whole, and each has parts. A frontend stands for a load
/// balancer. Services share security rules, too: each has its destinations in them.
fn objects(kind: Kind, body: &Value) -> Vec<CloudObject> {
    let object = |(id, body): (String, Value)| {
        let words: Vec<&str> = id.rsplit('/').collect();
        let (name, of) = (words[0].to_owned(), words[1]);
        let kind = if of == "frontendIPConfigurations" { "frontend of a load balancer" } else { of };
        CloudObject { kind: kind.to_owned(), id: id.clone(), name, body }
    };
    entries(kind, body).into_iter().map(object).flat_map(destinations).collect()
}

/// A security rule by its destinations; anything else as it is.
fn destinations(mut object: CloudObject) -> Vec<CloudObject> {
    let Some(rule) = object.body["properties"].as_object_mut().filter(|_| object.kind == "securityRules") else {
        return vec![object];
    };
    let several = rule.remove("destinationAddressPrefixes").and_then(|it| it.as_array().cloned()).unwrap_or_default();
    let all = rule.remove("destinationAddressPrefix").into_iter().chain(several);
    let part = |destination: Value| {
        let mut part = object.clone();
        part.id = format!("{} to {}", object.id, destination.as_str().unwrap_or_default());
        part.body["properties"]["destinationAddressPrefix"] = destination;
        part
    };
    all.map(part).collect()
}
