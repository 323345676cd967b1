//! A running control plane: its start, its end, and what may become of its servers between.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use kube::Client;

use super::certificates::{self, Authority};
use super::process::Process;
use super::{access, binaries};
use crate::audit_log::AuditLog;
use crate::port;

/// How long the control plane may take until it is ready, on a machine that compiles at the same time.
const START: Duration = Duration::from_secs(120);

/// So many lines of kube-controller-manager's log are shown where a test fails.
const SHOWN_LINES: usize = 60;

/// The properties of a control plane.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether kube-controller-manager runs as well: it judges nodes by their heartbeats, and collects garbage.
    pub controller_manager: bool,
    /// Whether new nodes get the taint `node.kubernetes.io/not-ready` from the API server, and ServiceAccounts matter
    /// to Pods, as in a cluster for use. Without it, only the test and aerostat write Nodes.
    pub full_admission: bool,
    /// The pod network, from which kube-controller-manager gives each node its part: `10.244.0.0/16`.
    pub cluster_cidr: Option<String>,
    /// Whether kube-scheduler runs as well, so that Pods come to nodes.
    pub scheduler: bool,
    /// The nodes whose kubelets get a kubeconfig of their own: [`ControlPlane::kubelet_kubeconfig`].
    pub kubelets: Vec<String>,
}

/// A running control plane. Dropping it ends it.
#[derive(Debug)]
pub struct ControlPlane {
    // In the order in which they end.
    pub(super) scheduler: Mutex<Option<Process>>,
    pub(super) controller_manager: Mutex<Option<Process>>,
    pub(super) api_server: Mutex<Option<Process>>,
    pub(super) etcd: Mutex<Option<Process>>,
    pub(super) options: Options,
    pub(super) folder: PathBuf,
    pub(super) ports: Ports,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    pub(super) etcd: u16,
    pub(super) etcd_peer: u16,
    pub(super) api_server: u16,
    pub(super) controller_manager: u16,
    pub(super) scheduler: u16,
}

impl ControlPlane {
    /// Starts a control plane and waits until it is ready.
    ///
    /// # Errors
    ///
    /// Fails if binaries are missing, or with the end of a server's log if it does not become ready.
    pub async fn start(options: Options) -> Result<ControlPlane> {
        access::install_crypto();
        let folder = binaries::workspace().join("target/control-plane/run").join(format!(
            "{}-{}",
            std::process::id(),
            uuid::Uuid::new_v4()
        ));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let [etcd, etcd_peer, api_server, controller_manager, scheduler] = port::free()?;
        let control_plane = ControlPlane {
            scheduler: Mutex::default(),
            controller_manager: Mutex::default(),
            api_server: Mutex::default(),
            etcd: Mutex::default(),
            options,
            folder,
            ports: Ports { etcd, etcd_peer, api_server, controller_manager, scheduler },
        };
        control_plane.write_files()?;
        *lock(&control_plane.etcd) = Some(Process::start(control_plane.etcd_command()?)?);
        control_plane.start_api_server().await?;
        if control_plane.options.controller_manager {
            control_plane.start_controller_manager(&["--leader-elect=false".to_owned()])?;
        }
        if control_plane.options.scheduler {
            *lock(&control_plane.scheduler) = Some(Process::start(control_plane.scheduler_command()?)?);
        }
        Ok(control_plane)
    }

    /// Starts kube-controller-manager with further flags, which have to say whether it seeks a Lease.
    ///
    /// # Errors
    ///
    /// Fails if its binary is missing.
    pub fn start_controller_manager(&self, flags: &[String]) -> Result<()> {
        let process = Process::start(self.controller_manager_command(flags)?)?;
        *lock(&self.controller_manager) = Some(process);
        Ok(())
    }

    /// Kills kube-controller-manager: what it holds, it holds on to.
    ///
    /// # Errors
    ///
    /// Fails if it does not end.
    pub async fn kill_controller_manager(&self) -> Result<()> {
        with(&self.controller_manager, Process::kill)?;
        stop(&self.controller_manager).await
    }

    /// Ends kube-controller-manager, if it runs, and waits until it has ended.
    ///
    /// # Errors
    ///
    /// Fails if it does not end.
    pub async fn stop_controller_manager(&self) -> Result<()> {
        stop(&self.controller_manager).await
    }

