//! A cloud in memory, which shows what an action has changed only when it has ended.

use aerostat_sdk::testing::protocol::{Changed, CloudObject, ForeignChange};
use aerostat_sdk::testing::{self, Body, FakeCloud, FakeMoment, FakeObjects, Host, Request, SimulatedCloud, reply};
use aerostat_sdk::{Cluster, Provider, cluster};
use serde_json::{Value, json};

use super::*;

const CLUSTER: &str = "c1a5e000-1111-2222-3333-444455556666";
const UID: &str = "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11";
const SECONDS: u64 = 3;

struct Running {
    volume: String,
    command: &'static str,
    server: Option<u64>,
    ends: u64,
    change: Value,
    fails: bool,
}

/// The volumes of a project, one of which is another's.
struct FakeProject {
    volumes: FakeObjects,
    actions: Vec<Running>,
    servers: u64,
    most: usize,
}

impl Default for FakeProject {
    fn default() -> Self {
        let volumes = FakeObjects::new("volume", "471");
        let project = Self { volumes, actions: Vec::new(), servers: 0, most: 16 };
        project.with("pvc-other", json!({}))
    }
}

impl FakeProject {
    /// The same with one that differs so from the usual one.
    fn with(mut self, name: &str, differs: Value) -> Self {
        let mut volume = json!({ "labels": {}, "size": 10, "server": null, "location": "fsn1", "status": AVAILABLE, "protected": false });
        for (key, value) in differs.as_object().unwrap() {
            volume[key] = value.clone();
        }
        self.volumes.make(name, volume, FakeMoment::default());
        self
    }

    fn with_action(mut self, id: &str, command: &'static str, server: Option<u64>, fails: bool, ends: u64) -> Self {
        self.actions.push(Running { volume: id.to_owned(), command, server, ends, change: json!({}), fails });
        self
    }

    /// Ends what has had its time.
    fn settle(&mut self, now: u64) {
        for action in self.actions.iter_mut().filter(|it| it.ends <= now) {
            let change = std::mem::replace(&mut action.change, json!({}));
            let Some(volume) = self.volumes.get_mut(&action.volume).filter(|_| !action.fails) else { continue };
            for (key, value) in change.as_object().unwrap() {
                volume.body[key] = value.clone();
            }
        }
    }

    fn shown(&self, id: &str) -> Value {
        let volume = self.volumes.get(id).unwrap();
        let mut shown = volume.body.clone();
        (shown["id"], shown["name"]) = (json!(id.parse::<u64>().unwrap()), json!(volume.name));
        shown["location"] = json!({ "name": volume.body["location"] });
        shown["linux_device"] = json!(format!("/dev/disk/by-id/scsi-0HC_Volume_{id}"));
        shown
    }

    fn shown_action(&self, at: usize, now: u64) -> Value {
        let action = &self.actions[at];
        let status = match (action.ends > now, action.fails) {
            (true, _) => "running",
            (_, true) => "error",
            _ => "success",
        };
        let error = (status == "error").then(|| json!({ "code": "action_failed", "message": "Action failed" }));
        let server = action.server.map(|id| json!({ "id": id, "type": "server" }));
        let resources = Vec::from_iter(server.into_iter().chain([json!({ "id": 1, "type": "volume" })]));
        json!({ "id": at, "command": action.command, "status": status, "error": error, "resources": resources })
    }

    fn begin(&mut self, id: &str, command: &'static str, server: Option<u64>, change: Value, now: u64) -> Value {
        let (volume, ends) = (id.to_owned(), now + SECONDS);
        self.actions.push(Running { volume, command, server, ends, change, fails: false });
        self.shown_action(self.actions.len() - 1, now)
    }

