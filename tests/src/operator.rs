//! The operator: files for the binary, the binary itself, and what can be seen of it.
//!
//! A failure here fails the test that asked for it: everything panics, with what was seen.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::time::Duration;

use http::Method;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Event, Node, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, Role, RoleBinding};
use kube::ResourceExt;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Map, Value, json};

use crate::aerostat::{Aerostat, USER, message};
use crate::clouds::digitalocean::Simulator;
use crate::control_plane::Cluster;
use crate::folder::Folder;
use crate::port::free_port;
use crate::{guests, kubelet, wait};

/// How long the binary may take to start, to say something, or to give up.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Flags with which one of few nodes may be deleted that is as young as its test.
pub const NODES_GO_AT_ONCE: [&str; 3] =
    ["--node-deletion-warm-up=0s", "--node-deletion-grace-period=0s", "--node-deletion-budget=100"];

/// The possessions of an operator: a folder with a cloud configuration and a token, and flags.
pub struct Setup {
    /// The folder with its files.
    pub folder: Folder,
    /// The cloud configuration.
    pub config: Value,
    /// The flags, without `--cloud-config`.
    pub flags: Vec<String>,
    /// Where the binary serves `/healthz` and `/metrics`.
    pub port: u16,
}

/// The binary, running.
pub struct Process {
    /// The child process.
    pub aerostat: Aerostat,
    port: u16,
}

/// The answer of its server.
#[derive(Debug, Eq, PartialEq)]
pub struct Answer {
    /// The HTTP status.
    pub code: u16,
    /// The header `content-type`.
    pub content_type: String,
    /// The whole body.
    pub body: String,
}

impl Setup {
    /// A guest that needs no endpoint.
    pub fn guest(cluster: &Cluster, path: &str) -> Self {
        let folder = Folder::new();
        let port = free_port();
        let config = json!({
            "apiVersion": "aerostat.dev/v1alpha1",
            "kind": "CloudConfig",
            "provider": { "module": { "file": { "path": path, "sha256": guests::sha256(path) } } },
        });
        let flags = vec![
            format!("--kubeconfig={}", cluster.kubeconfig.display()),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
        ];
        Self { folder, config, flags, port }
    }

    /// The DigitalOcean provider, and what an operator has to allow by its README.
    pub fn digitalocean(cluster: &Cluster, cloud: &Simulator) -> Self {
        let mut setup = Self::guest(cluster, guests::DIGITALOCEAN);
        let token = setup.folder.write("token", format!("{}\n", cloud.token));
        setup.config["endpoints"] = json!([{
            "name": "api",
            "baseUrl": cloud.base_url(),
            "credential": "token",
            "allow": [
                { "methods": ["GET"], "paths": ["/v2/droplets", "/v2/droplets/*"] },
                { "methods": ["GET"], "paths": ["/v2/account"] },
                { "methods": ["GET"], "paths": ["/v2/load_balancers", "/v2/load_balancers/*"] },
                { "methods": ["POST"], "paths": ["/v2/load_balancers"] },
                { "methods": ["DELETE"], "paths": ["/v2/load_balancers/*"] },
                { "methods": ["PUT"], "paths": ["/v2/load_balancers/*"], "effect": "detach" },
                { "methods": ["POST"], "paths": ["/v2/load_balancers/*/droplets"], "effect": "update" },
                { "methods": ["DELETE"], "paths": ["/v2/load_balancers/*/droplets"], "effect": "detach" },
                { "methods": ["GET"], "paths": ["/v2/certificates", "/v2/certificates/*"] },
                { "methods": ["POST"], "paths": ["/v2/tags", "/v2/tags/*/resources"], "effect": "update" },
            ],
            "tls": { "caFile": cloud.ca_file() },
        }]);
        setup.config["provider"]["writesAnnotations"] =
            json!(["kubernetes.digitalocean.com/load-balancer-id", "service.beta.kubernetes.io/do-loadbalancer-type"]);
        setup.config["credentials"] = json!([{ "name": "token", "bearer": { "file": token } }]);
        setup
    }

    /// Another kubeconfig than that of the cluster.
    pub fn kubeconfig(mut self, kubeconfig: &Value) -> Self {
        let file = self.folder.write("kubeconfig", kubeconfig.to_string());
        self.flags.retain(|it| !it.starts_with("--kubeconfig="));
        self.flags.push(format!("--kubeconfig={}", file.display()));
        self
    }

