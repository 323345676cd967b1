//! OpenStack.

use std::time::Duration;

use conformance::protocol::{Changed, ClaimingAnnotation, CloudLogin, CloudObject, ForeignChange, Held, Setup};
use serde_json::{Value, json};

use crate::clouds::openstack::{
    APPLICATION_CREDENTIAL, Assets, Kind, Options, REGION, SECRET, Simulator, Taking, World,
};
use crate::simulator::{Fault, Recorded};
use crate::vendor::{OpenStack, Vendor as _, openstack};

use super::{Published, Served, number};

/// The kinds of what a provider of load balancers can make or change.
const SHOWN: [Kind; 8] = [
    Kind::LoadBalancer,
    Kind::Listener,
    Kind::Pool,
    Kind::Member,
    Kind::HealthMonitor,
    Kind::FloatingIp,
    Kind::SecurityGroup,
    Kind::SecurityGroupRule,
];

/// The fields that change by themselves, or with another object.
const STATES: [&str; 8] = [
    "created_at",
    "operating_status",
    "project_id",
    "provisioning_status",
    "revision_number",
    "status",
    "updated_at",
    "security_group_rules",
];

/// The name of the router with the cluster's routes.
const ROUTER: &str = "r1";
/// An address in the machines' subnet that none of them has.
const NO_MACHINE: &str = "10.6.250.250";

/// Serves it, with changes of load balancers that take so much time; without one they end after two reads.
///
/// # Errors
///
/// Fails if the port is taken.
pub async fn serve(port: u16, pending: Option<Duration>) -> anyhow::Result<Served<Assets>> {
    let mut options = Options::default();
    options.behaviour.provisioning = pending.map_or(Taking::Reads(2), Taking::Time);
    let simulator = Simulator::start(options).await?;
    simulator.with(World::build_plain);
    let router = simulator.with(|world| world.named(Kind::Router, ROUTER));
    let mut settings = super::settings(OpenStack::SETTINGS.iter().chain(OpenStack::FAST));
    settings.insert("routerID".to_owned(), router);
    let of = |annotation: &str, holds| ClaimingAnnotation { annotation: annotation.to_owned(), holds };
    let setup = Setup {
        settings,
        login: Some(login(&[])),
        claims: vec![of(OpenStack::ID, Held::Id)],
        shares: Some(OpenStack::ID.to_owned()),
        ..Setup::default()
    };
    let served = super::serve(simulator, port, setup).await?;
    served.simulator.identity().set_base(&served.url);
    Ok(served)
}

/// Serves it to the provider of volumes alone, with volumes whose changes take one read.
///
/// # Errors
///
/// Fails if the port is taken.
pub async fn serve_volumes(port: u16) -> anyhow::Result<Served<Assets>> {
    let simulator = Simulator::start(Options::default()).await?;
    simulator.with(World::build_plain);
    let setup = Setup {
        settings: super::settings(OpenStack::SETTINGS.iter().chain(&[("createAgainAfter", "1s")])),
        login: Some(login(&[("volume", "volumev3")])),
        // Its URL in the catalogue has no project.
        paths: super::settings(&[("volume", "/v3")]),
        volume_place: super::settings(&[("topology.cinder.csi.openstack.org/zone", "nova")]),
        ..Setup::default()
    };
    let served = super::serve(simulator, port, setup).await?;
    served.simulator.identity().set_base(&served.url);
    Ok(served)
}

/// The login of a provider some of whose endpoints are called otherwise in the catalogue.
fn login(services: &[(&str, &str)]) -> CloudLogin {
    CloudLogin::Keystone {
        path: "/identity/v3".to_owned(),
        id: APPLICATION_CREDENTIAL.to_owned(),
        secret: SECRET.to_owned(),
        region: REGION.to_owned(),
        services: super::settings(services),
    }
}

impl Published for Assets {
    fn objects(&self) -> Vec<CloudObject> {
        let objects = SHOWN.into_iter().flat_map(|kind| self.all(kind).into_iter().map(move |it| object(kind, it)));
        let routes = self.all(Kind::Router).into_iter().flat_map(|it| parts(&it, "routes", "route", "destination"));
        let pairs = self.all(Kind::Port).into_iter();
        let pairs = pairs.flat_map(|it| parts(&it, "allowed_address_pairs", "allowed address pair", "ip_address"));
        objects.chain(routes).chain(pairs).collect()
    }

