//! EC2 in memory: volumes that are creating, attaching, detaching, modifying and deleting for a while, and tokens that are spent.

use std::collections::BTreeMap;

use aerostat_sdk::testing::protocol::{Changed, CloudObject, ForeignChange};
use aerostat_sdk::testing::{Body, FakeCloud, FakeMoment, FakeObjects, Host, Request, Response, SimulatedCloud, reply};
use aws_api::testing::{action, filter, value};
use serde_json::{Value, json};

use crate::api::volumes::NAME;

/// How long each change takes.
const SECONDS: u64 = 3;
/// How long a volume is optimized.
const OPTIMIZING: u64 = 3_600;

/// The volumes of a region, one of which is another's.
pub(super) struct FakeEc2 {
    pub(super) volumes: FakeObjects,
    /// Changes under way: when each ends, of which volume it is, and the state after it.
    pub(super) changes: Vec<(u64, String, Ending)>,
    /// By token: the rest of the request, and the volume.
    pub(super) tokens: BTreeMap<String, (Vec<(String, String)>, String)>,
    /// By volume: state and beginning.
    pub(super) modifications: BTreeMap<String, (&'static str, u64)>,
    pub(super) instances: u64,
    /// How many volumes an instance takes.
    pub(super) most: usize,
    /// How many creations are to end in the state `error`.
    pub(super) failing: usize,
    /// The codes with which actions are refused.
    pub(super) refusals: BTreeMap<&'static str, &'static str>,
    /// Devices that are in use, and of which EC2 does not tell.
    pub(super) hidden: Vec<String>,
}

/// The end of what EC2 takes its time for.
pub(super) enum Ending {
    State(&'static str),
    Attached(String),
    Detached(String),
    Size(u64),
    Optimized,
    Deleted,
}

impl Default for FakeEc2 {
    fn default() -> Self {
        let ec2 = Self {
            volumes: FakeObjects::new("volume", "vol-"),
            changes: Vec::new(),
            tokens: BTreeMap::new(),
            modifications: BTreeMap::new(),
            instances: 0,
            most: 27,
            failing: 0,
            refusals: BTreeMap::new(),
            hidden: Vec::new(),
        };
        ec2.with(json!({ "tags": { NAME: "pvc-other" } }))
    }
}

/// A time as EC2 writes it: in January of 1970.
pub(super) fn written(seconds: u64) -> String {
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    assert!(day < 31, "{seconds}");
    format!("1970-01-{:02}T{:02}:{:02}:{:02}.000Z", day + 1, second / 3_600, second / 60 % 60, second % 60)
}

fn xml(name: &str, content: impl ToString) -> String {
    format!("<{name}>{}</{name}>", content.to_string())
}

fn refusal(code: &str) -> Response {
    reply(400, xml("Response", xml("Errors", xml("Error", xml("Code", code) + &xml("Message", "It is so.")))))
}

impl FakeEc2 {
    /// The same with one that differs so from the usual one.
    pub(super) fn with(mut self, differs: Value) -> Self {
        let mut volume =
            json!({ "zone": "us-east-1a", "size": 10, "type": "gp3", "state": "available", "tags": {}, "at": {} });
        for (key, value) in differs.as_object().unwrap() {
            volume[key] = value.clone();
        }
        self.volumes.make("", volume, FakeMoment::default());
        self
    }

    pub(super) fn refusing(mut self, action: &'static str, code: &'static str) -> Self {
        self.refusals.insert(action, code);
        self
    }