    fn act(&mut self, id: &str, command: &str, body: &Value, now: u64) -> testing::Response {
        if self.actions.iter().any(|it| it.ends > now) {
            return refusal(423, "locked");
        }
        let has_server = |it: &Value| !it["server"].is_null();
        let is_attached = has_server(&self.volumes.get(id).unwrap().body);
        let (command, server, change) = match command {
            "attach" if is_attached => return refusal(422, "volume_already_attached"),
            "attach" if self.volumes.all().filter(|(_, it)| has_server(&it.body)).count() >= self.most => {
                return refusal(422, "limit_exceeded_error");
            }
            "attach" => ("attach_volume", body["server"].as_u64(), json!({ "server": body["server"] })),
            "detach" if !is_attached => return refusal(422, "invalid_input"),
            "detach" => {
                ("detach_volume", self.volumes.get(id).unwrap().body["server"].as_u64(), json!({ "server": null }))
            }
            _ => ("resize_volume", None, json!({ "size": body["size"] })),
        };
        reply(201, json!({ "action": self.begin(id, command, server, change, now) }))
    }
}

fn refusal(status: u16, code: &str) -> testing::Response {
    reply(status, json!({ "error": { "code": code, "message": "no" } }))
}

fn page(field: &str, all: Vec<Value>) -> testing::Response {
    reply(200, json!({ field: all, "meta": { "pagination": { "next_page": null } } }))
}

impl FakeCloud for FakeProject {
    fn answer(&mut self, request: &Request, moment: FakeMoment) -> testing::Response {
        self.settle(moment.now);
        let path: Vec<_> = request.path.iter().map(String::as_str).collect();
        let body: Value = match &request.body {
            Some(Body::Bytes(bytes)) => serde_json::from_slice(bytes).unwrap(),
            _ => Value::Null,
        };
        match (request.method, &path[..]) {
            (Method::Get, ["volumes"]) => {
                let name = request.query.iter().find(|(key, _)| key == "name").map(|(_, it)| it);
                let all = self.volumes.listed(moment).filter(|(_, it)| name.is_none_or(|name| it.name == *name));
                page("volumes", all.map(|(id, _)| self.shown(id)).collect())
            }
            (Method::Post, ["volumes"]) => {
                let name = body["name"].as_str().unwrap().to_owned();
                if self.volumes.all().any(|(_, it)| it.name == name) {
                    return refusal(409, "uniqueness_error");
                }
                let mut volume = body;
                (volume["server"], volume["status"], volume["protected"]) =
                    (Value::Null, json!("creating"), json!(false));
                volume.as_object_mut().unwrap().remove("name");
                let id = self.volumes.make(name, volume, moment);
                let action = self.begin(&id, CREATION, None, json!({ "status": AVAILABLE }), moment.now);
                reply(201, json!({ "volume": self.shown(&id), "action": action, "next_actions": [] }))
            }
            (_, ["volumes", id, ..]) if self.volumes.get(id).is_none() => refusal(404, "not_found"),
            (Method::Get, ["volumes", id]) => reply(200, json!({ "volume": self.shown(id) })),
            (Method::Delete, ["volumes", id]) => {
                let volume = &self.volumes.get(id).unwrap().body;
                assert!(volume["server"].is_null(), "it is attached");
                if volume["protected"] == true {
                    return refusal(403, "protected");
                }
                self.volumes.remove(id);
                reply(204, "")
            }
            (Method::Get, ["volumes", id, "actions"]) => {
                let all = (0..self.actions.len()).rev().filter(|at| self.actions[*at].volume == *id);
                page("actions", all.map(|at| self.shown_action(at, moment.now)).collect())
            }
            (Method::Post, ["volumes", id, "actions", command]) => self.act(id, command, &body, moment.now),
            other => panic!("{other:?}"),
        }
    }

    fn objects(&self) -> Vec<CloudObject> {
        self.volumes.shown()
    }

    fn change(&mut self, change: &ForeignChange) -> Option<Changed> {
        let ForeignChange::AddMachine { .. } = change else { return None };
        self.servers += 1;
        Some(Changed { id: Some(self.servers.to_string()) })
    }

    fn settings(&self) -> Vec<(&'static str, &'static str)> {
        vec![("volumes", "true")]
    }

    fn busy(&self, _: &Request) -> testing::Response {
        refusal(423, "locked")
    }
}

fn desired() -> DesiredVolume {
    DesiredVolume::of("default", "data", UID, 10 * GIB).with_place(SEGMENT, "fsn1")
}

