//! Load balancers, through wasm, gate and token: one request makes one, and each change afterwards waits for the one before.

use std::time::Duration;

use cloud_provider::{Deletion, Error, ExternalTrafficPolicy, Progress, Protocol};
use serde_json::json;
use tests::clouds::ibm::{Behaviour, Fault, OTHER_VPC, Options, Taking, VPC, VpcKind};
use tests::vendor::{IbmCloud, UID, Vendor as _};

use crate::setup::{Rig, Service, port, worker};

const BALANCERS: &str = "/v1/load_balancers";

/// Changes are seen once before they end.
fn slow() -> Options {
    Options::with(Behaviour { creation: Taking::Reads(2), change: Taking::Reads(1), ..Behaviour::default() })
}

/// The steps of a life, each with the requests that write in it.
struct Life<'a> {
    rig: &'a Rig,
    service: Service<'a>,
}

impl<'a> Life<'a> {
    async fn of(rig: &'a Rig) -> Self {
        let mut service = Service::new(rig);
        service.desired.nodes = vec![worker(1), worker(2)];
        let mut life = Self { rig, service };
        assert_eq!(life.settle().await, ["POST /load_balancers → 201"]);
        life
    }

    /// Steps until it is served. Answers the writes, with words in the place of ids.
    async fn settle(&mut self) -> Vec<String> {
        let begun = self.rig.cloud.requests().len();
        self.service.served_with().await;
        let writes = self.rig.writes_since(begun);
        let short = |write: &String| {
            let parts = write.split('/').map(|part| {
                let (id, rest) = part.split_once(' ').unwrap_or((part, ""));
                if id.starts_with("r006-") { format!("* {rest}").trim_end().to_owned() } else { part.to_owned() }
            });
            parts.collect::<Vec<_>>().join("/")
        };
        writes.iter().map(short).collect()
    }
}

/// Cases: ibm 14, ibm 15, ibm 16, ibm 17, ibm 18, ibm 19, ibm 20, ibm 21, ibm 22, ibm 29, ibm 34
#[tokio::test]
async fn ibm_014_a_life_is_one_write_for_each_change() {
    let rig = Rig::start(slow()).await;
    let mut life = Life::of(&rig).await;
    let members = "PUT /load_balancers/*/pools/*/members → 202";
    assert_eq!(life.settle().await, [""; 0]);

    life.service.desired.ports.push(port(Protocol::Tcp, 443));
    assert_eq!(life.settle().await, ["POST /load_balancers/*/pools → 201", "POST /load_balancers/*/listeners → 201"]);
    life.service.desired.nodes.push(worker(3));
    assert_eq!(life.settle().await, [members, members], "one a pool");
    life.service.desired.ports[0].node_port = Some(30_090);
    assert_eq!(life.settle().await, ["PATCH /load_balancers/*/pools/* → 200", members]);
    life.service.desired.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    assert_eq!(life.settle().await, ["PATCH /load_balancers/*/pools/* → 200"; 2]);
    life.service.set("enable-features", "proxy-protocol");
    assert_eq!(life.settle().await, ["PATCH /load_balancers/*/pools/* → 200"; 2]);
    life.service.desired.ports.remove(0);
    assert_eq!(
        life.settle().await,
        ["DELETE /load_balancers/*/listeners/* → 202", "DELETE /load_balancers/*/pools/* → 202"]
    );

    let pools = rig.cloud.account().all(VpcKind::Pool);
    assert_eq!((pools.len(), &pools[0]["proxy_protocol"]), (1, &json!("v1")));
    assert_eq!(pools[0]["health_monitor"]["url_path"], "/healthz");
    let conflicts = rig.cloud.requests().iter().filter(|it| it.status == Some(409)).count();
    assert_eq!(conflicts, 0, "nothing was asked of one that is at work");
    let begun = rig.cloud.requests().len();
    life.service.gone().await;
    assert_eq!(rig.writes_since(begun).len(), 1);
    rig.cloud.with(|world| world.advance(Duration::from_secs(1)));
}

