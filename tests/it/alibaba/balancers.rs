//! Load balancers of both kinds, through wasm, gate and signature.

use cloud_provider::{Error, ExternalTrafficPolicy, Protocol};
use serde_json::json;
use tests::clouds::alibaba::Options;
use tests::vendor::{AlibabaCloud, Service, Vendor as _, port};

use crate::life::{Life, slow};
use crate::setup::Rig;

/// Cases: alibaba 14, alibaba 15, alibaba 24, alibaba 25
#[tokio::test]
async fn alibaba_014_a_classic_one_lives_by_single_changes() {
    let rig = Rig::start(slow()).await;
    let mut life = Life::new(&rig);
    let new_port = ["CreateVServerGroup", "CreateLoadBalancerTCPListener", "StartLoadBalancerListener"];
    assert_eq!(life.settle().await, [&["CreateLoadBalancer"][..], &new_port].concat());
    assert_eq!(life.settle().await, [""; 0]);
    life.service.desired.ports.push(port(Protocol::Tcp, 443));
    assert_eq!(life.settle().await, new_port);
    life.service.desired.nodes.push(AlibabaCloud::worker(3));
    assert_eq!(life.settle().await, ["AddVServerGroupBackendServers"; 2], "one a group");
    life.service.desired.nodes.remove(0);
    assert_eq!(life.settle().await, ["RemoveVServerGroupBackendServers"; 2]);
    life.service.desired.external_traffic_policy = ExternalTrafficPolicy::Local(31_000);
    assert_eq!(life.settle().await, ["SetLoadBalancerTCPListenerAttribute"; 2]);
    rig.cloud.with(|world| {
        let all: Vec<_> = world.listeners.all().map(|(_, it)| it).collect();
        let is_checked = |listener: &&serde_json::Value| {
            (&listener["HealthCheckType"], &listener["HealthCheckConnectPort"], &listener["HealthCheckURI"])
                == (&json!("http"), &json!("31000"), &json!("/healthz"))
        };
        assert_eq!((all.len(), all.iter().filter(|it| is_checked(it)).count()), (2, 2), "{all:#?}");
    });
    life.service.desired.ports.remove(0);
    assert_eq!(life.settle().await, ["DeleteLoadBalancerListener", "DeleteVServerGroup"]);
    let begun = rig.cloud.requests().len();
    life.service.gone().await;
    let done = ["slb/SetLoadBalancerDeleteProtection → 200", "slb/DeleteLoadBalancer → 200"];
    assert_eq!(rig.writes_since(begun).into_iter().filter(|it| it.ends_with("200")).collect::<Vec<_>>(), done);
    assert_eq!(AlibabaCloud::built(rig.cloud.account()), []);
    rig.cloud.assert_valid();
}

#[tokio::test]
async fn alibaba_014_new_classic_ones_take_few_calls() {
    // A cloud that takes no second change while it carries out a first one refuses one, and is looked at before each of the others.
    let few: [(Options, u16, usize, usize); 4] =
        [(Options::instant(), 1, 6, 0), (Options::instant(), 3, 12, 0), (slow(), 1, 10, 1), (slow(), 3, 24, 1)];
    for (options, ports, calls, refused) in few {
        let rig = Rig::start(options).await;
        let mut life = Life::new(&rig);
        life.service.desired.ports = (80..80 + ports).map(|it| port(Protocol::Tcp, it)).collect();
        life.settle().await;
        let asked = rig.asked_since(0).into_iter().filter(|it| it.starts_with("slb/")).collect::<Vec<_>>();
        let early = asked.iter().filter(|it| !it.ends_with("200")).count();
        assert_eq!((asked.len(), early), (calls, refused), "{ports} ports: {asked:?}");
        let built = AlibabaCloud::built(rig.cloud.account());
        assert!(built[0].serves && built[0].ports.len() == usize::from(ports), "{built:?}");
        assert_eq!(built[0].machines, [1, 2]);
        rig.cloud.assert_valid();
    }
}

/// Cases: alibaba 29
#[tokio::test]
async fn alibaba_029_a_network_one_lives_by_jobs() {
    let rig = Rig::start(slow()).await;
    let mut life = Life::network(&rig);
    let made = life.settle().await;
    assert_eq!(made, ["CreateLoadBalancer", "CreateServerGroup", "AddServersToServerGroup", "CreateListener"]);
    assert_eq!(life.settle().await, [""; 0]);
    life.service.desired.source_ranges = vec!["10.0.0.0/8".to_owned()];
    let joined = ["CreateSecurityGroup", "AuthorizeSecurityGroup", "LoadBalancerJoinSecurityGroup"];
    assert_eq!(life.settle().await, joined);
    life.service.desired.source_ranges.clear();
    assert_eq!(life.settle().await, ["LoadBalancerLeaveSecurityGroup", "DeleteSecurityGroup"]);
    life.service.desired.nodes.push(AlibabaCloud::worker(3));
    assert_eq!(life.settle().await, ["AddServersToServerGroup"]);
    life.service.gone().await;
    assert_eq!(AlibabaCloud::built(rig.cloud.account()), []);
    assert_eq!(AlibabaCloud::leftovers(rig.cloud.account()), [""; 0]);
    rig.cloud.assert_valid();
}

/// Cases: alibaba 28
#[tokio::test]
async fn alibaba_028_a_network_one_without_zones_is_refused() {
    let rig = Rig::instant().await;
    let mut life = Life::network(&rig);
    life.service.remove("zone-maps");
    let begun = rig.cloud.requests().len();
    let reply = life.service.ask().await;
    assert!(matches!(&reply.answer, Err(Error::Invalid(why)) if why.contains("zone-maps")), "{reply:?}");
    assert_eq!(rig.writes_since(begun), [""; 0]);
}

/// Cases: alibaba 30
#[tokio::test]
async fn alibaba_030_a_failed_job_is_told_and_tried_again() {
    let rig = Rig::start(slow()).await;
    rig.cloud.behave(|it| it.failing = vec!["CreateListener".to_owned()]);
    let mut life = Life::network(&rig);
    let mut failures = Vec::new();
    for _ in 0..40 {
        rig.cloud.advance(std::time::Duration::from_secs(5));
        match life.service.ask().await.answer {
            Ok(cloud_provider::Progress::Ready(_)) => break,
            Ok(cloud_provider::Progress::Failed(_, why)) | Err(why) => failures.push(why.to_string()),
            Ok(_) => {}
        }
    }
    assert!(matches!(&failures[..], [why] if why.contains("CreateListener")), "{failures:?}");
    let built = AlibabaCloud::built(rig.cloud.account());
    assert!(built[0].serves && built[0].ports == [80], "{built:?}");
    rig.cloud.assert_valid();
}

/// Cases: alibaba 17
#[tokio::test]
async fn alibaba_017_a_full_vswitch_is_left_for_the_next() {
    let rig = Rig::instant().await;
    rig.cloud.behave(|it| _ = it.full_switches.insert("vsw-b".to_owned()));
    let mut life = Life::new(&rig);
    life.service.set("address-type", "intranet");
    life.settle().await;
    let built = AlibabaCloud::built(rig.cloud.account());
    assert_eq!((built.len(), built[0].machines.as_slice()), (1, &[1, 2][..]));
    let mut other = Service::new(&rig).named("chosen", "11111111-9a5e-4a8e-8f0b-1f6d3f6f2a11");
    other.set("address-type", "intranet");
    other.set("vswitch-id", "vsw-b");
    let refused = other.refused().await.to_string();
    assert!(refused.contains("VSwitchAvailableIpNotExist"), "{refused}");
    rig.cloud.assert_valid();
}