    fn change(&self, change: &ForeignChange) -> Option<Changed> {
        match change {
            ForeignChange::AddMachine { name } => {
                OpenStack::add_machine(self, number(name), name);
                return Some(Changed { id: Some(openstack::server(number(name))) });
            }
            ForeignChange::StopMachine { name } => self.with(|world| {
                if let Some(it) = world.get_mut(Kind::Server, &openstack::server(number(name))) {
                    (it["status"], it["OS-EXT-STS:vm_state"]) = (json!("SHUTOFF"), json!("stopped"));
                    it["OS-EXT-STS:power_state"] = json!(4);
                }
            }),
            ForeignChange::RemoveMachine { name } => OpenStack::remove_machine(self, number(name)),
            ForeignChange::AddForeign { name } => {
                return Some(Changed { id: Some(OpenStack::add_foreign(self, name)) });
            }
            ForeignChange::Touch { id } => {
                let touched = self.with(|world| {
                    let tags = world.get_mut(Kind::LoadBalancer, id)?["tags"].as_array_mut()?;
                    tags.push(json!("team-blue"));
                    Some(())
                });
                touched?;
            }
            // Its addresses are given away again once it is gone.
            ForeignChange::AddSuccessor { name, of } => self.with(|world| {
                world.remove_server(&openstack::server(number(of)));
                let port = u16::try_from(number(of)).unwrap_or_default();
                world.add_node(port, name, Some(&openstack::server(number(name))));
            }),
            ForeignChange::AddForeignRoute { destination } => {
                let route = json!({ "destination": destination, "nexthop": NO_MACHINE });
                self.with(|world| {
                    let router = world.named(Kind::Router, ROUTER);
                    world.get_mut(Kind::Router, &router)?["routes"].as_array_mut()?.push(route);
                    Some(())
                })?;
                return Some(Changed { id: Some(destination.clone()) });
            }
            // The provider has no volumes.
            ForeignChange::AddVolume { .. } | ForeignChange::RemoveVolume { .. } => return None,
            // Octavia protects nothing.
            ForeignChange::Protect { .. } => return None,
            ForeignChange::Advance { seconds } => {
                self.with(|world| world.advance(Duration::from_secs(*seconds)));
            }
        }
        Some(Changed::default())
    }

    /// Octavia's alone: of a floating IP whose creation was not answered nobody knows more than Neutron's list, which shows what is written.
    fn lag(&self, lists_lag: bool) {
        let time = Duration::from_secs(if lists_lag { 3_600 } else { 0 });
        OpenStack::lists_late_by(self, time);
    }

    fn busy(request: &Recorded) -> Fault {
        OpenStack::busy(request.method.as_str(), &request.path)
    }

    fn refused(request: &Recorded) -> Fault {
        let fault = Fault::status(request.method.as_str(), &request.path, 400);
        fault.body(OpenStack::refusal("this cannot be had here"))
    }

    /// Tokens are asked for by the host.
    fn is_the_providers(request: &Recorded) -> bool {
        !request.path.starts_with("/identity/")
    }
}

/// The entries of a list of a router or of a port, by what tells them apart.
fn parts(of: &Value, list: &str, kind: &str, key: &str) -> Vec<CloudObject> {
    let owner = of["id"].as_str().unwrap_or_default();
    let entries = of[list].as_array().into_iter().flatten();
    let part = |entry: &Value| CloudObject {
        kind: kind.to_owned(),
        id: format!("{owner} {}", entry[key].as_str().unwrap_or_default()),
        name: String::new(),
        body: entry.clone(),
    };
    entries.map(part).collect()
}

/// An object without what changes by itself.
fn object(kind: Kind, mut body: Value) -> CloudObject {
    if let Some(fields) = body.as_object_mut() {
        fields.retain(|name, _| !STATES.contains(&&**name));
    }
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let kind = kind.one().replace('_', " ").replace("loadbalancer", "load balancer");
    CloudObject { kind, id: text("id"), name: text("name"), body }
}
