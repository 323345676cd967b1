//! A cluster with nodes in the simulated OpenStack, for the cases of Services.

use std::time::Duration;

use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::clouds::openstack::{Kind, Simulator};
use tests::control_plane::{Cluster, cluster};
use tests::operator::Process;
use tests::vendor::{Behaviour, Creation, OpenStack, Vendor as _};
use tests::{kubelet, operator, wait};

/// A cluster, its cloud and the running binary.
pub(crate) struct Ground {
    pub(crate) cluster: Cluster,
    pub(crate) cloud: Simulator,
    process: Process,
}

impl Ground {
    /// With the nodes web-1 and web-2, which have joined.
    pub(crate) async fn start() -> Self {
        let creation = Creation::Takes(Duration::from_millis(50));
        let (cluster, cloud) =
            tokio::join!(cluster(), OpenStack::start(Behaviour { creation, ..Behaviour::default() }));
        let cloud = cloud.unwrap();
        let setup =
            OpenStack::setup(&cluster, &cloud).edit(|it| it["provider"]["settings"]["pollInterval"] = json!("1s"));
        let process = setup.started().await;
        let ground = Self { cluster, cloud, process };
        for (id, name) in [(1, "web-1"), (2, "web-2")] {
            OpenStack::add_machine(ground.cloud.account(), id, name);
            kubelet::join(&ground.cluster.admin, name).await.unwrap();
            operator::initialized(&ground.cluster, name).await;
        }
        ground
    }

    fn services(&self) -> Api<Service> {
        Api::default_namespaced(self.cluster.admin.clone())
    }

    /// Makes a Service of port 80 with these annotations.
    pub(crate) async fn create(&self, name: &str, annotations: &Value) {
        let service = json!({
            "metadata": { "name": name, "annotations": annotations },
            "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
        });
        self.services().create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    }

    pub(crate) async fn annotate(&self, name: &str, annotations: &Value) {
        let patch = json!({ "metadata": { "annotations": annotations } });
        self.services().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// The address that a Service gets.
    pub(crate) async fn address(&self, name: &str) -> String {
        wait::until("the Service has its address", async || {
            let status = self.services().get(name).await.unwrap().status?;
            status.load_balancer?.ingress?.pop()?.ip
        })
        .await
    }

    /// Waits for an event that says these.
    pub(crate) async fn told(&self, name: &str, parts: &[&str]) {
        operator::event(&self.cluster, name, parts).await;
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.services().delete(name, &DeleteParams::default()).await.unwrap();
        let gone = async || self.services().get_opt(name).await.unwrap().is_none().then_some(());
        wait::until("the Service is gone", gone).await;
    }

    /// The load balancers and floating IPs.
    pub(crate) fn left(&self) -> Vec<Value> {
        [Kind::LoadBalancer, Kind::FloatingIp].map(|it| self.cloud.account().all(it)).concat()
    }

    /// The load balancer that a Service's annotation names.
    pub(crate) async fn balancer(&self, name: &str) -> String {
        self.services().get(name).await.unwrap().annotations()[OpenStack::ID].clone()
    }

    pub(crate) async fn stop(self) {
        self.process.stop().await;
        self.cloud.assert_valid();
    }
}
