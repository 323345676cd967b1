//! Another module takes the place of the one that serves, without a restart, and goes again.

mod told;

use k8s_openapi::api::coordination::v1::Lease;
use kube::ResourceExt as _;
use kube::api::Api;
use serde_json::{Value, json};
use tests::aerostat::message;
use tests::control_plane::{Cluster, cluster};
use tests::operator::{Process, Setup, admin_token, event, initialized, says};
use tests::registry::{Access, Artifact, REPOSITORY, RealRegistry, Signer};
use tests::versioned::{Cloud, version};
use tests::{guests, kubelet, wait};

const LEASE: &str = "cloud-controller-manager";
const REFUSED: &str = "aerostat.dev/module-refused";

/// A cluster, a cloud, a registry, and a config that names the version 1.0.0.
struct Rig {
    cluster: Cluster,
    cloud: Cloud,
    registry: RealRegistry,
    setup: Setup,
    first: String,
}

impl Rig {
    async fn new() -> Self {
        let cluster = cluster().await;
        let (cloud, registry) = (Cloud::start().await, RealRegistry::distribution(Access::Anyone).await);
        let setup = Setup::guest(&cluster, guests::VERSIONED).edit(|it| it["endpoints"] = json!([cloud.endpoint()]));
        let mut rig = Self { cluster, cloud, registry, setup, first: String::new() };
        rig.first = rig.push(&version("version=1.0.0")).await;
        let first = rig.first.clone();
        rig.configure(&first);
        rig
    }

    /// Puts a module into the registry. Returns the digest of its manifest.
    async fn push(&self, module: &[u8]) -> String {
        let artifact = Artifact::new(module);
        self.registry.push(&artifact, None).await;
        artifact.digest()
    }

    /// Names a module in the config, whether the binary runs or not.
    fn configure(&mut self, digest: &str) {
        let (image, ca_file) = (format!("{}/{REPOSITORY}:1", self.registry.address()), self.registry.ca_file());
        self.setup.rewrite(|config| {
            config["provider"]["module"] =
                json!({ "oci": { "image": image, "digest": format!("sha256:{digest}"), "tls": { "caFile": ca_file } } });
        });
    }

    /// Starts the binary with a trial that a test can wait for.
    async fn started(&mut self, trial: &str) -> Process {
        self.setup.flags.push(format!("--module-trial={trial}"));
        self.setup.started().await
    }

    /// A machine, and its node, which must be initialised.
    async fn joins(&self, name: &str) {
        self.cloud.add_machine(name);
        kubelet::join(&self.cluster.admin, name).await.unwrap();
        initialized(&self.cluster, name).await;
    }

