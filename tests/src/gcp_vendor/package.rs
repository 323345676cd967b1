//! Google's own provider package at work, which `make cloud-provider-gcp` builds.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::clouds::gcp::{Collection, MetadataServer, PROJECT, Place, REGION, Simulator, link};
use crate::control_plane::Cluster;
use crate::folder::Folder;
use crate::manager::{Manager, VendorManager, built};
use crate::port::free_port;

fn program() -> PathBuf {
    built("cloud-provider-gcp", "gcp-cloud-controller-manager")
}

/// The keys of `gce.conf` that it reads, in its order.
///
/// # Errors
///
/// If it does not say them.
pub fn package_keys() -> Result<Vec<String>> {
    let output = Command::new(program()).arg("keys").output().context("Google's package does not start")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
}

/// Starts it for the recordings' project. Its tokens are those of a machine.
///
/// # Panics
///
/// Panics if it has not been built, or does not start.
pub(super) fn start(cluster: &Cluster, cloud: &Simulator, metadata: &MetadataServer, flags: &[&str]) -> Manager {
    let program = program();
    let folder = Folder::new();
    // With a name it would begin the link with its endpoint, and hold that against the link that the API answers, text against text: it
    // would make each internal rule of its own again, too.
    let subnet = link(&Place::region(PROJECT, REGION).path(Collection::Subnetworks, "default"));
    let lines = [
        "[global]".to_owned(),
        format!("project-id = {PROJECT}"),
        format!("local-zone = {REGION}-b"),
        "regional = true".to_owned(),
        "network-name = default".to_owned(),
        format!("subnetwork-name = {subnet}"),
        "node-tags = k8s-node".to_owned(),
        format!("api-endpoint = {}/", cloud.compute_url()),
    ];
    let file = folder.write("gce.conf", lines.join("\n"));
    let mut arguments = vec![
        "--cloud-provider=gce".to_owned(),
        format!("--cloud-config={}", file.display()),
        "--cluster-name=kubernetes".to_owned(),
        // It listens there, whether it has webhooks or not, and several run side by side.
        format!("--webhook-secure-port={}", free_port()),
    ];
    arguments.extend(flags.iter().map(|it| (*it).to_owned()));
    let host = metadata.url().replace("http://", "");
    let authority = cloud.ca_file();
    let environment = [
        ("GCE_METADATA_HOST", host.as_ref()),
        ("SSL_CERT_FILE", authority.as_os_str()),
        ("NO_PROXY", "127.0.0.1".as_ref()),
        ("no_proxy", "127.0.0.1".as_ref()),
    ];
    Manager::Vendor(VendorManager::start(&program, folder, cluster, &arguments, &environment))
}