    /// Ends what has had its time.
    fn settle(&mut self, now: u64) {
        let (ended, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.changes).into_iter().partition(|(ends, ..)| *ends <= now);
        self.changes = left;
        for (ends, id, change) in ended {
            let id = id.as_str();
            let Some(volume) = self.volumes.get_mut(id) else { continue };
            match change {
                Ending::State(state) => volume.body["state"] = json!(state),
                Ending::Attached(instance) => volume.body["at"][instance]["state"] = json!("attached"),
                Ending::Detached(instance) => {
                    volume.body["at"].as_object_mut().unwrap().remove(&instance);
                    volume.body["state"] = json!("available");
                }
                Ending::Size(size) => {
                    volume.body["size"] = json!(size);
                    let (state, _) = self.modifications.get_mut(id).unwrap();
                    *state = "optimizing";
                    self.changes.push((ends + OPTIMIZING, id.to_owned(), Ending::Optimized));
                }
                Ending::Optimized => self.modifications.get_mut(id).unwrap().0 = "completed",
                Ending::Deleted => drop(self.volumes.remove(id)),
            }
        }
    }

    fn begin(&mut self, id: &str, change: Ending, moment: FakeMoment) {
        self.changes.push((moment.now + SECONDS, id.to_owned(), change));
    }

    fn shown(&self, id: &str) -> String {
        let volume = &self.volumes.get(id).unwrap().body;
        let text = |it: &Value| it.as_str().map_or_else(|| it.to_string(), str::to_owned);
        let attachment = |(instance, at): (&String, &Value)| {
            let of = |name: &str| text(&at[name]);
            let pair = xml("instanceId", instance) + &xml("device", of("device"));
            xml("item", pair + &xml("status", of("state")) + &xml("attachTime", of("since")))
        };
        let tag = |(key, it): (&String, &Value)| xml("item", xml("key", key) + &xml("value", text(it)));
        let all = |it: &Value, one: &dyn Fn((&String, &Value)) -> String| -> String {
            it.as_object().unwrap().iter().map(one).collect()
        };
        [
            xml("volumeId", id),
            xml("availabilityZone", text(&volume["zone"])),
            xml("size", text(&volume["size"])),
            xml("status", text(&volume["state"])),
            xml("attachmentSet", all(&volume["at"], &attachment)),
            xml("tagSet", all(&volume["tags"], &tag)),
        ]
        .concat()
    }

    fn listed(&self, request: &Request, moment: FakeMoment) -> Response {
        let ids: Vec<String> = match value(request, "VolumeId.1") {
            // By its id it is found at once.
            Some(id) if self.volumes.get(id).is_some() => vec![id.to_owned()],
            Some(_) => return refusal("InvalidVolume.NotFound"),
            None => {
                let (ids, names) = (filter(request, "volume-id"), filter(request, &format!("tag:{NAME}")));
                let keys = filter(request, "tag-key");
                let has = |of: &Value, name: &str| of["tags"][name].as_str().map(str::to_owned);
                let fits = |id: &str, of: &Value| {
                    (ids.is_empty() || ids.contains(&id))
                        && (names.is_empty() || has(of, NAME).is_some_and(|it| names.contains(&&*it)))
                        && (keys.is_empty() || keys.iter().any(|it| has(of, it).is_some()))
                };
                let listed = self.volumes.listed(moment).filter(|(id, it)| fits(id, &it.body));
                listed.map(|(id, _)| id.to_owned()).collect()
            }
        };
        let size: usize = value(request, "MaxResults").map_or(usize::MAX, |it| it.parse().unwrap());
        let begin: usize = value(request, "NextToken").map_or(0, |it| it.strip_prefix("at+").unwrap().parse().unwrap());
        assert!(size >= 5, "EC2 has no smaller page");
        let page: String = ids.iter().skip(begin).take(size).map(|id| xml("item", self.shown(id))).collect();
        let end = begin.saturating_add(size);
        let next = if end < ids.len() { xml("nextToken", format!("at+{end}")) } else { String::new() };
        reply(200, xml("R", xml("volumeSet", page) + &next))
    }