    /// Adds flags.
    pub fn flags(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(|it| (*it).to_owned()));
        self
    }

    /// Changes the cloud configuration.
    pub fn edit(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.config);
        self
    }

    /// Takes the module from another file.
    pub fn module(self, path: &Path) -> Self {
        let sha256 = guests::sha256(path);
        self.edit(|config| config["provider"]["module"] = json!({ "file": { "path": path, "sha256": sha256 } }))
    }

    /// The whole command line, with the program's name.
    pub fn arguments(&self) -> Vec<String> {
        // Every JSON document is a YAML document.
        let config = self.folder.write("cloud.yaml", serde_json::to_string_pretty(&self.config).unwrap());
        let own = ["aerostat".to_owned(), format!("--cloud-config={}", config.display())];
        own.into_iter().chain(self.flags.clone()).collect()
    }

    /// Changes the cloud configuration under a binary that runs.
    pub fn rewrite(&mut self, change: impl FnOnce(&mut Value)) {
        change(&mut self.config);
        let _written = self.arguments();
    }

    /// Starts the binary.
    pub fn start(&self) -> Process {
        Process { aerostat: Aerostat::start(&self.arguments()[1..]).unwrap(), port: self.port }
    }

    /// Starts the binary and waits until its controller runs.
    pub async fn started(&self) -> Process {
        let mut process = self.start();
        process.says("started cloud-node-controller").await;
        process
    }

    /// Starts the binary, which must give up. Returns what it says last.
    pub async fn refused(&self) -> String {
        self.start().fails().await
    }

    /// The same, where the process may have so many bytes of memory for its data: with more it would end another way.
    pub async fn refused_within_memory(&self, bytes: u64) -> String {
        let process = self.start();
        let pid = Pid::from_raw(process.aerostat.pid().cast_signed()).unwrap();
        prlimit(Some(pid), Resource::Data, Rlimit { current: Some(bytes), maximum: Some(bytes) }).unwrap();
        process.fails().await
    }
}

