//! AWS.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use cloud_provider::Node;
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::clouds::aws::{
    Account, ClassicLoadBalancer, LoadBalancer, Options, Owner, Service, Simulator, State, refusal,
};
use crate::control_plane::Cluster;
use crate::guests;
use crate::moto::{AccessKey, REGION};
use crate::operator::Setup;
use crate::simulator::{Fault, Recorded};

use super::description::{Behaviour, Built, Creation, Left, LeftBehind, Vendor, uid};
use super::manifest;

pub use crate::clouds::aws::CLUSTER;

/// The actions that the provider needs, as a policy allows them.
const ACTIONS: [&str; 2] = ["ec2:*", "elasticloadbalancing:*"];

/// The id of the instance with this number.
#[must_use]
pub fn instance(number: u64) -> String {
    format!("i-{number:017x}")
}

/// The provider as its README says that an operator sets it up, with the endpoints of these services.
#[must_use]
pub fn setup(cluster: &Cluster, cloud: &Simulator, services: &[Service]) -> Setup {
    let settings = settings(cloud);
    let setup = Setup::guest(cluster, guests::AWS);
    take_key(&setup, &key(cloud));
    let file = setup.folder.path("credentials");
    setup.edit(|config| {
        config["provider"]["settings"] = settings;
        config["endpoints"] = json!(endpoints(cloud, services));
        config["credentials"] = json!([credential(&file)]);
    })
}

/// The file that installs the provider of volumes.
const EBS: &str = include_str!("../../../deploy/install-aws-ebs.yaml");
/// The policy of its role.
const EBS_POLICY: &str = include_str!("../../../deploy/aws/volumes-policy.json");

/// The provider of volumes beside the other one, as its page says that an operator sets it up: with flags, rules and a user of its own. Its Lease has
/// to be allowed.
///
/// # Panics
///
/// If what is shipped cannot be read.
#[must_use]
pub fn ebs(cluster: &Cluster, cloud: &Simulator) -> Setup {
    let shipped = manifest::installed_config(EBS);
    let flags = manifest::own_flags(EBS);
    let settings = settings(cloud);
    let setup = Setup::guest(cluster, guests::AWS_EBS);
    take_key(&setup, &cloud.moto().user("aerostat-aws-ebs", &ebs_actions()));
    let file = setup.folder.path("credentials");
    let setup = setup.edit(|config| {
        config["provider"]["settings"] = json!({
            "region": settings["region"], "vpc": settings["vpc"], "clusterID": settings["clusterID"], "createAgainAfter": "1s",
        });
        config["endpoints"] = json!([endpoint_with(Service::Ec2, cloud, &shipped["endpoints"][0]["allow"])]);
        config["credentials"] = json!([{ "name": "aws", "sigv4": { "region": REGION, "sharedFile": { "file": file } } }]);
    });
    setup.flags(&flags.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The actions that the policy for volumes allows.
fn ebs_actions() -> Vec<&'static str> {
    static POLICY: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(EBS_POLICY).expect("the policy is JSON"));
    let statements = POLICY["Statement"].as_array().into_iter().flatten();
    statements.flat_map(|it| it["Action"].as_array().into_iter().flatten()).filter_map(Value::as_str).collect()
}

/// The settings of the provider for the VPC of this account. It gets what an operator has before the first machine.
#[must_use]
pub fn settings(cloud: &Simulator) -> Value {
    let places = cloud.moto().order("prepare", &json!({ "cluster": CLUSTER }));
    json!({
        "region": REGION,
        "vpc": places["vpc"],
        "clusterID": CLUSTER,
        "loadBalancers.allowedSecurityGroups": "*",
        "loadBalancers.allowedCertificates": "*",
        "loadBalancers.allowedElasticIPs": "*",
        "loadBalancers.allowedLogBuckets": "*",
        "loadBalancers.allowedHealthCheckPorts": "8080",
    })
}

/// The key of a user who may do all that the provider asks for.
#[must_use]
pub fn key(cloud: &Simulator) -> AccessKey {
    cloud.moto().user("aerostat", &ACTIONS)
}

/// The credential `aws`, with the key in this file.
#[must_use]
pub fn credential(file: &Path) -> Value {
    // As shipped: a Network Load Balancer of two ports takes eleven writes to build, more updates than are let through for each change of
    // a Service elsewhere.
    json!({
        "name": "aws",
        "sigv4": { "region": REGION, "sharedFile": { "file": file } },
        "limits": { "detachmentsPerChange": 10, "updatesPerChange": 20 },
    })
}

/// The endpoints of these services, with the credential `aws`.
#[must_use]
pub fn endpoints(cloud: &Simulator, services: &[Service]) -> Vec<Value> {
    services.iter().map(|it| endpoint(*it, cloud)).collect()
}

/// Puts a key into the file of the setup.
pub fn take_key(setup: &Setup, key: &AccessKey) {
    setup.folder.write("credentials", key.shared_file());
}

