//! Rancher's provider through WebAssembly, the gate and the keys, at a Rancher that takes nothing but what it knows.

use std::sync::Arc;

use cloud_provider::{Address, AddressKind, Error, Instances, LoadBalancers, Node, Protocol};
use egress::{CredentialKind, CredentialSettings, Credentials, Endpoint, WriteLimits};
use sandbox::{Provider, ProviderSettings};
use serde_json::{Value, json};
use tests::clouds::rancher::{ACCESS_KEY, BASE, Behaviour, RancherKind, SECRET_KEY, Simulator, Taking, host_uuid};
use tests::guests;
use tests::vendor::loading::{self, Secret, endpoint};
use tests::vendor::{Hetzner, Service, manifest, port};

struct Rig {
    cloud: Simulator,
    instances: Arc<dyn Instances>,
    load_balancers: Arc<dyn LoadBalancers>,
    _provider: Provider,
    _keys: [Secret; 2],
}

/// The provider with the config beside its sources, and with this secret key, over an environment with two hosts.
async fn rig(secret_key: &str) -> Rig {
    let cloud = Simulator::start(Behaviour { taking: Taking::Reads(1), asks_for_keys: true }).await.unwrap();
    cloud.with(|world| (1..=2).for_each(|it| world.add_host(it, &format!("web-{it}"))));
    let config: Value = serde_saphyr::from_str(include_str!("../../../providers/rancher/cloud.yaml")).unwrap();
    let api = Endpoint {
        credential: Some("keys".to_owned()),
        ca_file: Some(cloud.ca_file()),
        allow: manifest::rules(&config["endpoints"][0]),
        ..endpoint("api", &cloud.environment_url())
    };
    let keys = [Secret::write(ACCESS_KEY), Secret::write(secret_key)];
    let credentials = Credentials::load(vec![CredentialSettings {
        name: "keys".to_owned(),
        kind: CredentialKind::Basic { user_file: keys[0].path(), password_file: keys[1].path() },
        limits: WriteLimits::default(),
    }]);
    let provider = loading::load(guests::RANCHER, ProviderSettings::default(), vec![api], credentials.unwrap()).await;
    let abilities = provider.cloud();
    let (instances, load_balancers) = (abilities.instances.unwrap(), abilities.load_balancers.unwrap());
    Rig { cloud, instances, load_balancers, _provider: provider, _keys: keys }
}

fn worker(number: u64) -> Node {
    Node {
        name: format!("web-{number}"),
        provider_id: Some(format!("rancher://{}", host_uuid(number))),
        addresses: vec![Address { kind: AddressKind::InternalIp, value: format!("10.0.0.{number}") }],
        ..Node::default()
    }
}

impl Rig {
    /// The writes since the first `before` requests, as method, collection and action.
    fn writes(&self, before: usize) -> Vec<String> {
        let requests = self.cloud.requests().into_iter().skip(before).filter(|it| !it.method.is_safe());
        let line = |request: tests::simulator::Recorded| {
            let collection = request.path.strip_prefix(BASE).unwrap().split('/').nth(1).unwrap().to_owned();
            let action = request.query_value("action").unwrap_or_default();
            format!("{} {collection} {action}", request.method).trim().to_owned()
        };
        requests.map(line).collect()
    }

    fn asked(&self) -> usize {
        self.cloud.requests().len()
    }
}

/// Cases: rancher 2, rancher 6
#[tokio::test]
async fn hosts_of_rancher_are_nodes_by_their_keys() {
    let rig = rig(SECRET_KEY).await;
    let page = rig.instances.list(None, 100).await.answer.unwrap();
    assert_eq!((page.instances.len(), rig.asked()), (2, 2), "one list of hosts, one of addresses");
    let first = &page.instances[0];
    assert_eq!(first.provider_id, worker(1).provider_id);
    let addresses: Vec<_> = first.addresses.iter().map(|it| &*it.value).collect();
    assert_eq!(addresses, ["web-1", "10.0.0.1", "10.1.0.1"]);
    let get = async |node: Node| rig.instances.get(&[node]).await.answer.remove(0);
    assert_eq!(get(worker(1)).await.unwrap().as_ref(), Some(first));
    let joining = Node { name: "WEB-1.example.com".to_owned(), ..Node::default() };
    assert_eq!(get(joining).await.unwrap().as_ref(), Some(first));
    rig.cloud.with(|world| world.remove_host(1));
    assert_eq!(get(worker(1)).await, Ok(None));
    assert_eq!(rig.cloud.take_violations(), [""; 0]);
}

/// Cases: rancher 6
#[tokio::test]
async fn keys_that_rancher_does_not_know_are_denied() {
    let rig = rig("somebody's").await;
    let denied = rig.instances.list(None, 100).await.answer;
    assert!(matches!(&denied, Err(Error::Denied(_))), "{denied:?}");
}

/// Cases: rancher 4, rancher 8
#[tokio::test]
async fn service_at_rancher_is_a_step_a_call_and_leaves_nothing() {
    let rig = rig(SECRET_KEY).await;
    let mut service = Service::of::<Hetzner>(&*rig.load_balancers);
    service.desired.nodes = vec![worker(1)];
    let standing = service.served().await;
    let addresses: Vec<_> = standing.ingress.iter().filter_map(|it| it.ip.as_deref()).collect();
    assert_eq!(addresses, ["10.0.0.1"]);
    let made = [
        "POST stacks",
        "POST loadbalancerservices",
        "POST externalservices",
        "POST externalservices activate",
        "POST loadbalancerservices setservicelinks",
        "PUT loadbalancerservices",
        "POST loadbalancerservices activate",
    ];
    assert_eq!(rig.writes(0), made);
    let external =
        |field: &str| rig.cloud.with(|world| world.all(RancherKind::External).next().unwrap().1.field(field).clone());
    assert_eq!(external("name"), json!(format!("{}-{}", &loading::CLUSTER_UID[..8], service.desired.name)));

    let before = rig.asked();
    assert_eq!(service.served().await.ingress, standing.ingress);
    assert_eq!((rig.writes(before), rig.asked() - before), (Vec::new(), 2), "nothing is written for what is there");

    let before = rig.asked();
    service.desired.nodes.push(worker(2));
    service.served().await;
    assert_eq!(rig.writes(before), ["PUT externalservices"], "traffic goes on meanwhile");
    assert_eq!(external("externalIpAddresses"), json!(["10.0.0.1", "10.0.0.2"]));

    let before = rig.asked();
    service.desired.ports.push(port(Protocol::Tcp, 443));
    assert_eq!(service.served().await.ingress, standing.ingress, "another port, and the same address");
    let changed =
        ["POST loadbalancerservices upgrade", "POST loadbalancerservices finishupgrade", "PUT loadbalancerservices"];
    assert_eq!(rig.writes(before), changed);

    let before = rig.asked();
    service.gone().await;
    assert_eq!(rig.writes(before), ["DELETE externalservices", "DELETE loadbalancerservices"]);
    let left =
        rig.cloud.with(|world| world.all(RancherKind::Balancer).count() + world.all(RancherKind::External).count());
    assert_eq!((left, rig.cloud.take_violations()), (0, Vec::new()));
}