    fn create(&mut self, request: &Request, moment: FakeMoment) -> Response {
        let Some(Body::Form(pairs)) = &request.body else { panic!("{request:?}") };
        let token = value(request, "ClientToken").unwrap();
        if let Some((asked, id)) = self.tokens.get(token) {
            let is_there = self.volumes.get(id).is_some_and(|it| it.body["state"] != "error");
            return match asked == pairs && is_there {
                true => reply(200, xml("R", self.shown(id))),
                false => refusal("IdempotentParameterMismatch"),
            };
        }
        let of = |name: &str| value(request, name).unwrap_or_default();
        let tag = |number: usize| Some((value(request, &format!("TagSpecification.1.Tag.{number}.Key"))?, number));
        let tags = (1..=50)
            .map_while(tag)
            .map(|(key, number)| (key.to_owned(), json!(of(&format!("TagSpecification.1.Tag.{number}.Value")))));
        let tags: Value = tags.collect::<serde_json::Map<_, _>>().into();
        let size: u64 = of("Size").parse().unwrap();
        let volume = json!({
            "zone": of("AvailabilityZone"), "size": size, "type": of("VolumeType"), "state": "creating", "tags": tags, "at": {},
        });
        let id = self.volumes.make("", volume, moment);
        self.tokens.insert(token.to_owned(), (pairs.clone(), id.clone()));
        let fails = self.failing > 0;
        self.failing = self.failing.saturating_sub(1);
        self.begin(&id, Ending::State(if fails { "error" } else { "available" }), moment);
        reply(200, xml("R", self.shown(&id)))
    }

    fn attach(&mut self, id: &str, request: &Request, moment: FakeMoment) -> Response {
        let (instance, device) = (value(request, "InstanceId").unwrap(), value(request, "Device").unwrap());
        let volume = &self.volumes.get(id).unwrap().body;
        if volume["state"] == "in-use" {
            return refusal("VolumeInUse");
        }
        if volume["state"] != "available" {
            return refusal("IncorrectState");
        }
        let taken = self.devices(instance);
        if taken.len() > self.most {
            return refusal("AttachmentLimitExceeded");
        }
        if taken.iter().chain(&self.hidden).any(|it| it == device) {
            let why = format!("Invalid value '{device}' for unixDevice. Attachment point {device} is already in use");
            let error = xml("Code", "InvalidParameterValue") + &xml("Message", why);
            return reply(400, xml("Response", xml("Errors", xml("Error", error))));
        }
        let at = json!({ "device": device, "state": "attaching", "since": written(moment.now) });
        let volume = &mut self.volumes.get_mut(id).unwrap().body;
        (volume["at"][instance], volume["state"]) = (at, json!("in-use"));
        self.begin(id, Ending::Attached(instance.to_owned()), moment);
        reply(200, xml("R", xml("status", "attaching")))
    }

    fn detach(&mut self, id: &str, instance: &str, moment: FakeMoment) -> Response {
        let volume = &mut self.volumes.get_mut(id).unwrap().body;
        if volume["at"][instance].is_null() {
            return refusal("IncorrectState");
        }
        volume["at"][instance]["state"] = json!("detaching");
        self.begin(id, Ending::Detached(instance.to_owned()), moment);
        reply(200, xml("R", xml("status", "detaching")))
    }

    fn modify(&mut self, id: &str, size: &str, moment: FakeMoment) -> Response {
        match self.modifications.get(id) {
            Some(("modifying" | "optimizing", _)) => return refusal("IncorrectModificationState"),
            Some((_, since)) if moment.now < since + 6 * 3_600 => return refusal("VolumeModificationRateExceeded"),
            _ => {}
        }
        self.modifications.insert(id.to_owned(), ("modifying", moment.now));
        self.begin(id, Ending::Size(size.parse().unwrap()), moment);
        reply(200, xml("R", ""))
    }