/// An endpoint as shipped.
fn endpoint(service: Service, cloud: &Simulator) -> Value {
    // The account has one VPC.
    let shipped = manifest::cloud_config(Aws::MANIFEST).to_string().replace("VPC-OF-THE-CLUSTER", "vpc-*");
    let shipped: Value =
        serde_json::from_str(&shipped.replace("ID-OF-THE-CLUSTER", CLUSTER)).expect("it is JSON still");
    let endpoints = shipped["endpoints"].as_array().expect("the config has endpoints");
    let own = endpoints.iter().find(|it| it["name"] == service.name()).expect("one of them is the service's");
    endpoint_with(service, cloud, &own["allow"])
}

/// An endpoint with these rules.
fn endpoint_with(service: Service, cloud: &Simulator, allow: &Value) -> Value {
    let signed_for = if service == Service::Ec2 { "ec2" } else { "elasticloadbalancing" };
    json!({
        "name": service.name(),
        "baseUrl": cloud.base_url(),
        "credential": "aws",
        "signing": { "region": REGION, "service": signed_for },
        "operation": { "parameter": "Action" },
        "parameters": { "Version": service.version() },
        "allow": allow,
        "tls": { "caFile": cloud.ca_file() },
    })
}

/// The vendor, with its provider and its counterpart. Its load balancers are Network Load Balancers, unless a Service asks for a
/// Classic one.
#[derive(Debug)]
pub struct Aws;

impl Vendor for Aws {
    type Cloud = Account;

    const MACHINES: &'static str = "/ec2/DescribeInstances";
    const LOAD_BALANCERS: &'static str = "/elbv2/CreateLoadBalancer";
    const MODULE: &'static str = guests::AWS;
    const MANIFEST: &'static str = include_str!("../../../deploy/aws/config.yaml");
    const PAGE: &'static str = "aws/README.md";
    const ENDPOINT: &'static str = "elbv2";
    const SETTINGS: &'static [(&'static str, &'static str)] = &[];
    const PROVIDER_ID: &'static str = "aws:///us-east-1a/";
    const PREFIX: &'static str = "service.beta.kubernetes.io/aws-load-balancer-";
    /// There is none: a load balancer is the Service's whose UID is in its name.
    const ID: &'static str = "";
    const NAME: &'static str = "";
    const HOSTNAME: &'static str = "";
    const SECOND_PORT: &'static [&'static str] = &[];
    const ANNOTATIONS: &'static [(&'static str, &'static str)] =
        &[("service.beta.kubernetes.io/aws-load-balancer-type", "nlb")];
    const OTHER_KIND: &'static [(&'static str, &'static str)] =
        &[("service.beta.kubernetes.io/aws-load-balancer-type", "classic")];
    const NAMES: bool = false;
    const FAST: &'static [(&'static str, &'static str)] = &[];

    fn is_about_load_balancers(request: &Recorded) -> bool {
        request.path.starts_with("/elb") || request.path.contains("SecurityGroup")
    }

    /// Target groups, security groups, and rules in the group of the nodes.
    fn leftovers(account: &Account) -> Vec<String> {
        let state = account.state();
        let targets = state.targets.into_iter().map(|it| it.name);
        let groups = state.security.iter().filter(|it| it.name != "default").map(|it| it.name.clone());
        let rules = state.security.iter().flat_map(|it| &it.rules).map(|it| format!("{it:?}"));
        targets.chain(groups).chain(rules).collect()
    }

    async fn start(behaviour: Behaviour) -> anyhow::Result<Simulator> {
        let other = behaviour.has_other_account;
        let cloud = Simulator::start(Options { other, ..Options::default() }).await?;
        let (time, reads) = match behaviour.creation {
            Creation::Takes(time) => (time, 0),
            Creation::Reads(reads) => (Duration::ZERO, reads),
        };
        cloud.behave(&json!({
            "provisioning": time.as_secs_f64(),
            "provisioning_reads": reads,
            "lists_late_by": behaviour.lists_late_by.as_secs_f64(),
        }));
        Ok(cloud)
    }

    fn setup(cluster: &Cluster, cloud: &Simulator) -> Setup {
        setup(cluster, cloud, &[Service::Ec2, Service::Elbv2, Service::Elb])
    }

    fn worker(id: u8) -> Node {
        let name = format!("web-{id}");
        Node { name, provider_id: Some(format!("{}{}", Self::PROVIDER_ID, instance(id.into()))), ..Node::default() }
    }

    fn add_machine(account: &Account, id: u64, name: &str) {
        account.moto().order("machine", &json!({ "id": instance(id), "name": name, "cluster": CLUSTER }));
    }

    /// A key of this account is no key of the other, which answers nothing.
    fn add_foreign_machine(_: &Account, _: u64, _: &str) {}

    fn belong_to(owner: Owner, cloud: &Simulator, setup: &Setup) {
        let account = match owner {
            Owner::Us => cloud.account(),
            Owner::Other => cloud.other_account(),
        };
        let key = account.moto().user("aerostat", &ACTIONS);
        cloud.set_owner(owner);
        take_key(setup, &key);
    }

    fn remove_machine(account: &Account, id: u64) {
        account.moto().order("end", &json!({ "id": instance(id) }));
    }

    /// It loses the tag by which lists find it.
    fn hide_machine(account: &Account, id: u64) {
        let tag = format!("kubernetes.io/cluster/{CLUSTER}");
        account.moto().order("untag", &json!({ "id": instance(id), "keys": [tag] }));
    }

    fn lists_late_by(account: &Account, time: Duration) {
        account.moto().order("behave", &json!({ "lists_late_by": time.as_secs_f64() }));
    }

    fn limit(account: &Account, load_balancers: usize) {
        account.moto().order("behave", &json!({ "load_balancers": load_balancers }));
    }

    fn built(account: &Account) -> Vec<Built> {
        let state = account.state();
        state.network.iter().map(|it| built(it, &state)).chain(state.classic.iter().map(built_classic)).collect()
    }

    fn add_foreign(account: &Account, name: &str) -> String {
        foreign(account, name, &json!({}))["id"].as_str().expect("it has an ARN").to_owned()
    }

    fn remove_built(account: &Account, id: &str) {
        account.moto().order("deleteBalancer", &json!({ "arn": id }));
    }

    fn clear_machines(account: &Account, id: &str) {
        account.moto().order("clear", &json!({ "arn": id }));
    }

    /// Only what is found by its name: the load balancer with its tags.
    fn leave_behind(account: &Account, service: &k8s_openapi::api::core::v1::Service, _: Left<'_>) -> LeftBehind {
        let name = Self::default_name(uid(service));
        let of = format!("{}/{}", service.namespace().unwrap_or_default(), service.name_any());
        let cluster = format!("kubernetes.io/cluster/{CLUSTER}");
        let made = foreign(account, &name, &json!({ cluster: "owned", "kubernetes.io/service-name": of }));
        let (id, host) = (made["id"].as_str().expect("it has an ARN").to_owned(), &made["host"]);
        LeftBehind { id, annotations: json!({}), ingress: json!([{ "hostname": host }]) }
    }

    fn unmark(account: &Account, id: &str) {
        account.moto().order("retag", &json!({ "arn": id, "tags": {} }));
    }

    fn is_known_to_the_vendor(built: &Built, service: &k8s_openapi::api::core::v1::Service) -> Result<(), String> {
        let name = Self::default_name(uid(service));
        if built.name == name { Ok(()) } else { Err(format!("its name is {}", built.name)) }
    }

    fn default_name(uid: &str) -> String {
        let mut name = format!("a{}", uid.replace('-', ""));
        name.truncate(32);
        name
    }

    fn refusal(message: &str) -> String {
        refusal(Service::Elbv2, "ValidationError", message)
    }

    fn busy(method: &str, path: &str) -> Fault {
        Fault::status(method, path, 400).body(refusal(Service::Elbv2, "ResourceInUse", "It is in use."))
    }

    fn pause(fault: Fault, _: Duration) -> Fault {
        fault
    }
}

