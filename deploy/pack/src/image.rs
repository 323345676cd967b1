//! The image: a static program and certificate authorities, for each architecture. No shell, no C library, no users' file.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use oci::{Descriptor, Layout, NewManifest, Platform};
use serde_json::json;
use sha256::Digest;

use crate::archive::{ArchivedFile, gzip, tar};
use crate::authorities;

/// The user and the group, by number: there is no file with names.
const USER: &str = "65532:65532";
const PROGRAM: &str = "usr/local/bin/aerostat";
/// The first place that the program looks at for certificate authorities.
const AUTHORITIES: &str = "etc/ssl/certs/ca-certificates.crt";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

/// Adds the image of one architecture.
pub(crate) fn add(
    layout: &mut Layout,
    architecture: &str,
    program: Vec<u8>,
    annotations: &BTreeMap<String, String>,
) -> Result<Descriptor> {
    check(&program, architecture)?;
    let files = BTreeMap::from([
        (AUTHORITIES.to_owned(), ArchivedFile { mode: 0o644, bytes: authorities::pem() }),
        (PROGRAM.to_owned(), ArchivedFile { mode: 0o755, bytes: program }),
    ]);
    let layer = tar(&files, true)?;
    let config = json!({
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": USER,
            "Env": ["PATH=/usr/local/bin"],
            "Entrypoint": ["aerostat"],
            "WorkingDir": "/",
            "Labels": annotations,
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{}", Digest::of(&layer))] },
        "history": [{ "created_by": "make release" }],
    });
    let manifest = NewManifest {
        artifact_type: None,
        config: layout.add_blob(CONFIG, serde_json::to_vec(&config)?),
        layers: vec![layout.add_blob(LAYER, gzip(&layer)?)],
        subject: None,
        annotations: annotations.clone(),
    };
    let platform = Platform { architecture: architecture.to_owned(), os: "linux".to_owned() };
    Ok(Descriptor { platform: Some(platform), ..layout.add_manifest(&manifest) })
}

/// Refuses a program for another machine: it would be found out in a cluster, and not before.
fn check(program: &[u8], architecture: &str) -> Result<()> {
    let machine: u16 = match architecture {
        "amd64" => 62,
        "arm64" => 183,
        _ => bail!("there is no image for {architecture}: it is amd64 or arm64"),
    };
    let found = program.get(18..20).map(|it| u16::from_le_bytes([it[0], it[1]]));
    if !program.starts_with(b"\x7fELF\x02\x01") || found != Some(machine) {
        bail!("the program for {architecture} is none for this architecture; build it again");
    }
    Ok(())
}
