//! Control planes that tests share, each for one test at a time.

use std::collections::HashSet;
use std::path::PathBuf;

use futures::future::select_all;
use kube::Client;
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use super::access::apply_roles;
use super::reset;
use super::running::{ControlPlane, Options};
use crate::audit_log::{AuditLog, Request};
use crate::faults::Faults;
use crate::proxy::Proxy;

/// A cluster of this test process, held by one test. Where all are held, another test waits until one is dropped.
pub struct Cluster {
    /// May do everything.
    pub admin: Client,
    /// May do what the roles of `deploy/README.md` allow, and those of pages that the test follows.
    pub aerostat: Client,
    /// The kubeconfig of `aerostat`, for the binary.
    pub kubeconfig: PathBuf,
    /// For outages.
    pub control_plane: &'static ControlPlane,
    config: kube::Config,
    audit: AuditLog,
    /// Whether aerostat may be refused something.
    forbids: bool,
    _exclusive: MutexGuard<'static, ()>,
}

impl Cluster {
    /// Applies the roles that a further page of `deploy/` applies, by its path in that folder: that of a cloud, say.
    ///
    /// # Panics
    ///
    /// Panics if the API server refuses them.
    pub async fn follow(&self, page: &str) {
        if let Err(error) = apply_roles(&self.admin, page).await {
            panic!("deploy/{page} cannot be followed: {error:?}");
        }
    }

    /// The requests to the API server since this test has the cluster, and their senders.
    #[must_use]
    pub fn audit(&self) -> &AuditLog {
        &self.audit
    }

    /// Says that this test asks, as aerostat, for what its roles do not allow. Every other test fails if it does.
    pub fn forbids(&mut self) {
        self.forbids = true;
    }

    /// A client like `aerostat`, some of whose requests are answered by the test.
    #[must_use]
    pub fn faulty(&self, faults: &Faults) -> Client {
        faults.client(self.config.clone()).expect("the same configuration made a client before")
    }

    /// As [`faulty`](Self::faulty), through a proxy.
    #[must_use]
    pub fn through(&self, proxy: &Proxy, faults: &Faults) -> Client {
        let mut config = self.config.clone();
        config.cluster_url = format!("https://{}", proxy.address()).parse().expect("an address makes a URL");
        faults.client(config).expect("the same configuration made a client before")
    }

    /// A proxy before the API server.
    pub async fn proxy(&self) -> Proxy {
        Proxy::before(self.control_plane.ports.api_server).await
    }
}

impl Drop for Cluster {
    /// Fails the test if aerostat asked for something that it may not have. Of a test that has failed it shows what kube-controller-manager said.
    fn drop(&mut self) {
        if std::thread::panicking() {
            // A control plane outlives its tests. A second panic would hide the first, and end the process.
            self.control_plane.show_controller_manager();
            return;
        }
        if self.forbids {
            return;
        }
        let read = |requests: anyhow::Result<Vec<Request>>| requests.expect("the API server keeps an audit log");
        let (ended, begun) = (read(self.audit.everything()), read(self.audit.started()));
        // An API server that has only just started refuses all requests, until it has read the roles.
        let what = |it: &Request| (it.verb.clone(), it.resource(), it.object.namespace.clone(), it.object.name.clone());
        let allowed =
            ended.iter().chain(&begun).filter(|it| it.is_aerostats() && (200..300).contains(&it.response.code));
        let allowed: HashSet<_> = allowed.map(what).collect();
        let forbidden: Vec<_> = ended
            .iter()
            .filter(|it| it.is_aerostats() && it.response.code == 403 && !allowed.contains(&what(it)))
            .map(|it| format!("{} {}", it.verb, it.uri))
            .collect();
        assert!(forbidden.is_empty(), "what was applied of deploy/ does not allow aerostat {forbidden:#?}");
    }
}

