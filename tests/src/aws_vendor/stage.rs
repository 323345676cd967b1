//! Where the story happens: a cluster, and AWS. Neither knows who manages.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Node, Service};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::beside::Asked;
use crate::clouds::aws::{self as cloud, CLUSTER, Options, Simulator};
use crate::control_plane::{Cluster, cluster};
use crate::moto::{Call, REGION};
use crate::operator::Setup;
use crate::vendor::{Aws, Vendor as _, aws};
use crate::{kubelet, wait};

use super::asked;
use super::places::Places;
use super::story::{Change, Part, Step, story};

/// A cluster without nodes, and an account with nothing in it but a VPC.
pub struct Stage {
    /// The cluster.
    pub cluster: Cluster,
    /// AWS.
    pub cloud: Simulator,
    /// The parts of the VPC.
    pub places: Places,
    /// Aerostat's configuration, and the flags that it has in every part.
    pub(super) setup: Setup,
    /// The names of all Services that there have been, by the names of their load balancers.
    pub(super) balancers: Mutex<BTreeMap<String, String>>,
}

impl Stage {
    /// A new one.
    ///
    /// # Panics
    ///
    /// Panics if there is no control plane, or no counterpart of AWS.
    pub async fn new() -> Self {
        let (cluster, cloud) = tokio::join!(cluster(), Simulator::start(Options::default()));
        let cloud = cloud.expect("a port on loopback is free");
        cluster.follow(Aws::PAGE).await;
        // "Amazon VPC quotas", rules per security group: it can be raised. AWS's manager needs several rules for each Service.
        cloud.behave(&json!({ "rules_per_group": 1_000 }));
        let services = [cloud::Service::Ec2, cloud::Service::Elbv2, cloud::Service::Elb];
        let setup = aws::setup(&cluster, &cloud, &services);
        let places = cloud.moto().order("prepare", &json!({ "cluster": CLUSTER }));
        let mut places: Places = serde_json::from_value(places).expect("the order says what there is");
        furnish(&cloud, &mut places).await;
        Self { cluster, cloud, places, setup, balancers: Mutex::default() }
    }

    /// The whole story, in this VPC.
    #[must_use]
    pub fn story(&self) -> Vec<Part> {
        story(&self.places)
    }

    /// Lets something happen.
    ///
    /// # Panics
    ///
    /// Panics if the API server or AWS refuses it.
    pub async fn apply(&self, change: &Change) {
        let admin = &self.cluster.admin;
        let (nodes, services) = (Api::<Node>::all(admin.clone()), self.services());
        let (merge, delete) = (PatchParams::default(), DeleteParams::default());
        let done = match change {
            Change::Order(name, arguments) => {
                self.cloud.moto().order(name, arguments);
                Ok(())
            }
            Change::Call(service, operation, parameters) => {
                self.cloud.moto().done([Call::new(service, operation, parameters.clone())]).await;
                Ok(())
            }
            Change::Join(node) => kubelet::join_as(admin, Node::clone(node)).await.map(drop),
            Change::PatchNode(name, patch) => {
                nodes.patch(name, &merge, &Patch::Merge(patch)).await.map(drop).map_err(Into::into)
            }
            Change::NotReady(name) => kubelet::post_ready(admin, name, false).await.map(drop),
            Change::Leave(name) => nodes.delete(name, &delete).await.map(drop).map_err(Into::into),
            Change::Create(service) => match services.create(&PostParams::default(), service).await {
                Ok(made) => {
                    self.remember(&made);
                    Ok(())
                }
                Err(error) => Err(error.into()),
            },
            Change::Patch(name, patch) => {
                services.patch(name, &merge, &Patch::Merge(patch)).await.map(drop).map_err(Into::into)
            }
            Change::Delete(name) => services.delete(name, &delete).await.map(drop).map_err(Into::into),
        };
        done.unwrap_or_else(|error: anyhow::Error| panic!("{change:?}: {error:#}"));
    }

    fn remember(&self, service: &Service) {
        let mut balancer = format!("a{}", service.uid().unwrap_or_default().replace('-', ""));
        balancer.truncate(32);
        let mut known = self.balancers.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(balancer, service.name_any());
    }

    pub(super) fn services(&self) -> Api<Service> {
        Api::namespaced(self.cluster.admin.clone(), "default")
    }

    /// The requests since then.
    #[must_use]
    pub fn asked(&self, since: usize) -> Asked {
        asked::asked(self.actions(since))
    }

    /// The requests of a step that began then: where a manager asks as long as it lasts, those until its last write.
    #[must_use]
    pub fn taken(&self, step: &Step, since: usize) -> Asked {
        let actions = self.actions(since);
        let end = actions.iter().rposition(|it| !asked::is_read(it)).map_or(0, |it| it + 1);
        let taken = if step.loops { end } else { actions.len() };
        asked::asked(actions.into_iter().take(taken))
    }

    /// The actions that were asked for since then: `elbv2/CreateListener`.
    fn actions(&self, since: usize) -> Vec<String> {
        let requests = self.cloud.requests().split_off(since);
        requests.iter().map(|it| it.path.trim_start_matches('/').to_owned()).collect()
    }

    /// Waits until something was asked since `begun`, and then nothing has changed for a time: neither what there is, nor the number of
    /// writes. Returns what there is.
    ///
    /// # Panics
    ///
    /// Panics with `log` if nothing is asked, or something changes, for five minutes.
    pub async fn settled(&self, begun: usize, quiet: Duration, log: impl Fn() -> String) -> Value {
        let mut last = (self.seen().await, 0, Instant::now());
        let found = wait::within(Duration::from_mins(5), async || {
            let (seen, asked) = (self.seen().await, self.asked(begun));
            if (&seen, asked.writes()) != (&last.0, last.1) {
                last = (seen, asked.writes(), Instant::now());
            }
            let is_over = !asked.actions.is_empty() && last.2.elapsed() > quiet;
            is_over.then(|| last.0.clone())
        })
        .await;
        found.unwrap_or_else(|| panic!("it does not come to rest: {:#?}\n{}", self.asked(begun), log()))
    }
}

/// Makes what an operator makes and Services name.
async fn furnish(cloud: &Simulator, places: &mut Places) {
    let certificate = |name| Call::new("acm", "request_certificate", json!({ "DomainName": name }));
    let address = || Call::new("ec2", "allocate_address", json!({ "Domain": "vpc" }));
    let group = |name| {
        let group = json!({ "GroupName": name, "Description": name, "VpcId": places.vpc });
        Call::new("ec2", "create_security_group", group)
    };
    let tags = json!([{ "Key": "kubernetes.io/cluster/other", "Value": "owned" }]);
    let twin = json!({
        "VpcId": places.vpc,
        "CidrBlock": "172.31.240.0/24",
        "AvailabilityZone": format!("{REGION}a"),
        "TagSpecifications": [{ "ResourceType": "subnet", "Tags": tags }],
    });
    let calls = [
        certificate("first.example.com"),
        certificate("second.example.com"),
        address(),
        address(),
        group("first"),
        group("second"),
        Call::new("ec2", "create_subnet", twin),
    ];
    let made = cloud.moto().done(calls).await;
    let all = |field: &str| made.iter().filter_map(|it| it[field].as_str()).map(str::to_owned).collect();
    places.certificates = all("CertificateArn");
    places.addresses = all("AllocationId");
    places.groups = all("GroupId");
    let twin = made.iter().find_map(|it| it["Subnet"]["SubnetId"].as_str());
    places.twin = twin.expect("the subnet has an id").to_owned();
}
