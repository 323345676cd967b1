//! The baseline at work: the program of `tests/baseline`, Kubernetes' own manager, or that of a cloud's vendor, as a child process with an
//! identity of its own.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{Api, Patch, PatchParams, PostParams};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tests::control_plane::ControlPlane;
use tests::wait;

use crate::account::Account;

/// The user that it is for the API server.
pub(crate) const USER: &str = "system:serviceaccount:kube-system:baseline";

const NAMESPACE: &str = "kube-system";
const SERVICE_ACCOUNT: &str = "baseline";

/// Longer than any run.
const TOKEN_SECONDS: i64 = 24 * 60 * 60;

/// How long it may take to end.
const END: Duration = Duration::from_secs(20);

/// A running baseline. Dropping it kills it.
pub(crate) struct Baseline {
    child: Child,
}

/// Where `make baseline` puts it.
pub(crate) fn binary() -> Result<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/baseline/baseline");
    path.canonicalize().with_context(|| format!("{} is not there\n  next: make baseline", path.display()))
}

impl Baseline {
    /// Starts it. Its log goes to the folder of the control plane.
    pub(crate) async fn start(control_plane: &ControlPlane, cloud: &impl Account, flags: &[&str]) -> Result<Baseline> {
        let token = control_plane.folder().join("token");
        fs::write(&token, cloud.token())?;
        let mut command = Command::new(binary()?);
        command.args(cloud.arguments()?).arg(format!("--token-file={}", token.display())).args(flags);
        Baseline::spawn(control_plane, command).await
    }

    /// Starts kube-controller-manager with the same identity, and without an election.
    pub(crate) async fn controller_manager(control_plane: &ControlPlane, flags: &[&str]) -> Result<Baseline> {
        let mut command = Command::new(tests::control_plane::controller_manager()?);
        command.arg("--leader-elect=false").args(flags);
        Baseline::spawn(control_plane, command).await
    }

    /// Starts the manager of the cloud's vendor with the same identity.
    pub(crate) async fn vendor(control_plane: &ControlPlane, cloud: &impl Account, flags: &[&str]) -> Result<Baseline> {
        let mut command = cloud.vendor(control_plane.folder())?;
        command.args(flags);
        Baseline::spawn(control_plane, command).await
    }

    /// Starts the program with an identity of its own, without ports, and with its log in the folder of the control plane.
    async fn spawn(control_plane: &ControlPlane, mut command: Command) -> Result<Baseline> {
        let log = control_plane.folder().join(format!("baseline-{}.log", uuid::Uuid::new_v4()));
        let child = command
            .arg(format!("--kubeconfig={}", kubeconfig(control_plane).await?.display()))
            .arg("--secure-port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            // A Ctrl-C in the terminal is for us; we end the child.
            .process_group(0)
            .spawn()
            .context("cannot start the baseline")?;
        Ok(Baseline { child })
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, and waits until it has.
    pub(crate) async fn stop(mut self) -> Result<()> {
        let pid = Pid::from_raw(self.child.id().cast_signed()).context("a process has an id")?;
        kill_process(pid, Signal::TERM).context("cannot send SIGTERM")?;
        let ended = wait::within(END, async || self.child.try_wait().ok().flatten()).await;
        ended.context("the baseline does not end").map(drop)
    }
}

impl Drop for Baseline {
    fn drop(&mut self) {
        // Errors mean that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A kubeconfig for a ServiceAccount that may do anything. It is in the namespace of aerostat's: the API server gives both the same share.
async fn kubeconfig(control_plane: &ControlPlane) -> Result<PathBuf> {
    let path = control_plane.folder().join("baseline.kubeconfig");
    if path.exists() {
        return Ok(path);
    }
    let admin = control_plane.admin().await?;
    let params = PatchParams::apply("bench").force();
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), NAMESPACE);
    let account = json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": { "name": SERVICE_ACCOUNT, "namespace": NAMESPACE },
    });
    accounts.patch(SERVICE_ACCOUNT, &params, &Patch::Apply(account)).await?;
    let bindings: Api<ClusterRoleBinding> = Api::all(admin);
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": { "name": SERVICE_ACCOUNT },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "name": SERVICE_ACCOUNT, "namespace": NAMESPACE }],
    });
    bindings.patch(SERVICE_ACCOUNT, &params, &Patch::Apply(binding)).await?;
    let request = TokenRequest {
        spec: Some(TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() }),
        ..TokenRequest::default()
    };
    let answer = accounts.create_token_request(SERVICE_ACCOUNT, &PostParams::default(), &request).await?;
    let token = answer.status.context("the API server answered without a token")?.token;

    // The harness writes JSON, which is YAML.
    let mut config: Value = serde_json::from_slice(&fs::read(control_plane.admin_kubeconfig())?)?;
    config["users"][0]["user"] = json!({ "token": token });
    fs::write(&path, serde_json::to_string_pretty(&config)?)?;
    Ok(path)
}