fn marked(cluster: &str, uid: &str) -> Value {
    json!({ "labels": { "aerostat.dev/cluster-uid": cluster, "aerostat.dev/claim-uid": uid } })
}

fn mode() -> AttachMode {
    AttachMode { read_only: false, block: false, access_modes: desired().access_modes }
}

/// The volume that was added after the usual one.
const SECOND: &str = "4712";

fn second() -> KnownVolume {
    KnownVolume::of(SECOND)
}

/// One call before this cloud: its answer, the requests, and the events' reasons.
fn call<T>(project: FakeProject, of: impl FnOnce() -> T) -> (T, Vec<String>, Vec<String>) {
    let cloud = SimulatedCloud::new(project).shared();
    let host = Host::of(&cloud).setting("volumes", "true").cluster(Cluster::of("kubernetes", CLUSTER));
    let answer = host.run(of);
    (answer, host.requests(), host.events().into_iter().map(|it| it.reason).collect())
}

#[test]
fn volumes_of_claims_survive_each_request_that_goes_wrong() {
    assert_eq!(testing::converge_volumes::<Hetzner, _>(FakeProject::default, &desired()), [""; 0]);
}

#[test]
fn volumes_are_made_as_the_vendor_makes_them_and_marked() {
    let cloud = SimulatedCloud::new(FakeProject::default()).shared();
    let host = Host::of(&cloud).setting("volumes", "true");
    let classy = desired().with_parameter("labels", "team=blue").with_parameter(FORMAT_OPTIONS, "-i 8192");
    let (begun, uid) = host.run(|| (Hetzner::create(&classy.clone().first_create()), cluster().unwrap().uid));
    let Ok(VolumeCreation::Pending(pending)) = begun else { panic!("{begun:?}") };
    let body: Value = serde_json::from_str(host.bodies().last().unwrap()).unwrap();
    let labels = json!({
        "managed-by": "csi-driver", "pvc-name": "data", "pvc-namespace": "default", "pv-name": desired().name,
        "aerostat.dev/cluster-uid": uid, "aerostat.dev/claim-uid": UID, "team": "blue",
    });
    assert_eq!(body, json!({ "name": desired().name, "location": "fsn1", "size": 10, "labels": labels }));
    cloud.borrow_mut().cloud().settle(u64::MAX);
    cloud.borrow_mut().cloud().actions.iter_mut().for_each(|it| it.ends = 0);
    let again = DesiredVolume { memo: pending.memo, ..classy };
    let made = host.run(|| Hetzner::create(&again));
    let Ok(VolumeCreation::Ready(volume)) = made else { panic!("{made:?}") };
    assert_eq!((volume.name.as_str(), volume.bytes), (desired().name.as_str(), 10 * GIB));
    assert_eq!((volume.owner.cluster_uid.as_ref(), volume.owner.uid.as_deref()), (Some(&uid), Some(UID)));
    assert_eq!(volume.attributes, [(FORMAT_OPTIONS.to_owned(), "-i 8192".to_owned())]);
    assert_eq!(volume.accessible_topologies, desired().accessible_topologies);
}

#[test]
fn volumes_without_a_location_are_refused() {
    let anywhere = DesiredVolume { accessible_topologies: Vec::new(), ..desired() }.first_create();
    let (nowhere, requests, _) = call(FakeProject::default(), || Hetzner::create(&anywhere));
    assert!(matches!(&nowhere, Err(Error::Invalid(why)) if why.contains("in which location")), "{nowhere:?}");
    assert!(requests.iter().all(|it| it.starts_with("GET ")), "{requests:?}");
}

