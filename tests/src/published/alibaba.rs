//! Alibaba Cloud. A Service gets a Classic Load Balancer, and with the class `alibabacloud.com/nlb` a Network one.

use std::time::Duration;

use conformance::protocol::{Changed, CloudLogin, CloudObject, ForeignChange, Setup, TaggingAnnotation};
use serde_json::{Map, Value, json};

use crate::clouds::alibaba::{
    Assets, Behaviour, KEY_ID, KEY_SECRET, Options, REGION, Simulator, Taking, World, machine_id,
};
use crate::simulator::{Fault, Recorded};
use crate::vendor::{AlibabaCloud, Vendor as _};

use super::{Published, Served, number};

/// Endpoints with the versions of their APIs.
const VERSIONS: [(&str, &str); 4] =
    [("ecs", "2014-05-26"), ("nlb", "2022-04-30"), ("slb", "2014-05-15"), ("vpc", "2016-04-28")];

/// Serves it, with changes that take so much time; without one they end after two reads.
///
/// # Errors
///
/// Fails if the port is taken.
pub async fn serve(port: u16, pending: Option<Duration>) -> anyhow::Result<Served<Assets>> {
    let taking = pending.map_or(Taking::Reads(2), Taking::Time);
    let simulator = Simulator::start(Options::with(Behaviour::taking(taking))).await?;
    let login = CloudLogin::Acs3 {
        id: KEY_ID.to_owned(),
        secret: KEY_SECRET.to_owned(),
        region: REGION.to_owned(),
        versions: super::settings(&VERSIONS),
    };
    let setup = Setup {
        settings: super::settings(AlibabaCloud::SETTINGS.iter().chain(AlibabaCloud::FAST)),
        login: Some(login),
        tags: Some(TaggingAnnotation {
            annotation: format!("{}additional-resource-tags", AlibabaCloud::PREFIX),
            at: "/tags".to_owned(),
        }),
        ..Setup::default()
    };
    super::serve(simulator, port, setup).await
}

impl Published for Assets {
    fn objects(&self) -> Vec<CloudObject> {
        self.with(|world| {
            let balancers = [&world.balancers, &world.network_balancers].into_iter().flat_map(|it| it.all());
            let mut objects: Vec<CloudObject> =
                balancers.map(|(id, it)| object(world, "load balancer", "LoadBalancerName", id, it)).collect();
            let others = [
                ("server group", "ServerGroupName", &world.network_groups),
                ("security group", "SecurityGroupName", &world.security),
                ("access list", "AclName", &world.access),
                ("route", "DestinationCidrBlock", &world.routes),
            ];
            for (kind, name, table) in others {
                objects.extend(table.all().map(|(id, it)| object(world, kind, name, id, it)));
            }
            objects
        })
    }

    fn change(&self, change: &ForeignChange) -> Option<Changed> {
        match change {
            ForeignChange::AddMachine { name } => AlibabaCloud::add_machine(self, number(name), name),
            ForeignChange::StopMachine { name } => self.with(|world| {
                if let Some(it) = world.instances.get_mut(&machine_id(number(name))) {
                    it["Status"] = json!("Stopped");
                }
            }),
            ForeignChange::RemoveMachine { name } => AlibabaCloud::remove_machine(self, number(name)),
            ForeignChange::AddForeign { name } => {
                return Some(Changed { id: Some(AlibabaCloud::add_foreign(self, name)) });
            }
            // Its address is given away again once it is gone.
            ForeignChange::AddSuccessor { name, of } => self.with(|world| {
                let of = machine_id(number(of));
                let earlier = world.instances.get(&of).map(|it| it["VpcAttributes"].clone());
                world.remove_machine(&of);
                world.add_machine(number(name), name);
                if let (Some(earlier), Some(it)) = (earlier, world.instances.get_mut(&machine_id(number(name)))) {
                    it["VpcAttributes"] = earlier;
                }
            }),
            ForeignChange::AddForeignRoute { destination } => {
                let hop = ("NatGateway", "ngw-1");
                let table = crate::clouds::alibaba::ROUTE_TABLE;
                self.with(|world| world.put_route(table, destination, hop, "", "Available"));
                return Some(Changed { id: Some(destination.clone()) });
            }
            ForeignChange::AddVolume { .. } => {
                return Some(Changed { id: Some(self.with(|world| world.add_disk("cn-hangzhou-b"))) });
            }
            ForeignChange::RemoveVolume { id } => self.with(|world| drop(world.disks.remove(id))),
            ForeignChange::Touch { id } => self.with(|world| {
                if let Some(tags) = world.balancers.get_mut(id).and_then(|it| it["Tags"].as_array_mut()) {
                    tags.push(json!({ "TagKey": "team", "TagValue": "blue" }));
                }
            }),
            // The provider protects each of its own: it tells nothing of a person's will.
            ForeignChange::Protect { .. } => return None,
            ForeignChange::Advance { seconds } => self.with(|world| world.advance(Duration::from_secs(*seconds))),
        }
        Some(Changed::default())
    }