    /// The devices of an instance that EC2 tells of: its root, and its volumes.
    fn devices(&self, instance: &str) -> Vec<String> {
        let of_volumes =
            self.volumes.all().filter_map(|(_, it)| it.body["at"][instance]["device"].as_str().map(str::to_owned));
        ["/dev/xvda".to_owned()].into_iter().chain(of_volumes).collect()
    }
}

impl FakeCloud for FakeEc2 {
    fn answer(&mut self, request: &Request, moment: FakeMoment) -> Response {
        self.settle(moment.now);
        if let Some(code) = self.refusals.get(action(request)) {
            return refusal(code);
        }
        let volume = value(request, "VolumeId").unwrap_or_default().to_owned();
        let id = volume.as_str();
        match action(request) {
            "DescribeVolumes" => self.listed(request, moment),
            "DescribeVolumesModifications" => {
                let of = self.modifications.get(filter(request, "volume-id")[0]);
                let item = |(state, since): &(&str, u64)| {
                    xml("item", xml("modificationState", state) + &xml("startTime", written(*since)))
                };
                reply(200, xml("R", xml("volumeModificationSet", of.map(item).unwrap_or_default())))
            }
            "DescribeInstances" => {
                let instance = filter(request, "instance-id")[0];
                let devices = self.devices(instance).into_iter().map(|it| xml("item", xml("deviceName", it)));
                let shown = xml("instanceId", instance) + &xml("blockDeviceMapping", devices.collect::<String>());
                let set = xml("item", xml("instancesSet", xml("item", shown)));
                reply(200, xml("R", xml("reservationSet", if instance == "i-gone" { String::new() } else { set })))
            }
            "CreateVolume" => self.create(request, moment),
            _ if self.volumes.get(id).is_none() => refusal("InvalidVolume.NotFound"),
            "DeleteVolume" => {
                let body = &mut self.volumes.get_mut(id).unwrap().body;
                assert_eq!(body["at"], json!({}), "it is attached");
                body["state"] = json!("deleting");
                self.begin(id, Ending::Deleted, moment);
                reply(200, xml("R", ""))
            }
            "AttachVolume" => self.attach(id, request, moment),
            "DetachVolume" => self.detach(id, value(request, "InstanceId").unwrap(), moment),
            "ModifyVolume" => self.modify(id, value(request, "Size").unwrap(), moment),
            other => panic!("{other}"),
        }
    }

    fn objects(&self) -> Vec<CloudObject> {
        let mut shown = self.volumes.shown();
        shown.retain(|it| it.body["state"] != "deleting");
        for it in &mut shown {
            let body = it.body.as_object_mut().unwrap();
            body.remove("state");
            body.remove("at");
        }
        shown
    }

    fn change(&mut self, change: &ForeignChange) -> Option<Changed> {
        let ForeignChange::AddMachine { .. } = change else { return None };
        self.instances += 1;
        Some(Changed { id: Some(format!("i-{:017x}", self.instances)) })
    }

    fn settings(&self) -> Vec<(&'static str, &'static str)> {
        vec![("region", "us-east-1"), ("vpc", "vpc-1"), ("clusterID", "prod")]
    }

    fn busy(&self, _: &Request) -> Response {
        refusal("IncorrectState")
    }

    fn writes(&self, request: &Request) -> bool {
        !action(request).starts_with("Describe")
    }
}

/// EC2 and a cluster that works on its volumes.
pub(super) struct Stage {
    pub(super) cloud: aerostat_sdk::testing::SharedCloud<FakeEc2>,
    pub(super) host: Host,
}

impl Stage {
    pub(super) fn of(ec2: FakeEc2) -> Self {
        let settings = ec2.settings();
        let cloud = SimulatedCloud::new(ec2).shared();
        let host = settings.into_iter().fold(Host::of(&cloud), |host, (name, value)| host.setting(name, value));
        Self { cloud, host }
    }

    /// One call at this moment.
    pub(super) fn run<T>(&self, of: impl FnOnce() -> T) -> T {
        let now = self.cloud.borrow().now();
        self.host.clone().at(now).run(of)
    }

    /// Lets time pass.
    pub(super) fn advance(&self, seconds: u64) {
        self.cloud.borrow_mut().advance(std::time::Duration::from_secs(seconds));
    }

    /// The actions of all requests that were sent.
    pub(super) fn actions(&self) -> Vec<String> {
        self.host.sent().iter().map(|it| action(it).to_owned()).collect()
    }

    /// The reasons of all events that were told.
    pub(super) fn told(&self) -> Vec<String> {
        self.host.events().into_iter().map(|it| it.reason).collect()
    }
}