/// Cases: csi 28
#[test]
fn volumes_with_the_vendors_labels_alone_are_taken_over() {
    let name = desired().name;
    let create = |differs: Value| call(FakeProject::default().with(&name, differs), || Hetzner::create(&desired()));
    let vendors = json!({ "managed-by": "csi-driver", "pv-name": name });
    let (found, requests, _) = create(json!({ "labels": vendors }));
    assert!(matches!(found, Ok(VolumeCreation::Ready(_))) && requests.len() == 1, "{requests:?}");
    for other in [
        json!({ "labels": { "managed-by": "csi-driver" } }),
        json!({ "labels": { "managed-by": "me", "pv-name": name } }),
        marked("another-cluster", UID),
        marked(CLUSTER, "another-claim"),
    ] {
        let (refused, requests, _) = create(other.clone());
        let is_refused = matches!(&refused, Err(Error::Invalid(why)) if why.contains("it is not touched"));
        assert!(is_refused && requests.len() == 1, "{other}: {refused:?} {requests:?}");
        let (left, requests, _) = call(FakeProject::default().with(&name, other), || Hetzner::abandon(&desired()));
        assert!(left.is_ok() && requests.iter().all(|it| it.starts_with("GET ")), "{left:?} {requests:?}");
    }
}

/// Cases: csi 39, csi 44, bad-volume
#[test]
fn volumes_of_others_in_use_or_protected_are_not_deleted() {
    let delete = |differs: Value| {
        call(FakeProject::default().with("pvc-1", differs), || <Hetzner as Volumes>::delete(&second()))
    };
    let (foreign, requests, _) = delete(marked("another-cluster", UID));
    assert!(matches!(foreign, Err(Error::Denied(_))), "{foreign:?}");
    assert!(requests.iter().all(|it| it.starts_with("GET ")), "{requests:?}");
    let (used, requests, _) = delete(json!({ "server": 42 }));
    assert_eq!(used, Ok(VolumeDeletion::InUse(vec!["42".to_owned()])), "nothing is detached for it");
    assert!(requests.iter().all(|it| it.starts_with("GET ")), "{requests:?}");
    let (protected, ..) = delete(json!({ "protected": true }));
    assert!(protected.is_err(), "{protected:?}");
    for own in [marked(CLUSTER, UID), json!({ "labels": { "managed-by": "csi-driver" } })] {
        let (gone, requests, _) = delete(own);
        assert_eq!(gone, Ok(VolumeDeletion::Done));
        assert_eq!(requests.last().unwrap(), &format!("DELETE hcloud /volumes/{SECOND}"));
    }
}

#[test]
fn volumes_are_gone_when_three_reads_say_so() {
    let gone = KnownVolume::of("4719");
    let (answer, requests, _) = call(FakeProject::default(), || <Hetzner as Volumes>::delete(&gone));
    assert_eq!((answer, requests.len()), (Ok(VolumeDeletion::Done), 3), "{requests:?}");
    // The project lists a volume, and knows it or its actions or neither.
    let seen = |is_listed: bool, has_actions: bool| {
        let host = Host::new().setting("volumes", "true").answers(move |request| {
            let path: Vec<_> = request.path.iter().map(String::as_str).collect();
            Ok(match &path[..] {
                ["volumes"] if is_listed => page("volumes", vec![json!({ "id": 4719 })]),
                ["volumes"] => page("volumes", Vec::new()),
                [.., "actions"] if has_actions => page("actions", Vec::new()),
                _ => refusal(404, "not_found"),
            })
        });
        (host.run(|| <Hetzner as Volumes>::get(&gone.handle)), host.requests().len())
    };
    assert_eq!((seen(false, false), seen(false, true)), ((Ok(None), 3), (Ok(None), 4)), "it is asked for again");
    // A server that is late answers each time, and another one lists it.
    for (has_actions, expected) in [(false, 3), (true, 4)] {
        let (late, requests) = seen(true, has_actions);
        assert!(matches!(&late, Err(Error::Unavailable(why)) if why.contains("lists volume")), "{late:?}");
        assert_eq!(requests, expected);
    }
}

#[test]
fn a_creation_that_failed_is_taken_away_and_made_again() {
    let name = desired().name;
    let labels = json!({ "managed-by": "csi-driver", "pv-name": name });
    let failed = FakeProject::default()
        .with(&name, json!({ "labels": labels, "status": "creating" }))
        .with_action(SECOND, CREATION, None, true, 0);
    let memo = Some(format!("made {SECOND} since 1"));
    let (left, requests, told) = call(failed, || Hetzner::create(&DesiredVolume { memo, ..desired() }));
    assert!(matches!(left, Ok(VolumeCreation::Pending(_))), "{left:?}");
    assert_eq!(requests.last().unwrap(), &format!("DELETE hcloud /volumes/{SECOND}"));
    assert_eq!(told, ["ProvisioningFailed"]);
}

