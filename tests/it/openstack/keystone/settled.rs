//! A cluster whose nodes have joined, in a project behind a real Keystone.

use k8s_openapi::api::core::v1::{Namespace, Service};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};
use tests::clouds::openstack::Kind;
use tests::control_plane::{Cluster, cluster};
use tests::operator::Process;
use tests::vendor::{OpenStack, Vendor as _};
use tests::{kubelet, operator, wait};

use super::place::{Place, Project};

/// A cluster, its project and the running binary.
pub(super) struct Settled {
    pub(super) cluster: Cluster,
    pub(super) project: Project,
    process: Process,
}

impl Settled {
    /// With the nodes web-1 and web-2, which have joined.
    pub(super) async fn at(place: &Place) -> Self {
        let (cluster, project) = tokio::join!(cluster(), place.project());
        let process = place.setup(&cluster, &project).started().await;
        for name in ["web-1", "web-2"] {
            kubelet::join(&cluster.admin, name).await.unwrap();
            operator::initialized(&cluster, name).await;
        }
        Self { cluster, project, process }
    }

    fn services(&self, namespace: &str) -> Api<Service> {
        Api::namespaced(self.cluster.admin.clone(), namespace)
    }

    /// Makes a Service of port 80 with these annotations, in a namespace that is made where it is not there.
    pub(super) async fn create(&self, namespace: &str, name: &str, annotations: &Value) {
        let namespaces: Api<Namespace> = Api::all(self.cluster.admin.clone());
        let made: Namespace = serde_json::from_value(json!({ "metadata": { "name": namespace } })).unwrap();
        if namespaces.get_opt(namespace).await.unwrap().is_none() {
            namespaces.create(&PostParams::default(), &made).await.unwrap();
        }
        let service = json!({
            "metadata": { "name": name, "annotations": annotations },
            "spec": { "type": "LoadBalancer", "ports": [{ "port": 80 }] },
        });
        let service = serde_json::from_value(service).unwrap();
        self.services(namespace).create(&PostParams::default(), &service).await.unwrap();
    }

    /// Waits until a Service has an address.
    pub(super) async fn served(&self, namespace: &str, name: &str) {
        let services = self.services(namespace);
        let shown = async || services.get(name).await.unwrap().status?.load_balancer?.ingress.map(drop);
        wait::until(&format!("{name} has its address"), shown).await;
    }

    /// The id in the annotation of a Service.
    pub(super) async fn balancer(&self, namespace: &str, name: &str) -> String {
        let services = self.services(namespace);
        wait::until(&format!("{name} names its load balancer"), async || {
            services.get(name).await.unwrap().annotations().get(OpenStack::ID).cloned()
        })
        .await
    }

    /// Waits for an event that says these.
    pub(super) async fn told(&self, name: &str, parts: &[&str]) {
        operator::event(&self.cluster, name, parts).await;
    }

    pub(super) async fn delete(&self, namespace: &str, name: &str) {
        let services = self.services(namespace);
        services.delete(name, &DeleteParams::default()).await.unwrap();
        let gone = async || services.get_opt(name).await.unwrap().is_none().then_some(());
        wait::until(&format!("{name} is gone"), gone).await;
    }

    pub(super) async fn stop(self) {
        self.process.stop().await;
    }
}

/// All that a project has of load balancers: themselves, their parts and addresses.
pub(super) fn balancing(place: &Place, project: &Project) -> Vec<Value> {
    let kinds = [Kind::LoadBalancer, Kind::Listener, Kind::Pool, Kind::Member, Kind::FloatingIp];
    place.world(project, |world| kinds.into_iter().flat_map(|it| world.all(it).cloned().collect::<Vec<_>>()).collect())
}