    fn lag(&self, lists_lag: bool) {
        AlibabaCloud::lists_late_by(self, Duration::from_secs(if lists_lag { 3_600 } else { 0 }));
    }

    fn busy(request: &Recorded) -> Fault {
        AlibabaCloud::busy(request.method.as_str(), &request.path)
    }

    fn refused(request: &Recorded) -> Fault {
        let fault = Fault::status(request.method.as_str(), &request.path, 400);
        fault.body(AlibabaCloud::refusal("this cannot be had here"))
    }

    /// All requests are sent by POST.
    fn writes(request: &Recorded) -> bool {
        let action = request.path.rsplit('/').next().unwrap_or_default();
        !["Describe", "Get", "List"].iter().any(|it| action.starts_with(it))
    }
}

/// The fields that change by themselves, or with every write.
const STATES: [&str; 8] = [
    "CreateTime",
    "LoadBalancerStatus",
    "ListenerId",
    "ListenerStatus",
    "RouteEntryId",
    "ServerGroupId",
    "ServerGroupStatus",
    "VServerGroupId",
];

/// An object with its parts, without what changes by itself.
fn object(world: &World, kind: &str, name: &str, id: &str, it: &Value) -> CloudObject {
    let name = it[name].as_str().unwrap_or_default().to_owned();
    let mut body = plain(world, it);
    body["tags"] = tags(it);
    if kind == "route" {
        // It becomes Available by itself.
        body["Status"] = Value::Null;
    }
    let parts = |table: &crate::clouds::alibaba::Table| {
        let mut all: Vec<Value> = table.of("LoadBalancerId", id).map(|(_, it)| plain(world, it)).collect();
        all.sort_by_key(ToString::to_string);
        all
    };
    for (field, table) in
        [("listeners", &world.listeners), ("groups", &world.groups), ("networkListeners", &world.network_listeners)]
    {
        if kind == "load balancer" {
            body[field] = json!(parts(table));
        }
    }
    CloudObject { kind: kind.to_owned(), id: id.to_owned(), name, body }
}

/// The tags of an object by key.
fn tags(object: &Value) -> Value {
    let all = object["Tags"].as_array().into_iter().flatten();
    let all = all.filter_map(|it| Some((it["TagKey"].as_str()?.to_owned(), it["TagValue"].clone())));
    Value::Object(all.collect())
}

/// An object without states, with the names of groups in the place of their ids.
fn plain(world: &World, it: &Value) -> Value {
    let fields =
        it.as_object().into_iter().flatten().filter(|(name, _)| !STATES.contains(&&***name) && *name != "Tags");
    let mut fields: Map<String, Value> = fields.map(|(name, value)| (name.clone(), value.clone())).collect();
    let group = it["VServerGroupId"].as_str().and_then(|id| world.groups.get(id)).map(|it| &it["VServerGroupName"]);
    let other =
        || it["ServerGroupId"].as_str().and_then(|id| world.network_groups.get(id)).map(|it| &it["ServerGroupName"]);
    if let Some(name) = group.or_else(other) {
        fields.insert("sendsTo".to_owned(), name.clone());
    }
    Value::Object(fields)
}
