//! Where the story happens: a cluster, and an account. Neither knows who manages the volumes.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::story::{LateAnswer, VolumeChange};
use super::{ground, machines};
use crate::beside::Asked;
use crate::clouds::digitalocean::{Fault, Simulator};
use crate::control_plane::Cluster;
use crate::operator::Setup;
use crate::wait;

/// How late the answer is about a disk whose claim goes meanwhile. The provisioner waits for ten seconds.
const LATE: Duration = Duration::from_secs(3);

/// A cluster with two nodes, and an account with their droplets.
pub struct VolumeStage {
    /// The cluster.
    pub cluster: Cluster,
    /// The account.
    pub cloud: Simulator,
    /// Aerostat's configuration.
    pub(super) setup: Setup,
    /// The names of all claims that there have been, by their UIDs.
    pub(super) claims: Mutex<BTreeMap<String, String>>,
}

impl VolumeStage {
    /// A new one.
    ///
    /// # Panics
    ///
    /// Panics if there is no control plane.
    pub async fn new() -> Self {
        let (cluster, cloud) = tokio::join!(ground::cluster(), ground::account());
        let setup = ground::setup(&cluster, &cloud);
        Self { cluster, cloud, setup, claims: Mutex::default() }
    }

    /// Aerostat as another replica of the story's, with a folder and a port of its own.
    #[must_use]
    pub fn replica(&self) -> Setup {
        ground::setup(&self.cluster, &self.cloud)
    }

    /// Lets something happen.
    pub(super) async fn apply(&self, change: &VolumeChange) {
        let delete = DeleteParams::default();
        match change {
            VolumeChange::Claim(name, class, size) => drop(self.claim(name, class, size).await),
            VolumeChange::Select(claim, node) => machines::select(&self.claims(), claim, node).await,
            VolumeChange::Run(pod, node, claims) => machines::run(&self.cluster, pod, node, claims).await,
            VolumeChange::End(pod, node) => machines::end(&self.cluster, pod, node).await,
            VolumeChange::Ask(claim, size) => {
                let asks = Patch::Merge(json!({ "spec": { "resources": { "requests": { "storage": size } } } }));
                self.claims().patch(claim, &PatchParams::default(), &asks).await.expect("the claim may grow");
            }
            VolumeChange::Grown(claim, size) => machines::grown(&self.claims(), claim, size).await,
            VolumeChange::Delete(claim) => drop(self.claims().delete(claim, &delete).await.expect("it is there")),
            VolumeChange::DeleteVolume(claim) => {
                let uid = self.known().iter().find(|it| it.1 == claim).map(|it| it.0.clone()).unwrap_or_default();
                let volumes: Api<PersistentVolume> = Api::all(self.cluster.admin.clone());
                volumes.delete(&format!("pvc-{uid}"), &delete).await.expect("it is there");
            }
            VolumeChange::ComeAndGo(claim, answer) => self.come_and_go(claim, *answer).await,
        }
    }

    async fn claim(&self, name: &str, class: &str, size: &str) -> String {
        let claim = json!({
            "metadata": { "name": name },
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": class,
                "resources": { "requests": { "storage": size } },
            },
        });
        let claim = serde_json::from_value(claim).expect("it is a claim");
        let made = self.claims().create(&PostParams::default(), &claim).await.expect("the API server takes a claim");
        let uid = made.uid().unwrap_or_default();
        self.claims.lock().unwrap_or_else(PoisonError::into_inner).insert(uid.clone(), name.to_owned());
        uid
    }

    /// The claim goes once its disk is there, and before that is answered.
    async fn come_and_go(&self, claim: &str, answer: LateAnswer) {
        let fault = match answer {
            LateAnswer::Good => Fault::late("POST", "/v2/volumes", LATE),
            LateAnswer::Lost => Fault::nothing("POST", "/v2/volumes").delay(LATE),
        };
        self.cloud.inject(fault.times(1));
        let uid = self.claim(claim, "csi-now", "1Gi").await;
        wait::until("the disk is asked for", async || {
            let asked = self.cloud.requests_to("POST", "/v2/volumes");
            asked.iter().any(|it| String::from_utf8_lossy(&it.body).contains(&uid)).then_some(())
        })
        .await;
        self.claims().delete(claim, &DeleteParams::default()).await.expect("it is there");
        wait::until("the claim is gone", async || self.claims().get_opt(claim).await.ok().filter(Option::is_none))
            .await;
    }

    pub(super) fn claims(&self) -> Api<PersistentVolumeClaim> {
        Api::namespaced(self.cluster.admin.clone(), "default")
    }

    /// The names of all claims that there have been, by their UIDs.
    pub(super) fn known(&self) -> BTreeMap<String, String> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The requests since then, with `{id}` in the place of ids.
    pub(super) fn asked(&self, since: usize) -> Asked {
        let requests = self.cloud.requests_from(since);
        Asked::of(requests.iter().map(|it| (action(it.method.as_str(), &it.path), it.method.as_str() != "GET")))
    }

    /// When the last request came.
    pub(super) fn last(&self) -> Option<SystemTime> {
        self.cloud.requests().last().map(|it| it.at)
    }

    /// Ends kube-controller-manager, which belongs to this story.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be ended.
    pub async fn end(self) {
        self.cluster.control_plane.kill_controller_manager().await.expect("it runs");
        self.cloud.assert_valid();
    }
}

/// `GET /v2/volumes/{id}/actions`. What is no word is an id.
fn action(method: &str, path: &str) -> String {
    let is_word = |it: &str| it == "v2" || it.bytes().all(|it| it.is_ascii_lowercase());
    let part = |it: &str| if is_word(it) { it.to_owned() } else { "{id}".to_owned() };
    format!("{method} {}", path.split('/').map(part).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_about_other_volumes_are_the_same_requests() {
        let path = "/v2/volumes/506f78a4-e098-11e5-ad9f-000f53306ae1/actions/72531856";
        assert_eq!(action("GET", path), "GET /v2/volumes/{id}/actions/{id}");
        assert_eq!(action("POST", "/v2/volumes"), "POST /v2/volumes");
    }
}
