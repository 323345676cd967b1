//! OpenStack's own controller manager as the one who plays, where somebody has it.

use std::path::Path;

use crate::clouds::openstack::{PASSWORD, PROJECT, Simulator};
use crate::control_plane::Cluster;
use crate::folder::Folder;
use crate::manager::{Manager, VendorManager};

/// Starts OpenStack's own with a recorded config. Its secrets and the place of Keystone are those of the simulated region.
pub(super) fn theirs(
    program: &Path,
    cluster: &Cluster,
    cloud: &Simulator,
    config: &str,
    settings: &[(String, String)],
    flags: &[&str],
) -> Manager {
    let folder = Folder::new();
    let own = |key: &str, value: &str| format!("{key}={value}\n");
    let mut text = String::new();
    for line in config.lines() {
        text += &match line.split_once('=').map_or(line, |(key, _)| key) {
            "auth-url" => own("auth-url", &cloud.keystone()) + &own("ca-file", &cloud.ca_file().display().to_string()),
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
    let mut arguments = vec!["--cloud-provider=openstack".to_owned(), format!("--cloud-config={}", file.display())];
    arguments.extend(flags.iter().map(|it| (*it).to_owned()));
    Manager::Vendor(VendorManager::start(program, folder, cluster, &arguments, &[]))
}