#[test]
fn a_location_without_room_is_no_quota() {
    let create = |status: u16, code: &'static str| {
        let host = Host::new().setting("volumes", "true").answers(move |request| match request.method {
            Method::Get => Ok(page("volumes", Vec::new())),
            _ => Ok(refusal(status, code)),
        });
        host.run(|| Hetzner::create(&desired().first_create()))
    };
    assert!(matches!(create(412, "no_space_left_in_location"), Ok(VolumeCreation::NoRoom(_))));
    let quota = create(403, "resource_limit_exceeded");
    assert!(matches!(&quota, Err(error) if error.is_quota()), "{quota:?}");
}

/// Cases: csi 50
#[test]
fn actions_that_run_keep_a_volume_at_its_servers() {
    let to = |server: u64| {
        let project = FakeProject::default().with("pvc-1", json!({}));
        project.with_action(SECOND, "attach_volume", Some(server), false, 2_000_000_000)
    };
    let (here, requests, _) = call(to(42), || Hetzner::attach(&second(), "42", &mode()));
    assert!(matches!(here, Ok(VolumeAttachment::Pending(_))), "{here:?}");
    assert_eq!(requests, ["GET hcloud /volumes/4712/actions?sort=id:desc", "GET hcloud /volumes/4712"]);
    let (elsewhere, ..) = call(to(7), || Hetzner::attach(&second(), "42", &mode()));
    assert_eq!(elsewhere, Ok(VolumeAttachment::Occupied("7".to_owned())));
    let (left, ..) = call(to(42), || Hetzner::detach(&second(), "42"));
    assert!(matches!(left, Ok(VolumeDetachment::Pending(_))), "it comes to 42 all the same: {left:?}");
    let (kept, ..) = call(to(42), || <Hetzner as Volumes>::delete(&second()));
    assert_eq!(kept, Ok(VolumeDeletion::InUse(vec!["42".to_owned()])));
}

/// Cases: csi 50
#[test]
fn actions_are_read_before_their_volume() {
    // The attachment ends before, between or after the two reads.
    for seconds in 0..5 {
        let cloud = SimulatedCloud::new(FakeProject::default().with("pvc-1", json!({}))).shared();
        let (change, ends) = (json!({ "server": 7 }), cloud.borrow().now() + seconds);
        let (volume, command) = (SECOND.to_owned(), "attach_volume");
        let attachment = Running { volume, command, server: Some(7), ends, change, fails: false };
        cloud.borrow_mut().cloud().actions.push(attachment);
        let host = Host::of(&cloud).setting("volumes", "true");
        let left = host.run(|| Hetzner::detach(&second(), "7")).unwrap();
        assert!(matches!(left, VolumeDetachment::Pending(_)), "it is at 7 within {seconds} s, and must be detached");
    }
}

/// Cases: csi 58, csi 59
#[test]
fn servers_that_are_full_or_at_work_are_no_errors() {
    let attach = |project: FakeProject| call(project, || Hetzner::attach(&second(), "42", &mode()));
    let full = FakeProject { most: 0, ..FakeProject::default().with("pvc-1", json!({})) };
    assert!(matches!(attach(full).0, Ok(VolumeAttachment::Full(why)) if why.contains("422")));
    let busy = FakeProject::default().with("pvc-1", json!({}));
    let busy = busy.with_action("4711", "attach_volume", Some(42), false, 2_000_000_000);
    let (pending, requests, _) = attach(busy);
    assert!(matches!(&pending, Ok(VolumeAttachment::Pending(it)) if it.wait.reason.contains("423")), "{pending:?}");
    assert_eq!(requests.len(), 3, "{requests:?}");
    let here = FakeProject::default().with("pvc-1", json!({ "server": 42 }));
    let context = vec![(DEVICE.to_owned(), format!("/dev/disk/by-id/scsi-0HC_Volume_{SECOND}"))];
    assert_eq!(attach(here).0, Ok(VolumeAttachment::Ready(context)));
}

