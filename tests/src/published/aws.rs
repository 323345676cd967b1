//! AWS, as moto stands for it. A Service gets a Network Load Balancer.

use std::collections::BTreeMap;
use std::time::Duration;

use conformance::protocol::{Changed, CloudLogin, CloudObject, ForeignChange, Setup, TaggingAnnotation};
use serde_json::{Map, Value, json};

use crate::clouds::aws::{Account, Options, Service, Simulator};
use crate::moto::REGION;
use crate::simulator::{Fault, Recorded};
use crate::vendor::{Aws, Vendor, aws};

use super::{Published, Served, number};

/// Serves it, with load balancers that are there after two reads.
///
/// # Errors
///
/// Fails if the port is taken.
pub async fn serve(port: u16) -> anyhow::Result<Served<Account>> {
    let simulator = Simulator::start(Options::default()).await?;
    simulator.behave(&json!({ "provisioning": 0.0, "provisioning_reads": 2 }));
    let setup = Setup {
        settings: settings(&simulator),
        login: Some(login(&simulator)),
        annotations: super::settings(Aws::ANNOTATIONS),
        tags: Some(TaggingAnnotation {
            annotation: format!("{}additional-resource-tags", Aws::PREFIX),
            at: "/tags".to_owned(),
        }),
        ..Setup::default()
    };
    super::serve(simulator, port, setup).await
}

/// Serves it to the provider of volumes alone, with volumes whose changes take one read.
///
/// # Errors
///
/// Fails if the port is taken.
pub async fn serve_volumes(port: u16) -> anyhow::Result<Served<Account>> {
    let simulator = Simulator::start(Options::default()).await?;
    simulator.behave(&json!({ "volume_reads": 1 }));
    let mut settings = settings(&simulator);
    settings.retain(|name, _| ["region", "vpc", "clusterID"].contains(&name.as_str()));
    settings.insert("createAgainAfter".to_owned(), "1s".to_owned());
    let zone = format!("{REGION}a");
    let setup = Setup {
        settings,
        login: Some(login(&simulator)),
        volume_place: super::settings(&[("topology.kubernetes.io/zone", zone.as_str())]),
        ..Setup::default()
    };
    super::serve(simulator, port, setup).await
}

fn settings(simulator: &Simulator) -> BTreeMap<String, String> {
    let settings = aws::settings(simulator);
    let settings = settings.as_object().into_iter().flatten();
    settings.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

fn login(simulator: &Simulator) -> CloudLogin {
    let key = aws::key(simulator);
    let services = [Service::Ec2, Service::Elbv2, Service::Elb].map(|service| {
        let signed_for = if service == Service::Ec2 { "ec2" } else { "elasticloadbalancing" };
        (service.name().to_owned(), signed_for.to_owned())
    });
    CloudLogin::Sigv4 { id: key.id, secret: key.secret, region: REGION.to_owned(), services: BTreeMap::from(services) }
}

impl Published for Account {
    fn objects(&self) -> Vec<CloudObject> {
        let state = self.moto().order("state", &json!({}));
        let of = |name: &str| state[name].as_array().cloned().unwrap_or_default();
        let mut objects = Vec::new();
        for (list, kind) in [("network", "load balancer"), ("classic", "load balancer"), ("targets", "target group")] {
            objects.extend(of(list).into_iter().map(|it| object(kind, it)));
        }
        for mut group in of("security") {
            let rules = group.as_object_mut().and_then(|it| it.remove("rules")).unwrap_or_default();
            let id = group["id"].as_str().unwrap_or_default().to_owned();
            for rule in rules.as_array().into_iter().flatten() {
                let rule = json!({ "id": format!("{id} {rule}"), "rule": rule });
                objects.push(object("security group rule", rule));
            }
            objects.push(object("security group", group));
        }
        objects.extend(of("routes").into_iter().map(|mut route| {
            let destination = route["destination"].as_str().unwrap_or_default().to_owned();
            route["id"] = json!(format!("{} {destination}", route["table"].as_str().unwrap_or_default()));
            object("route", route)
        }));
        objects
    }

    fn change(&self, change: &ForeignChange) -> Option<Changed> {
        let order = |name: &str, arguments: Value| drop(self.moto().order(name, &arguments));
        match change {
            ForeignChange::AddMachine { name } => {
                Aws::add_machine(self, number(name), name);
                return Some(Changed { id: Some(aws::instance(number(name))) });
            }
            ForeignChange::StopMachine { name } => {
                order("enter", json!({ "id": aws::instance(number(name)), "state": "stopped" }));
            }
            ForeignChange::RemoveMachine { name } => Aws::remove_machine(self, number(name)),
            ForeignChange::AddForeign { name } => return Some(Changed { id: Some(Aws::add_foreign(self, name)) }),
            ForeignChange::Touch { id } => {
                let touched = self.objects().into_iter().find(|it| it.id == *id && id.starts_with("arn:"))?;
                let mut tags = touched.body["tags"].as_object().cloned().unwrap_or_default();
                tags.insert("team".to_owned(), json!("blue"));
                order("retag", json!({ "arn": id, "tags": tags }));
            }
            // An instance that has ended has no address any more.
            ForeignChange::AddSuccessor { .. } => return None,
            ForeignChange::AddForeignRoute { destination } => {
                order("gatewayRoute", json!({ "destination": destination }));
                return Some(Changed { id: Some(destination.clone()) });
            }
            // The zone of all machines.
            ForeignChange::AddVolume { .. } => {
                let volume = self.moto().order("volume", &json!({ "zone": format!("{REGION}a") }));
                return Some(Changed { id: volume.as_str().map(str::to_owned) });
            }
            ForeignChange::RemoveVolume { id } => order("deleteVolume", json!({ "id": id })),
            ForeignChange::Protect { id, protected } => order("protect", json!({ "arn": id, "protected": protected })),
            ForeignChange::Advance { seconds } => order("advance", json!({ "seconds": seconds })),
        }
        Some(Changed::default())
    }

    fn lag(&self, lists_lag: bool) {
        Aws::lists_late_by(self, if lists_lag { Duration::from_secs(3_600) } else { Duration::ZERO });
    }

    fn busy(request: &Recorded) -> Fault {
        Aws::busy(request.method.as_str(), &request.path)
    }

    fn refused(request: &Recorded) -> Fault {
        let fault = Fault::status(request.method.as_str(), &request.path, 400);
        fault.body(Aws::refusal("this cannot be had here"))
    }

    fn writes(request: &Recorded) -> bool {
        !request.path.contains("/Describe")
    }
}

/// An object without what AWS changes by itself.
fn object(kind: &str, value: Value) -> CloudObject {
    let mut body: Map<String, Value> = value.as_object().cloned().unwrap_or_default();
    for name in ["state", "draining"] {
        body.remove(name);
    }
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = text("name");
    let id = Some(text("id")).filter(|it| !it.is_empty()).unwrap_or_else(|| name.clone());
    CloudObject { kind: kind.to_owned(), id, name, body: Value::Object(body) }
}
