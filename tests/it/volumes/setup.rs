//! The binary with a webhook, and an API server that calls it.

use http::StatusCode;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tests::control_plane::Cluster;
use tests::guests;
use tests::operator::{Process, Setup};
use tests::port::free_port;
use tests::script::{Question, Script};
use tests::wait;

use crate::certificates::{Authority, Files};
use crate::volumes::{PROVISIONED_BY, REGION, ZONE, all, labelled, node_affinity};

/// The driver of the scripted guest's volumes.
pub(crate) const DRIVER: &str = "csi.fakecloud.example";
/// The egress without which nothing is served.
pub(crate) const GATE: &str = "--feature-gates=CloudControllerManagerWebhook=true";
/// No controller: what becomes of a volume is the webhook's work alone.
pub(crate) const NO_CONTROLLER: &str = "--controllers=-pvlabel";

/// The cluster, where aerostat may label volumes.
pub(crate) async fn cluster() -> Cluster {
    let cluster = tests::control_plane::cluster().await;
    cluster.follow("persistent-volumes/README.md").await;
    cluster
}

/// An operator who serves the webhook.
pub(crate) struct Webhook {
    pub(crate) setup: Setup,
    pub(crate) port: u16,
    pub(crate) authority: Authority,
    pub(crate) files: Files,
}

/// A guest whose volumes are a script's.
pub(crate) fn scripted(cluster: &Cluster, script: &Script) -> Setup {
    let base_url = script.base_url();
    Setup::guest(cluster, guests::SCRIPTED_NETWORK).edit(|config| {
        let allow = json!([
            { "methods": ["GET"], "paths": ["/routes", "/volumes/*"] },
            { "methods": ["POST"], "paths": ["/routes"] },
        ]);
        config["endpoints"] = json!([{ "name": "script", "baseUrl": base_url, "allow": allow }]);
    })
}

impl Webhook {
    /// Adds the webhook to a setup, with a certificate that its own authority has signed.
    pub(crate) fn new(setup: Setup) -> Webhook {
        let (authority, port) = (Authority::new(), free_port());
        let files = Files::within(&setup.folder.path(""));
        authority.write(&files);
        let [certificate, key] = files.flags();
        let port_flag = format!("--webhook-secure-port={port}");
        let setup = setup.flags(&[
            GATE,
            "--webhooks=cloud-pvl-admission",
            "--webhook-bind-address=127.0.0.1",
            &port_flag,
            &certificate,
            &key,
        ]);
        Webhook { setup, port, authority, files }
    }

    /// Starts the binary, and waits until the webhook answers.
    pub(crate) async fn started(&self) -> Process {
        let mut process = self.setup.start();
        process.says("the webhook cloud-pvl-admission answers").await;
        process
    }

    /// Lets the API server call it for every PersistentVolume, and believe an authority. The provider knows the `driver`.
    pub(crate) async fn register(&self, cluster: &Cluster, driver: &str, authority: &Authority) {
        let ca_bundle = ByteString(authority.pem().into_bytes());
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": { "name": "cloud-pvl-admission.k8s.io" },
            "webhooks": [{
                "name": "cloud-pvl-admission.k8s.io",
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["persistentvolumes"],
                }],
                "clientConfig": { "url": format!("https://127.0.0.1:{}/admit", self.port), "caBundle": ca_bundle },
                "admissionReviewVersions": ["v1"], "sideEffects": "None", "timeoutSeconds": 10, "failurePolicy": "Fail",
            }],
        });
        let configurations: Api<MutatingWebhookConfiguration> = Api::all(cluster.admin.clone());
        let apply = PatchParams::apply("tests").force();
        configurations.patch("cloud-pvl-admission.k8s.io", &apply, &Patch::Apply(configuration)).await.unwrap();
        // The API server learns of it by a watch. A volume whose labels its provisioner has written gets an affinity by them,
        // and asks no cloud.
        let mut probe = labelled("probe", driver, json!({ ZONE: "z1", REGION: "r1" }));
        probe["metadata"]["annotations"] = json!({ PROVISIONED_BY: driver });
        let probe = serde_json::from_value(probe).unwrap();
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        wait::until("the API server calls the webhook", async || {
            let created = all(cluster).create(&dry_run, &probe).await.ok()?;
            (!node_affinity(&created).is_null()).then_some(())
        })
        .await;
    }

    /// Sends a body to it, as a client that believes its authority. As an API server does, it tries once more where a
    /// connection breaks before there is an answer: a newcomer may take the place of an older connection.
    pub(crate) async fn post(&self, path: &str, content_type: &str, body: String) -> (u16, String) {
        let client = self.client(&self.authority);
        let url = format!("https://127.0.0.1:{}{path}", self.port);
        let send = || client.post(&url).header("content-type", content_type).body(body.clone()).send();
        let answer = match send().await {
            Ok(answer) => answer,
            Err(_) => send().await.unwrap(),
        };
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    /// Asks it about an object, and returns its response.
    pub(crate) async fn review(&self, object: &Value) -> Value {
        self.ask(&review(object)).await
    }

    /// As [`review`](Self::review), for an object that this user creates.
    pub(crate) async fn review_as(&self, user: &str, object: &Value) -> Value {
        let mut review = review(object);
        review["request"]["userInfo"] = json!({ "username": user });
        self.ask(&review).await
    }

    async fn ask(&self, review: &Value) -> Value {
        let (code, text) = self.post("/admit", "application/json", review.to_string()).await;
        assert_eq!(code, StatusCode::OK.as_u16(), "{text}");
        serde_json::from_str::<Value>(&text).unwrap()["response"].clone()
    }

    /// A client that believes an authority, and keeps no connection.
    pub(crate) fn client(&self, authority: &Authority) -> reqwest::Client {
        let authority = reqwest::Certificate::from_pem(authority.pem().as_bytes()).unwrap();
        let client = reqwest::Client::builder().tls_certs_only([authority]).no_proxy().pool_max_idle_per_host(0);
        client.build().unwrap()
    }
}

/// An API server's question about an object that is being created.
pub(crate) fn review(object: &Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "5a5d0c1e",
            "kind": { "group": "", "version": "v1", "kind": "PersistentVolume" },
            "resource": { "group": "", "version": "v1", "resource": "persistentvolumes" },
            "operation": "CREATE",
            "object": object,
        },
    })
}

/// How many times the script was asked about a volume.
pub(crate) fn asked(script: &Script, handle: &str) -> usize {
    let question = Question::Volume { handle: handle.to_owned() };
    script.calls().iter().filter(|it| it.question == question).count()
}