/// Cases: ibm 15
#[tokio::test]
async fn ibm_015_one_that_is_being_made_is_read_alone() {
    let rig = Rig::start(Options::with(Behaviour { creation: Taking::Forever, ..Behaviour::default() })).await;
    let mut service = Service::new(&rig);
    for _ in 0..3 {
        service.pending().await;
    }
    let begun = rig.cloud.requests().len();
    let silent = service.step().await;
    assert!(matches!(&silent, Ok(Progress::Pending(_))), "the one event is the host's: {silent:?}");
    let asked = rig.asked_since(begun);
    assert_eq!((asked.len(), asked[0].starts_with("GET /load_balancers/r006-")), (1, true), "{asked:?}");
}

/// Cases: ibm 22
#[tokio::test]
async fn ibm_022_a_check_by_tcp_comes_back_once() {
    let rig = Rig::instant().await;
    let mut life = Life::of(&rig).await;
    for policy in [ExternalTrafficPolicy::Local(31_000), ExternalTrafficPolicy::Cluster] {
        life.service.desired.external_traffic_policy = policy;
        assert_eq!(life.settle().await, ["PATCH /load_balancers/*/pools/* → 200"]);
        assert_eq!(life.settle().await, [""; 0]);
    }
    let pools = rig.cloud.account().all(VpcKind::Pool);
    assert_eq!(pools[0]["health_monitor"]["type"], "tcp");
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn ibm_015_states_that_pass_by_themselves_are_waited_for() {
    let rig = Rig::instant().await;
    let mut life = Life::of(&rig).await;
    let id = rig.only();
    let becomes = |status: &str| {
        rig.cloud.with(|world| {
            world.get_mut(VpcKind::LoadBalancer, &id).unwrap()["provisioning_status"] = json!(status);
        });
    };
    life.service.desired.nodes.push(worker(3));
    for status in ["update_pending", "maintenance_pending", "migrate_pending"] {
        becomes(status);
        let begun = rig.cloud.requests().len();
        life.service.pending().await;
        assert_eq!(rig.asked_since(begun), [format!("GET /load_balancers/{id} → 200")], "{status}");
    }
    becomes("active");
    assert_eq!(life.settle().await, ["PUT /load_balancers/*/pools/*/members → 202"]);
    rig.cloud.assert_valid();
}

/// Cases: ibm 20
#[tokio::test]
async fn ibm_029_a_pool_that_is_made_later_has_the_proxy_protocol() {
    let rig = Rig::instant().await;
    let mut life = Life::of(&rig).await;
    let words = || -> Vec<String> {
        let pools = rig.cloud.account().all(VpcKind::Pool);
        pools.iter().map(|it| it["proxy_protocol"].as_str().unwrap().to_owned()).collect()
    };
    life.service.set("enable-features", "proxy-protocol");
    life.settle().await;
    life.service.desired.ports.push(port(Protocol::Tcp, 443));
    assert_eq!(life.settle().await, ["POST /load_balancers/*/pools → 201", "POST /load_balancers/*/listeners → 201"]);
    assert_eq!(words(), ["v1", "v1"], "the vendor's manager forgets it");
    life.service.remove("enable-features");
    assert_eq!(life.settle().await, ["PATCH /load_balancers/*/pools/* → 200"; 2]);
    assert_eq!(words(), ["disabled", "disabled"]);
    rig.cloud.assert_valid();
}

/// Cases: ibm 32, ibm 35
#[tokio::test]
async fn ibm_032_a_conflict_is_waited_out_without_a_warning() {
    let rig = Rig::instant().await;
    let mut life = Life::of(&rig).await;
    rig.cloud.inject(IbmCloud::busy("PUT", "/v1/load_balancers/*/pools/*/members").times(2));
    life.service.desired.nodes.push(worker(3));
    let members = "PUT /load_balancers/*/pools/*/members → ";
    let busy = format!("{members}409");
    assert_eq!(life.settle().await, [busy.clone(), busy, format!("{members}202")]);
    rig.cloud.inject(IbmCloud::busy("DELETE", "/v1/load_balancers/*").times(1));
    assert!(matches!(life.service.delete().await, Ok(Deletion::Pending(_))));
    life.service.gone().await;
    assert!(IbmCloud::built(rig.cloud.account()).is_empty());
}

/// Cases: ibm 32
#[tokio::test]
async fn ibm_032_a_conflict_at_a_creation_is_waited_out_too() {
    let rig = Rig::instant().await;
    rig.cloud.inject(IbmCloud::busy("POST", BALANCERS).times(2));
    let mut service = Service::new(&rig);
    let begun = rig.cloud.requests().len();
    service.served().await;
    let writes = rig.writes_since(begun);
    assert_eq!(writes, [409, 409, 201].map(|it| format!("POST /load_balancers → {it}")));
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn fields_that_somebody_changed_in_the_cloud_are_set_back() {
    let rig = Rig::instant().await;
    let mut life = Life::of(&rig).await;
    life.service.desired.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    life.settle().await;
    let all = || [VpcKind::Pool, VpcKind::Listener].map(|it| rig.cloud.account().all(it).remove(0));
    let change = |kind: VpcKind, pointer: &str, value: serde_json::Value| {
        let id = rig.cloud.account().all(kind)[0]["id"].as_str().unwrap().to_owned();
        rig.cloud.with(|world| *world.get_mut(kind, &id).unwrap().pointer_mut(pointer).unwrap() = value);
    };
    let [mut pool, listener] = all();
    for (kind, pointer, value) in [
        (VpcKind::Pool, "/algorithm", json!("least_connections")),
        (VpcKind::Pool, "/proxy_protocol", json!("v2")),
        (VpcKind::Pool, "/health_monitor/url_path", json!("/ready")),
        (VpcKind::Pool, "/health_monitor/delay", json!(20)),
        (VpcKind::Listener, "/connection_limit", json!(10)),
    ] {
        change(kind, pointer, value);
        assert_eq!(life.settle().await.len(), 1, "{pointer}");
        let [mut changed, same] = all();
        // Each write is a revision.
        pool["_revision"].take();
        changed["_revision"].take();
        assert_eq!((&changed, &same), (&pool, &listener), "{pointer}");
    }
    rig.cloud.assert_valid();
}

/// Cases: ibm 33
#[tokio::test]
async fn ibm_033_one_that_has_failed_stays() {
    let rig = Rig::start(Options::with(Behaviour { creations_fail: true, ..Behaviour::instant() })).await;
    let mut service = Service::new(&rig);
    let why = service.refused().await;
    let id = rig.only();
    assert!(matches!(&why, Error::Unavailable(why) if why.contains("has failed") && why.contains(&id)), "{why:?}");
    assert_eq!(rig.cloud.requests_to("DELETE", "/**").len(), 0);
}

/// Cases: ibm 36, theft-by-name
#[tokio::test]
async fn ibm_036_a_chosen_name_takes_nothing_over() {
    let rig = Rig::instant().await;
    let foreign = rig.cloud.with(|world| [world.add_foreign(VPC, "shared"), world.add_foreign(OTHER_VPC, "elsewhere")]);
    let before = rig.cloud.account().all(VpcKind::LoadBalancer);
    let mut thief = Service::new(&rig).with("vpc-lb-name", "shared");
    let why = thief.invalid().await;
    assert!(why.contains(&foreign[0]) && why.contains("not this Service's"), "{why}");
    thief.gone().await;
    assert_eq!(rig.cloud.account().all(VpcKind::LoadBalancer), before);
    // A name is that of one VPC alone.
    let mut other = Service::new(&rig).with("vpc-lb-name", "elsewhere");
    other.served().await;
    let made = rig.body("POST", BALANCERS);
    let there = rig.cloud.account().all(VpcKind::LoadBalancer);
    let renamed = rig.body("PATCH", &format!("{BALANCERS}/*"));
    assert_eq!((&made["name"], &renamed), (&json!(IbmCloud::default_name(UID)), &json!({ "name": "elsewhere" })));
    assert_eq!(there.len(), 3);
    assert!(before.iter().all(|it| there.contains(it)), "{there:#?}");
    other.gone().await;
    assert_eq!(rig.cloud.account().all(VpcKind::LoadBalancer), before, "the one of the other VPC stays");
}

/// Cases: ibm 38
#[tokio::test]
async fn ibm_038_a_used_up_quota_is_told_with_the_clouds_words() {
    let rig = Rig::instant().await;
    IbmCloud::limit(rig.cloud.account(), 0);
    let mut service = Service::new(&rig);
    let why = service.refused().await.to_string();
    let part = "The quota of 0 for load balancers is used up";
    assert!(why.contains(part) && why.contains(", see https://cloud.ibm.com/docs/vpc"), "{why}");
}

/// Cases: lost-answer
#[tokio::test]
async fn ibm_014_a_creation_whose_answer_was_lost_is_found_again() {
    let rig = Rig::instant().await;
    rig.cloud.inject(Fault::nothing("POST", BALANCERS).times(1));
    let mut service = Service::new(&rig);
    for _ in 0..40 {
        if let Ok(Progress::Ready(_)) = service.ask().await.answer {
            break;
        }
    }
    assert_eq!(rig.only(), service.desired.memo.clone().unwrap());
    assert_eq!(IbmCloud::built(rig.cloud.account())[0].name, IbmCloud::default_name(UID));
}

#[tokio::test]
async fn a_load_balancer_has_the_security_groups_that_are_named() {
    let rig = Rig::with_settings(Options::instant(), &[("allowedSecurityGroups", "*")]).await;
    let groups = rig.cloud.with(|world| {
        [(VPC, "clients"), (OTHER_VPC, "others")]
            .map(|(vpc, name)| world.insert(VpcKind::SecurityGroup, json!({ "name": name, "vpc": vpc })))
    });
    let mut service = Service::new(&rig);
    service.set("vpc-security-group", "others");
    let why = service.invalid().await;
    assert!(why.contains("\"others\" is no id or name of a security group of this VPC"), "{why}");
    assert!(IbmCloud::built(rig.cloud.account()).is_empty());
    service.set("vpc-security-group", &format!("{},clients,group", groups[0]));
    service.served_with().await;
    let balancers = rig.cloud.account().all(VpcKind::LoadBalancer);
    assert_eq!(balancers[0]["groups"], json!([groups[0], format!("{VPC}-sg")]));
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn security_groups_that_nobody_allowed_are_not_attached() {
    let rig = Rig::instant().await;
    let mut service = Service::new(&rig).with("vpc-security-group", "group");
    let begun = rig.cloud.requests().len();
    let why = service.invalid().await;
    assert!(why.contains("\"group\" is not for authors of Services to name"), "{why}");
    assert!(rig.asked_since(begun).is_empty(), "{:?}", rig.asked_since(begun));
}

/// Cases: ibm 37
#[tokio::test]
async fn ibm_037_the_list_tells_names_and_proves_nothing() {
    let rig = Rig::instant().await;
    Life::of(&rig).await;
    rig.cloud.with(|world| world.add_foreign(OTHER_VPC, &IbmCloud::default_name("of-nobody")));
    let page = rig.inventory().list(None, 100).await.answer.unwrap();
    let [item] = &page.items[..] else { panic!("{page:?}") };
    assert_eq!(item.owner.uid.as_deref(), Some(UID));
    assert_eq!(item.proof, cloud_provider::Proof::ByName);
}