    /// What `/provider` shows.
    async fn page(&self, process: &Process) -> Value {
        let answer = process.get("/provider", Some(&admin_token(&self.cluster).await)).await;
        assert_eq!((answer.code, &*answer.content_type), (200, "application/json"), "{}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// The annotation that names a module that was rolled back.
    async fn refused(&self) -> Option<String> {
        let leases: Api<Lease> = Api::namespaced(self.cluster.admin.clone(), "kube-system");
        leases.get(LEASE).await.unwrap().annotations().get(REFUSED).cloned()
    }
}

#[tokio::test]
async fn another_digest_serves_without_a_restart() {
    let mut rig = Rig::new().await;
    let mut process = rig.started("2s").await;
    let anonymous = process.get("/provider", None).await;
    assert_eq!(anonymous.code, 403, "it is for those who may read it");
    rig.joins("worker-1").await;

    let second = rig.push(&version("version=1.1.0")).await;
    rig.configure(&second);
    let line = process.says("serves from now on").await;
    says(message(&line), &["versioned 1.1.0", &format!("@sha256:{second}"), "on trial for 2s of leading"]);
    event(&rig.cluster, LEASE, &["versioned 1.1.0 serves from now on"]).await;
    rig.joins("worker-2").await;
    process.says("what served before is dropped").await;

    let page = rig.page(&process).await;
    let shown = ["/name", "/version", "/digest", "/state"].map(|it| page.pointer(it).unwrap().as_str().unwrap());
    assert_eq!(shown, ["versioned", "1.1.0", &format!("sha256:{second}"), "serving"]);
    assert_eq!(page["capabilities"], json!(["instances", "load-balancers"]));
    assert_eq!((&page["candidate"], &page["quarantine"]), (&Value::Null, &Value::Null));
    let endpoint = &page["endpoints"][0];
    assert!(endpoint["needed"].as_array().unwrap().contains(&json!("POST /balancers")), "{endpoint}");
    assert!(endpoint["allowed"].as_array().unwrap().contains(&json!("DELETE /balancers/*")), "{endpoint}");
    let metrics = process.get("/metrics", Some(&admin_token(&rig.cluster).await)).await.body;
    assert!(metrics.contains("aerostat_module_candidate{state=\"serving\"} 1"), "{metrics}");
    process.stop().await;
}

/// A module that is not put in place: the event says why, and the version before goes on.
async fn check_refused(prepare: impl AsyncFnOnce(&mut Rig) -> String, parts: &[&str]) {
    let mut rig = Rig::new().await;
    let process = rig.started("10m").await;
    let digest = prepare(&mut rig).await;
    let found = event(&rig.cluster, LEASE, &["another provider.module is not put in place", "1.0.0 goes on"]).await;
    says(found.message.as_deref().unwrap(), parts);
    assert_eq!((found.reason.as_deref(), found.type_.as_deref()), (Some("ModuleRefused"), Some("Warning")));
    rig.joins("worker-1").await;
    assert_eq!(process.get("/readyz", None).await.code, 200);
    let page = rig.page(&process).await;
    assert_eq!((&page["version"], &page["state"]), (&json!("1.0.0"), &json!("refused")));
    assert_eq!(page["candidate"]["digest"], json!(format!("sha256:{digest}")));
    says(page["candidate"]["because"].as_str().unwrap(), parts);
    process.stop().await;
}

/// As [`check_refused`], for a module with these bytes.
async fn check_module_refused(bytes: &[u8], parts: &[&str]) {
    let prepare = async |rig: &mut Rig| {
        let digest = rig.push(bytes).await;
        rig.configure(&digest);
        digest
    };
    check_refused(prepare, parts).await;
}

#[tokio::test]
async fn a_module_that_needs_more_is_held_back() {
    let parts = [
        "versioned 1.1.0 needs what versioned 1.0.0 did not, and endpoint api does not allow it",
        "allow: - { methods: [POST], paths: ['/firewalls'] }",
        "restart, or stay with versioned 1.0.0",
    ];
    check_module_refused(&version("version=1.1.0 grown"), &parts).await;
}

#[tokio::test]
async fn a_module_of_another_name_is_refused() {
    check_module_refused(&version("version=1.1.0 name=other"), &["it is the provider other 1.1.0"]).await;
}

#[tokio::test]
async fn a_module_without_a_capability_is_refused() {
    check_module_refused(&tests::component::only_provider(), &["does not export aerostat:cloud/instances"]).await;
}

#[tokio::test]
async fn machine_code_is_not_put_in_place() {
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    check_module_refused(&program[..1 << 20], &["not a WebAssembly component"]).await;
}

#[tokio::test]
async fn an_unsigned_module_is_not_put_in_place() {
    let prepare = async |rig: &mut Rig| {
        let digest = rig.push(&version("version=1.1.0")).await;
        let signer = Signer::new(&rcgen::PKCS_ECDSA_P256_SHA256);
        let key = rig.setup.folder.write("acme.pub", signer.public_key());
        // Both at once, so that it is one change of the file.
        rig.setup.config["provider"]["module"]["signedBy"] = json!({ "keys": [key] });
        rig.setup.rewrite(|it| it["provider"]["module"]["oci"]["digest"] = json!(format!("sha256:{digest}")));
        digest
    };
    check_refused(prepare, &["no key of provider.module.signedBy.keys has signed sha256:"]).await;
}

#[tokio::test]
async fn a_module_that_crashes_on_trial_is_rolled_back() {
    let mut rig = Rig::new().await;
    let mut process = rig.started("10m").await;
    rig.joins("worker-1").await;
    let fragile = rig.push(&version("version=1.1.0 fragile")).await;
    rig.configure(&fragile);
    process.says("versioned 1.1.0 serves from now on").await;
    // What it cannot read comes only now.
    rig.cloud.becomes_new();
    for nth in 2..=7 {
        let name = format!("worker-{nth}");
        rig.cloud.add_machine(&name);
        kubelet::join(&rig.cluster.admin, &name).await.unwrap();
    }
    process.says("versioned 1.0.0 serves again").await;
    let parts = [&*format!("sha256:{fragile} was rolled back to sha256:{}", rig.first), "in quarantine", REFUSED];
    let found = event(&rig.cluster, LEASE, &parts).await;
    assert_eq!(found.reason.as_deref(), Some("ModuleRolledBack"));
    for nth in 2..=7 {
        initialized(&rig.cluster, &format!("worker-{nth}")).await;
    }
    wait::until("the Lease says which module was rolled back", async || {
        rig.refused().await.filter(|it| *it == format!("sha256:{fragile}"))
    })
    .await;
    assert_eq!(rig.page(&process).await["state"], json!("rolled-back"));
    process.stop().await;

    let first = rig.first.clone();
    rig.setup.rewrite(|it| it["provider"]["module"]["oci"]["previous"] = json!(format!("sha256:{first}")));
    let mut process = rig.setup.start();
    process.says("provider.module.oci.previous is loaded instead").await;
    process.says("provider versioned 1.0.0 from").await;
    let line = process.says("is not put in place").await;
    says(message(&line), &["was rolled back in this cluster", "versioned 1.0.0 goes on"]);
    rig.joins("worker-8").await;
    process.stop().await;
}