impl Process {
    /// Waits for a line of the log.
    pub async fn says(&mut self, text: &str) -> Map<String, Value> {
        self.aerostat.wait_for(text, PATIENCE).await.unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Waits for a line of the log that comes only after this pause.
    pub async fn says_after(&mut self, pause: Duration, text: &str) -> Map<String, Value> {
        self.aerostat.wait_for(text, pause + PATIENCE).await.unwrap_or_else(|error| panic!("{error:#}"))
    }

    /// Waits until the process gives up, with exit code 1. Returns the last line of its log.
    pub async fn fails(mut self) -> String {
        let (status, lines) = self.aerostat.ended(PATIENCE).await.unwrap_or_else(|error| panic!("{error:#}"));
        let last = lines.last().map(message).unwrap_or_default().to_owned();
        assert_eq!(status.code(), Some(1), "{last}");
        last
    }

    /// Ends it as Kubernetes does. It must end well.
    pub async fn stop(self) {
        let status = self.aerostat.stop().await.unwrap();
        assert_eq!(status.code(), Some(0));
    }

    /// As [`kill`](Self::kill), and lets the Lease that it leaves end after a second.
    ///
    /// With so short a Lease while it runs, a busy machine would end processes that nobody killed.
    pub async fn kill_and_shorten_its_lease(self, cluster: &Cluster) {
        self.kill();
        shorten_lease(cluster).await;
    }

    /// As [`Process::kill_and_shorten_its_lease`], as if the window of cloud writes had passed before the next process starts. A test
    /// that kills dozens of processes in minutes would use the window up: each crash may waste a part of it.
    pub async fn kill_and_let_its_window_pass(self, cluster: &Cluster) {
        self.kill_and_shorten_its_lease(cluster).await;
        forget_writes(cluster).await;
    }

    /// Kills it, as a power failure would.
    pub fn kill(self) {
        drop(self.aerostat);
    }

    /// Asks its server. There must be one.
    pub async fn get(&self, path: &str, token: Option<&str>) -> Answer {
        self.ask(Method::GET, path, token).await
    }

    /// As [`Process::get`], with another method.
    pub async fn ask(&self, method: Method, path: &str, token: Option<&str>) -> Answer {
        ask(self.port, method, path, token).await
    }

    /// The checks that `/healthz?verbose` lists, all of which must pass.
    pub async fn checks(&self) -> Vec<String> {
        let Answer { code, body, .. } = self.get("/healthz?verbose", None).await;
        assert_eq!(code, 200, "{body}");
        let names = body.lines().filter_map(|it| it.strip_prefix("[+]")?.strip_suffix(" ok"));
        names.map(str::to_owned).collect()
    }
}

/// Asks the server on a port of this machine. There must be one.
pub async fn ask(port: u16, method: Method, path: &str, token: Option<&str>) -> Answer {
    let client = reqwest::Client::builder().danger_accept_invalid_certs(true).no_proxy().build().unwrap();
    let url = format!("https://127.0.0.1:{port}{path}");
    let response = wait::until(&format!("an answer from {url}"), async || {
        let mut request = client.request(method.clone(), &url);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        request.send().await.ok()
    })
    .await;
    let code = response.status().as_u16();
    let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    Answer { code, content_type, body: response.text().await.unwrap() }
}

/// The node as it is.
pub async fn node(cluster: &Cluster, name: &str) -> Node {
    Api::<Node>::all(cluster.admin.clone()).get(name).await.unwrap()
}

/// The pause of a node that nobody could look at for half a minute, as pauses double. An endpoint that is out of reach for fifteen seconds is
/// told at the end of one of them.
pub const NODE_BACK_OFF: Duration = Duration::from_secs(41);

/// The longest pause of a watch between its tries: half a minute, which chance may double.
pub const WATCH_BACK_OFF: Duration = Duration::from_secs(60);

/// Waits until a node is initialised.
pub async fn initialized(cluster: &Cluster, name: &str) -> Node {
    initialized_after(Duration::ZERO, cluster, name).await
}

/// As [`initialized`], where the product tries again only after this pause.
pub async fn initialized_after(pause: Duration, cluster: &Cluster, name: &str) -> Node {
    wait::until_after(pause, &format!("node {name} is initialised"), async || {
        Some(node(cluster, name).await).filter(|it| !kubelet::is_uninitialized(it))
    })
    .await
}

/// Asserts that a node is as its kubelet made it.
pub async fn assert_waits(cluster: &Cluster, name: &str) {
    let node = node(cluster, name).await;
    assert!(kubelet::is_uninitialized(&node), "the taint stays");
    assert_eq!(node.spec.unwrap().provider_id, None);
}

/// Lets the Lease of a killed process end a second after somebody sees this.
pub async fn shorten_lease(cluster: &Cluster) {
    patch_lease(cluster, json!({ "spec": { "leaseDurationSeconds": 1 } })).await;
}

/// Takes the counts of cloud writes off the Lease of a process that has ended, as if their window had passed.
pub async fn forget_writes(cluster: &Cluster) {
    patch_lease(cluster, json!({ "metadata": { "annotations": { "aerostat.dev/cloud-writes": null } } })).await;
}

async fn patch_lease(cluster: &Cluster, change: Value) {
    let leases: Api<Lease> = Api::namespaced(cluster.admin.clone(), "kube-system");
    match leases.patch("cloud-controller-manager", &PatchParams::default(), &Patch::Merge(change)).await {
        // It had not become leader.
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        patched => drop(patched.unwrap()),
    }
}

/// Waits for an event about an object whose message contains all of `parts`.
pub async fn event(cluster: &Cluster, name: &str, parts: &[&str]) -> Event {
    event_after(Duration::ZERO, cluster, name, parts).await
}

/// As [`event`], where the product tells it only after this pause.
pub async fn event_after(pause: Duration, cluster: &Cluster, name: &str, parts: &[&str]) -> Event {
    let events: Api<Event> = Api::all(cluster.admin.clone());
    let mut seen = Vec::new();
    let found = wait::within(pause + wait::DEADLINE, async || {
        let all = events.list(&ListParams::default()).await.unwrap().items;
        let about = all.into_iter().filter(|it| it.involved_object.name.as_deref() == Some(name));
        seen = about.collect::<Vec<_>>();
        seen.iter()
            .find(|it| parts.iter().all(|part| it.message.as_deref().unwrap_or_default().contains(part)))
            .cloned()
    })
    .await;
    let messages: Vec<_> = seen.iter().map(|it| (it.name_any(), it.message.clone())).collect();
    found.unwrap_or_else(|| panic!("no event about {name} says {parts:?}; there are {messages:#?}"))
}

/// Lets aerostat use these Leases, too, as an operator does who names them.
pub async fn allow_leases(cluster: &Cluster, names: &[&str]) {
    let (admin, apply) = (cluster.admin.clone(), PatchParams::apply("tests").force());
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "leases" },
        "rules": [{
            "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": names,
            "verbs": ["get", "update", "patch"],
        }],
    });
    Api::<Role>::namespaced(admin.clone(), "kube-system").patch("leases", &apply, &Patch::Apply(role)).await.unwrap();
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "leases" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "leases" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER }],
    });
    let bindings: Api<RoleBinding> = Api::namespaced(admin, "kube-system");
    bindings.patch("leases", &apply, &Patch::Apply(binding)).await.unwrap();
}

/// Asserts that a message holds all of these.
pub fn says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

/// The token of a user who may do everything.
pub async fn admin_token(cluster: &Cluster) -> String {
    let name = "tests-admin";
    let apply = PatchParams::apply("tests").force();
    let account = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": { "name": name },
    });
    let accounts: Api<ServiceAccount> = Api::namespaced(cluster.admin.clone(), "kube-system");
    accounts.patch(name, &apply, &Patch::Apply(account)).await.unwrap();
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": "kube-system" }],
    });
    let bindings: Api<ClusterRoleBinding> = Api::all(cluster.admin.clone());
    bindings.patch(name, &apply, &Patch::Apply(binding)).await.unwrap();
    let request = accounts.create_token_request(name, &PostParams::default(), &TokenRequest::default()).await.unwrap();
    request.status.unwrap().token.unwrap()
}