/// Takes a cluster for a test, whichever of a few control planes is free: without nodes, events and leases, with the roles of
/// `deploy/README.md` applied and no others.
///
/// # Panics
///
/// Panics if the control plane does not start, or cannot be cleaned.
pub async fn cluster() -> Cluster {
    let locks = POOL.iter().map(|slot| Box::pin(async move { (slot, slot.exclusive.lock().await) }));
    let ((slot, exclusive), ..) = select_all(locks).await;
    take_slot(slot, exclusive).await
}

/// A control plane, and the right to use it.
struct Slot {
    control_plane: OnceCell<ControlPlane>,
    exclusive: Mutex<()>,
}

/// As many as tests that `tests/run.py` lets run side by side in one program.
static POOL: [Slot; 4] = [const { Slot { control_plane: OnceCell::const_new(), exclusive: Mutex::const_new(()) } }; 4];

/// One control plane starts at a time: several would take each other's processor, and that of whatever else a test starts.
static STARTS: Mutex<()> = Mutex::const_new(());

async fn control_plane(slot: &'static Slot) -> &'static ControlPlane {
    let start = async || {
        let _only = STARTS.lock().await;
        match ControlPlane::start(Options::default()).await {
            Ok(control_plane) => control_plane,
            Err(error) => panic!("no control plane: {error:?}"),
        }
    };
    slot.control_plane.get_or_init(start).await
}

async fn take_slot(slot: &'static Slot, exclusive: MutexGuard<'static, ()>) -> Cluster {
    match take(control_plane(slot).await, exclusive).await {
        Ok(cluster) => cluster,
        Err(error) => panic!("cannot take the cluster: {error:?}"),
    }
}

async fn take(control_plane: &'static ControlPlane, exclusive: MutexGuard<'static, ()>) -> anyhow::Result<Cluster> {
    // The test before may have failed in the middle of an outage, or beside kube-controller-manager.
    control_plane.stop_controller_manager().await?;
    control_plane.start_api_server().await?;
    let admin = control_plane.admin().await?;
    reset::reset(&admin).await?;
    let kubeconfig = control_plane.aerostat_kubeconfig().await?;
    let config = control_plane.config(&kubeconfig).await?;
    let audit = control_plane.audit();
    audit.settle(&admin).await?;
    Ok(Cluster {
        admin,
        aerostat: Client::try_from(config.clone())?,
        kubeconfig,
        control_plane,
        config,
        audit: audit.from_now()?,
        forbids: false,
        _exclusive: exclusive,
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::coordination::v1::Lease;
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod, Secret, Service, ServiceAccount};
    use kube::ResourceExt;
    use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn every_test_gets_an_empty_cluster() {
        let slot = &POOL[0];
        let before = take_slot(slot, slot.exclusive.lock().await).await;
        let nodes: Api<Node> = Api::all(before.admin.clone());
        let mut node = crate::kubelet::node("left-over");
        node.metadata.finalizers = Some(vec!["example.com/hold".into()]);
        nodes.create(&PostParams::default(), &node).await.unwrap();
        // In a namespace of its own: a load balancer would be made for it in the next test.
        let namespace: Namespace = serde_json::from_value(json!({ "metadata": { "name": "of-one-test" } })).unwrap();
        Api::all(before.admin.clone()).create(&PostParams::default(), &namespace).await.unwrap();
        let service = json!({ "metadata": { "name": "left-over" }, "spec": { "ports": [{ "port": 80 }] } });
        let service: Service = serde_json::from_value(service).unwrap();
        let services = Api::namespaced(before.admin.clone(), "of-one-test");
        services.create(&PostParams::default(), &service).await.unwrap();
        // On a node, whose kubelet would have to end it: a volume of the next test would stay at that node.
        let account: ServiceAccount = serde_json::from_value(json!({ "metadata": { "name": "default" } })).unwrap();
        let accounts = Api::namespaced(before.admin.clone(), "of-one-test");
        accounts.create(&PostParams::default(), &account).await.unwrap();
        let containers = json!([{ "name": "main", "image": "none" }]);
        let pod = json!({ "metadata": { "name": "left-over" }, "spec": { "nodeName": "left-over", "containers": containers } });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let pods = Api::namespaced(before.admin.clone(), "of-one-test");
        pods.create(&PostParams::default(), &pod).await.unwrap();
        drop(before);

        let cluster = take_slot(slot, slot.exclusive.lock().await).await;
        let nodes: Api<Node> = Api::all(cluster.admin.clone());
        let left = nodes.list(&ListParams::default()).await.unwrap();
        assert_eq!(left.items.len(), 0);
        let services: Api<Service> = Api::all(cluster.admin.clone());
        let names: Vec<_> =
            services.list(&ListParams::default()).await.unwrap().items.iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, ["kubernetes"]);
        let pods: Api<Pod> = Api::all(cluster.admin.clone());
        assert_eq!(pods.list(&ListParams::default()).await.unwrap().items.len(), 0);
        assert_eq!(cluster.audit().requests().unwrap().len(), 0);
    }

    #[tokio::test]
    async fn aerostat_may_do_its_work_and_nothing_else() {
        let mut cluster = cluster().await;
        cluster.forbids();
        let nodes: Api<Node> = Api::all(cluster.admin.clone());
        let node = crate::kubelet::node("n1");
        nodes.create(&PostParams::default(), &node).await.unwrap();

        let nodes: Api<Node> = Api::all(cluster.aerostat.clone());
        let label = json!({ "metadata": { "labels": { "a": "b" } } });
        let merge = Patch::Merge(&label);
        nodes.patch("n1", &PatchParams::default(), &merge).await.unwrap();
        let ready = json!({ "status": { "phase": "Running" } });
        nodes.patch_status("n1", &PatchParams::default(), &Patch::Merge(&ready)).await.unwrap();
        nodes.delete("n1", &kube::api::DeleteParams::default()).await.unwrap();
        let services: Api<Service> = Api::namespaced(cluster.aerostat.clone(), "default");
        let forbidden = [
            nodes.create(&PostParams::default(), &node).await.err(),
            services.patch("kubernetes", &PatchParams::default(), &merge).await.err(),
            Api::<Secret>::namespaced(cluster.aerostat.clone(), "kube-system").list(&ListParams::default()).await.err(),
            Api::<ConfigMap>::namespaced(cluster.aerostat.clone(), "default").get("any").await.err(),
            Api::<Lease>::namespaced(cluster.aerostat.clone(), "kube-system").get("another").await.err(),
        ];
        for error in forbidden {
            let Some(kube::Error::Api(status)) = error else {
                panic!("allowed, or not asked: {error:?}");
            };
            assert!(status.is_forbidden(), "{status:?}");
        }

        cluster.audit().settle(&cluster.admin).await.unwrap();
        let writes = cluster.audit().writes().unwrap();
        let seen: Vec<_> = writes.iter().map(|it| (it.verb.as_str(), it.resource(), it.response.code)).collect();
        assert_eq!(
            seen,
            [
                ("patch", "nodes".to_owned(), 200),
                ("patch", "nodes/status".to_owned(), 200),
                ("delete", "nodes".to_owned(), 200),
                ("create", "nodes".to_owned(), 403),
                ("patch", "services".to_owned(), 403),
            ]
        );
        assert_eq!(writes[0].body, label);
    }

    /// Cases: case 258
    #[tokio::test]
    #[should_panic(expected = "does not allow aerostat")]
    async fn a_forbidden_request_fails_the_test() {
        let cluster = cluster().await;
        let nodes: Api<Node> = Api::all(cluster.aerostat.clone());
        let _ = nodes.create(&PostParams::default(), &crate::kubelet::node("n1")).await;
    }

    #[tokio::test]
    async fn an_outage_begins_and_ends() {
        let cluster = cluster().await;
        cluster.control_plane.kill_api_server().await.unwrap();
        let nodes: Api<Node> = Api::all(cluster.admin.clone());
        nodes.list(&ListParams::default()).await.unwrap_err();
        cluster.control_plane.start_api_server().await.unwrap();
        nodes.list(&ListParams::default()).await.unwrap();
    }
}
