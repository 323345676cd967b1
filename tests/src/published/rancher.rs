//! Rancher 1.x.

use std::time::Duration;

use conformance::protocol::{Changed, CloudObject, ForeignChange, Setup};
use serde_json::{Value, json};

use crate::clouds::rancher::{Assets, BASE, Behaviour, RancherKind, RancherResource, Simulator, Taking, host_uuid};
use crate::simulator::{Fault, Recorded};

use super::{Published, Served, number};

/// Settings that let the provider lose little time.
const FAST: [(&str, &str); 2] = [("pollInterval", "1s"), ("createAgainAfter", "5s")];

/// Serves it, with changes that end after two reads. It asks for no keys.
///
/// # Errors
///
/// Fails if the port is taken.
pub async fn serve(port: u16) -> anyhow::Result<Served<Assets>> {
    let simulator = Simulator::start(Behaviour { taking: Taking::Reads(2), asks_for_keys: false }).await?;
    let setup = Setup {
        settings: super::settings(&FAST),
        paths: [("api".to_owned(), BASE.to_owned())].into(),
        ..Setup::default()
    };
    super::serve(simulator, port, setup).await
}

impl Published for Assets {
    /// Load balancers and external services. The stack is everybody's, and stays.
    fn objects(&self) -> Vec<CloudObject> {
        self.with(|world| {
            let balancers = world.all(RancherKind::Balancer).map(|it| object("load balancer", it));
            balancers.chain(world.all(RancherKind::External).map(|it| object("external service", it))).collect()
        })
    }

    fn change(&self, change: &ForeignChange) -> Option<Changed> {
        self.with(|world| match change {
            ForeignChange::AddMachine { name } => {
                world.add_host(number(name), name);
                Some(Changed::default())
            }
            ForeignChange::RemoveMachine { name } => {
                world.remove_host(number(name));
                Some(Changed::default())
            }
            ForeignChange::AddSuccessor { name, of } => {
                let earlier = json!(host_uuid(number(of)));
                let mut all = world.resources.values().filter(|it| it.kind == RancherKind::Host);
                let address = all.find(|it| *it.field("uuid") == earlier)?.field("agentIpAddress").clone();
                let fields = json!({ "uuid": host_uuid(number(name)), "hostname": name, "agentIpAddress": address });
                world.insert(RancherKind::Host, fields, "active");
                Some(Changed::default())
            }
            ForeignChange::AddForeign { name } => {
                let stack = world.insert(RancherKind::Stack, json!({ "name": "somebodys" }), "active");
                let config = json!({ "ports": ["80:80/tcp"], "imageUuid": "docker:rancher/lb-service-haproxy" });
                let fields = json!({ "name": name, "stackId": stack, "launchConfig": config, "lbConfig": {} });
                Some(Changed { id: Some(world.insert(RancherKind::Balancer, fields, "active")) })
            }
            ForeignChange::Touch { id } => {
                let it = world.resources.get_mut(id)?;
                it.fields.insert("description".to_owned(), json!("the blue team's"));
                if it.kind == RancherKind::Balancer {
                    it.fields["launchConfig"]["labels"] = json!({ "team": "blue" });
                    it.fields["lbConfig"]["stickinessPolicy"] = json!({ "mode": "insert" });
                }
                Some(Changed::default())
            }
            // Rancher does not know of machines that are shut down, has no protection, no routes and no volumes.
            _ => None,
        })
    }

    fn lag(&self, lists_lag: bool) {
        self.with(|world| world.lists_late_by = Duration::from_secs(if lists_lag { 3_600 } else { 0 }));
    }

    fn busy(request: &Recorded) -> Fault {
        refusal(request, 409, "Conflict")
    }

    fn refused(request: &Recorded) -> Fault {
        refusal(request, 422, "InvalidOption")
    }
}

fn refusal(request: &Recorded, status: u16, code: &str) -> Fault {
    let body = json!({ "type": "error", "status": status, "code": code, "message": "this cannot be had now" });
    Fault::status(request.method.as_str(), &request.path, status).body(body.to_string())
}

fn object(kind: &str, (id, it): (&String, &RancherResource)) -> CloudObject {
    let mut fields = it.fields.clone();
    let name = fields.remove("name").and_then(|it| it.as_str().map(str::to_owned)).unwrap_or_default();
    // They come with the state.
    fields.remove("publicEndpoints");
    CloudObject { kind: kind.to_owned(), id: id.clone(), name, body: Value::Object(fields) }
}