    /// Ends all servers and waits until they have ended.
    ///
    /// # Errors
    ///
    /// Fails if one does not end.
    pub async fn stop(self) -> Result<()> {
        for server in [&self.scheduler, &self.controller_manager, &self.api_server, &self.etcd] {
            stop(server).await?;
        }
        Ok(())
    }

    /// The address of the API server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.ports.api_server)
    }

    /// Where files of this run belong. It goes when the control plane ends.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A kubeconfig for the group `system:masters`.
    #[must_use]
    pub fn admin_kubeconfig(&self) -> PathBuf {
        self.folder.join("admin.kubeconfig")
    }

    /// The kubeconfig of the kubelet of one of [`Options::kubelets`], with a client certificate of its own.
    #[must_use]
    pub fn kubelet_kubeconfig(&self, node: &str) -> PathBuf {
        self.folder.join(format!("kubelet-{node}.kubeconfig"))
    }

    /// The file with the authority of all certificates of this run, in PEM.
    #[must_use]
    pub fn authority_file(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// The port of the API server at 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.ports.api_server
    }

    /// A client for the group `system:masters`. It belongs to the runtime that it is made on.
    ///
    /// # Errors
    ///
    /// Fails if the kubeconfig cannot be used.
    pub async fn admin(&self) -> Result<Client> {
        let config = access::config(&self.admin_kubeconfig()).await?;
        Ok(Client::try_from(config)?)
    }

    /// A client that is the kubelet of this node for the API server: kept to its own Node by authorization and
    /// admission. It belongs to the runtime that it is made on.
    ///
    /// # Errors
    ///
    /// Fails if the kubeconfig cannot be used.
    pub async fn kubelet(&self, node: &str) -> Result<Client> {
        self.user(&format!("system:node:{node}"), &["system:nodes", "system:authenticated"]).await
    }

    /// A client that is this user for the API server, with the rights of it and of its groups. It belongs to the runtime
    /// that it is made on.
    ///
    /// # Errors
    ///
    /// Fails if the kubeconfig cannot be used.
    pub async fn user(&self, name: &str, groups: &[&str]) -> Result<Client> {
        let mut config = access::config(&self.admin_kubeconfig()).await?;
        config.auth_info.impersonate = Some(name.to_owned());
        config.auth_info.impersonate_groups = Some(groups.iter().map(|it| (*it).to_owned()).collect());
        Ok(Client::try_from(config)?)
    }

    /// Applies the roles of `deploy/README.md` and writes a kubeconfig with a token of aerostat's ServiceAccount.
    ///
    /// # Errors
    ///
    /// Fails if the API server refuses something.
    pub async fn aerostat_kubeconfig(&self) -> Result<PathBuf> {
        let admin = self.admin().await?;
        access::apply_roles(&admin, access::FIRST_PAGE).await?;
        self.account_kubeconfig(&admin, access::SERVICE_ACCOUNT, "aerostat").await
    }

    /// Applies the rights that a file of `deploy/` gives which installs all for a provider, and writes a kubeconfig with a token of its
    /// ServiceAccount.
    ///
    /// # Errors
    ///
    /// Fails if the file has no ServiceAccount, or if the API server refuses something.
    pub async fn installed_kubeconfig(&self, manifests: &str) -> Result<PathBuf> {
        let admin = self.admin().await?;
        let account = access::apply_rights(&admin, manifests).await?;
        self.account_kubeconfig(&admin, &account, &account).await
    }

    async fn account_kubeconfig(&self, admin: &Client, account: &str, file: &str) -> Result<PathBuf> {
        let token = access::token(admin, account).await?;
        let path = self.folder.join(format!("{file}.kubeconfig"));
        let user = serde_json::json!({ "token": token });
        access::write_kubeconfig(&path, &self.url(), &self.authority()?, &user)?;
        Ok(path)
    }

    /// How a client uses a kubeconfig of this run.
    ///
    /// # Errors
    ///
    /// Fails if the kubeconfig cannot be used.
    pub async fn config(&self, kubeconfig: &Path) -> Result<kube::Config> {
        access::config(kubeconfig).await
    }

    /// The requests to this API server, and their senders.
    #[must_use]
    pub fn audit(&self) -> AuditLog {
        AuditLog::new(self.folder.join("audit.log"))
    }

    /// Lets the API server hang: connections stay open, nothing is answered.
    ///
    /// # Errors
    ///
    /// Fails if it does not run.
    pub fn pause_api_server(&self) -> Result<()> {
        with(&self.api_server, Process::pause)
    }

    /// Ends [`ControlPlane::pause_api_server`].
    ///
    /// # Errors
    ///
    /// Fails if the API server does not run.
    pub fn resume_api_server(&self) -> Result<()> {
        with(&self.api_server, Process::resume)
    }

    /// Kills the API server: connections break, new ones are refused until [`ControlPlane::start_api_server`].
    ///
    /// # Errors
    ///
    /// Fails if it does not end.
    pub async fn kill_api_server(&self) -> Result<()> {
        with(&self.api_server, Process::kill)?;
        stop(&self.api_server).await
    }

    /// Starts the API server, where it was before, with what etcd has kept. Nothing happens if it runs.
    ///
    /// # Errors
    ///
    /// Fails with the end of the server's log if it does not become ready.
    pub async fn start_api_server(&self) -> Result<()> {
        if with(&self.api_server, Process::check).is_ok() {
            self.resume_api_server()?;
        } else {
            stop(&self.api_server).await?;
            let process = Process::start(self.api_server_command()?)?;
            *lock(&self.api_server) = Some(process);
        }
        self.wait_until_ready().await
    }

    /// Shows the end of kube-controller-manager's log, if one runs: a test that fails beside it is understood by what that has done.
    pub(super) fn show_controller_manager(&self) {
        if let Some(process) = &*lock(&self.controller_manager) {
            eprintln!("\n{}", process.last_lines(SHOWN_LINES));
        }
    }

    fn write_files(&self) -> Result<()> {
        let authority = Authority::new()?;
        fs::write(self.folder.join("ca.crt"), authority.certificate())?;
        authority.server()?.write(&self.folder, "kube-apiserver")?;
        certificates::write_service_account_keys(&self.folder)?;
        let policy = include_str!("audit-policy.yaml");
        fs::write(self.folder.join("audit-policy.yaml"), policy)?;
        let own = |file: &str, user: &str, group| (file.to_owned(), user.to_owned(), group);
        let mut users = vec![
            own("admin", "admin", Some("system:masters")),
            own("controller-manager", "system:kube-controller-manager", None),
            own("scheduler", "system:kube-scheduler", None),
        ];
        for node in &self.options.kubelets {
            users.push((format!("kubelet-{node}"), format!("system:node:{node}"), Some("system:nodes")));
        }
        for (file, user, group) in users {
            let user = access::user(&authority.client(&user, group)?);
            let path = self.folder.join(format!("{file}.kubeconfig"));
            access::write_kubeconfig(&path, &self.url(), &self.authority()?, &user)?;
        }
        Ok(())
    }

    /// The authority's certificate, in PEM.
    fn authority(&self) -> Result<String> {
        fs::read_to_string(self.authority_file()).context("the authority has gone")
    }

    async fn wait_until_ready(&self) -> Result<()> {
        let admin = self.admin().await?;
        let deadline = Instant::now() + START;
        loop {
            let Err(error) = access::ready(&admin).await else {
                return Ok(());
            };
            with(&self.etcd, Process::check)?;
            with(&self.api_server, Process::check)?;
            if Instant::now() > deadline {
                let tail = with(&self.api_server, |process| Ok(process.log_tail()))?;
                bail!("kube-apiserver is not ready after {START:?}: {error:#}\n{tail}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for ControlPlane {
    /// Tells of a failed test what kube-controller-manager said last. The servers end with their guards.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.show_controller_manager();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(server: &Mutex<Option<Process>>, act: impl FnOnce(&Process) -> Result<T>) -> Result<T> {
    act(lock(server).as_ref().context("the server was stopped")?)
}

async fn stop(server: &Mutex<Option<Process>>) -> Result<()> {
    let process = lock(server).take();
    match process {
        Some(process) => process.stop().await,
        None => Ok(()),
    }
}
