//! The one who plays: aerostat, or OpenStack's own controller manager where somebody has it.

use std::path::Path;

use crate::clouds::openstack::{PASSWORD, PROJECT, Simulator};
use crate::control_plane::Cluster;
use crate::folder::Folder;
use crate::loopback::Program;
use crate::operator::Process;

/// One of them at work. Dropping it ends it.
pub(super) enum Manager {
    /// Ours.
    Aerostat(Process),
    /// OpenStack's own, and its files: the program ends before they go.
    Theirs(Program, Folder),
}

impl Manager {
    /// Starts OpenStack's own with a recorded config. Its secrets and the place of Keystone are those of the simulated region.
    pub(super) fn theirs(
        program: &Path,
        cluster: &Cluster,
        cloud: &Simulator,
        config: &str,
        settings: &[(String, String)],
        flags: &[&str],
    ) -> Self {
        let folder = Folder::new();
        let own = |key: &str, value: &str| format!("{key}={value}\n");
        let mut text = String::new();
        for line in config.lines() {
            text += &match line.split_once('=').map_or(line, |(key, _)| key) {
                "auth-url" => {
                    own("auth-url", &cloud.keystone()) + &own("ca-file", &cloud.ca_file().display().to_string())
                }
                "username" => own("username", "aerostat"),
                "password" => own("password", PASSWORD),
                "tenant-id" => own("tenant-id", PROJECT),
                _ => format!("{line}\n"),
            };
            let has = |name: &str| settings.iter().any(|(it, value)| it == name && value == "true");
            if line == "[LoadBalancer]"
                && has("loadBalancers.manageSecurityGroups")
                && !config.contains("manage-security-groups")
            {
                text += "manage-security-groups=true\n";
            }
        }
        let file = folder.write("cloud.conf", text);
        let mut arguments = vec![
            "--cloud-provider=openstack".to_owned(),
            format!("--cloud-config={}", file.display()),
            format!("--kubeconfig={}", cluster.control_plane.admin_kubeconfig().display()),
            "--secure-port=0".to_owned(),
            "--leader-elect=false".to_owned(),
        ];
        arguments.extend(flags.iter().map(|it| (*it).to_owned()));
        let log = folder.path("manager.log");
        Self::Theirs(Program::start(program, &arguments, &[], Some(&log)), folder)
    }

    /// Ends it, and waits until it has ended.
    pub(super) async fn stop(self) {
        match self {
            Self::Aerostat(process) => process.stop().await,
            Self::Theirs(program, folder) => drop((program, folder)),
        }
    }
}