/// The request that detaches names no server: it leaves only where the volume is at this one.
///
/// Cases: csi 57
#[test]
fn a_volume_at_another_server_is_neither_moved_nor_detached() {
    let elsewhere = || FakeProject::default().with("pvc-1", json!({ "server": 7 }));
    let (occupied, ..) = call(elsewhere(), || Hetzner::attach(&second(), "42", &mode()));
    assert_eq!(occupied, Ok(VolumeAttachment::Occupied("7".to_owned())));
    let (left, requests, _) = call(elsewhere(), || Hetzner::detach(&second(), "42"));
    assert_eq!(left, Ok(VolumeDetachment::Done));
    assert!(requests.iter().all(|it| it.starts_with("GET ")), "{requests:?}");
}

#[test]
fn actions_that_failed_are_told_and_begun_again() {
    let failed = FakeProject::default().with("pvc-1", json!({}));
    let failed = failed.with_action(SECOND, "attach_volume", Some(42), true, 0);
    let (again, requests, told) = call(failed, || Hetzner::attach(&second(), "42", &mode()));
    assert!(matches!(&again, Err(Error::Unavailable(why)) if why.starts_with("volume pvc-1: ")), "{again:?}");
    assert_eq!((requests.len(), told.len()), (3, 0), "the host tells it by the error");
}

/// Cases: csi 40, bad-volume
#[test]
fn ids_of_another_form_are_refused() {
    for node in ["web-1", "042", "-1", ""] {
        let project = FakeProject::default().with("pvc-1", json!({}));
        let (refused, requests, _) = call(project, || Hetzner::attach(&second(), node, &mode()));
        assert!(matches!(refused, Err(Error::Invalid(_))) && requests.len() == 2, "{node}: {requests:?}");
    }
    for handle in ["pvc-1", "../servers", "04712", "+4712", ""] {
        let (refused, requests, _) = call(FakeProject::default(), || Hetzner::detach(&KnownVolume::of(handle), "42"));
        assert!(matches!(refused, Err(Error::Invalid(_))) && requests.is_empty(), "{handle}: {requests:?}");
    }
}

#[test]
fn volumes_of_the_project_are_listed_with_their_marks() {
    let project = FakeProject::default().with("pvc-1", marked(CLUSTER, UID));
    let (listed, requests, _) = call(project, || <Hetzner as Volumes>::list(None, 500).unwrap());
    assert_eq!(requests, ["GET hcloud /volumes?sort=id:asc&page=1&per_page=50"]);
    let owners: Vec<_> = listed.volumes.iter().map(|it| it.owner.uid.as_deref()).collect();
    assert_eq!((owners, listed.next), (vec![None, Some(UID)], None));
}

#[test]
fn volumes_that_are_not_switched_on_are_not_touched() {
    let host = Host::new();
    let refused = [
        host.run(|| Hetzner::create(&desired()).map(drop)),
        host.run(|| Hetzner::abandon(&desired()).map(drop)),
        host.run(|| <Hetzner as Volumes>::delete(&second()).map(drop)),
        host.run(|| Hetzner::attach(&second(), "42", &mode()).map(drop)),
        host.run(|| Hetzner::detach(&second(), "42").map(drop)),
        host.run(|| Hetzner::expand(&second(), GIB).map(drop)),
        host.run(|| <Hetzner as Volumes>::get(&second().handle).map(drop)),
        host.run(|| <Hetzner as Volumes>::list(None, 1).map(drop)),
    ];
    assert!(refused.iter().all(|it| matches!(it, Err(Error::Invalid(why)) if why.contains("set volumes: \"true\""))));
    assert!(host.requests().is_empty());
    let rules = |host: Host| host.run(<Hetzner as Provider>::describe).unwrap().endpoints[0].allow.len();
    assert_eq!(rules(Host::new().setting("volumes", "true")), rules(Host::new()) + 6);
}