/// A Network Load Balancer with these tags and no listeners: its ARN and its host.
fn foreign(account: &Account, name: &str, tags: &Value) -> Value {
    let places = account.moto().order("prepare", &json!({ "cluster": CLUSTER }));
    let balancer = json!({ "name": name, "subnets": places["subnets"], "tags": tags });
    account.moto().order("balancer", &balancer)
}

/// In words that every cloud has. A machine is in it that is in each of its target groups.
fn built(it: &LoadBalancer, state: &State) -> Built {
    let groups: Vec<_> = state.targets.iter().filter(|group| it.forwards_to(&group.id)).collect();
    let machines = groups.first().map(|it| it.machines.clone()).unwrap_or_default();
    let in_all = machines.iter().filter(|machine| groups.iter().all(|it| it.machines.contains(machine)));
    let machines = numbers(in_all);
    let mut ports: Vec<_> = it.listeners.iter().map(|it| it.port).collect();
    ports.sort_unstable();
    Built {
        id: it.id.clone(),
        name: it.name.clone(),
        ports,
        machines,
        addresses: vec![it.host.clone()],
        serves: true,
        owner: it.tags.get("aerostat.dev/service-uid").cloned(),
    }
}

/// The same of a Classic Load Balancer, which is found by its name.
fn built_classic(it: &ClassicLoadBalancer) -> Built {
    let mut ports: Vec<_> = it.listeners.iter().map(|(_, port, ..)| *port).collect();
    ports.sort_unstable();
    Built {
        id: it.name.clone(),
        name: it.name.clone(),
        ports,
        machines: numbers(it.machines.iter()),
        addresses: vec![it.host.clone()],
        serves: true,
        owner: it.tags.get("aerostat.dev/service-uid").cloned(),
    }
}

/// The numbers of these instances, in their order.
fn numbers<'a>(instances: impl Iterator<Item = &'a String>) -> Vec<u64> {
    let mut numbers: Vec<_> = instances.filter_map(|it| u64::from_str_radix(it.strip_prefix("i-")?, 16).ok()).collect();
    numbers.sort_unstable();
    numbers
}
