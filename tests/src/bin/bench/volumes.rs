//! Volumes of claims at a simulated DigitalOcean, beside the defaults of the sidecars that the vendor's driver has. These are read in the sources
//! of external-provisioner, external-attacher and external-resizer, and were not run here.

pub(crate) mod attach;
pub(crate) mod claims;
pub(crate) mod restart;
pub(crate) mod steady;

use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::PersistentVolume;
use k8s_openapi::api::storage::v1::{CSINode, StorageClass, VolumeAttachment};
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json};
use tests::audit_log::AuditLog;
use tests::clouds::digitalocean::{Simulator, Volume};
use tests::control_plane::{ControlPlane, FIRST_PAGE, Options, apply_roles};
use tests::guests;
use tests::simulator::Recorded;
use tests::vendor::manifest;

use crate::account::{Account, Config};
use crate::cloud;
use crate::contender::{Flags, Running, aerostat};
use crate::leadership::Leadership;
use crate::objects;
use crate::requests::{Kinds, total};
use crate::table::{Table, row};
use crate::usage::Usage;

/// The vendor's driver.
const DRIVER: &str = "dobs.csi.digitalocean.com";
/// The vendor's class.
const CLASS: &str = "do-block-storage";
/// The label by which the driver knows where its volumes can go, and where they all are.
const PLACE: (&str, &str) = ("region", "fra1");
/// Finalizers of PersistentVolumes and of VolumeAttachments.
const PROVISIONER: &str = "external-provisioner.volume.kubernetes.io/finalizer";
const ATTACHER: &str = "external-attacher/dobs-csi-digitalocean-com";
/// The page with the roles for volumes, from `deploy/`.
const PAGE: &str = "../docs/volumes.md";
/// The provider's page, which has the rules for volumes.
const RULES: &str = include_str!("../../../../providers/digitalocean/README.md");
/// The controllers of volumes run where they are named.
const CONTROLLERS: &str = "--controllers=*,volume-provisioner,volume-attacher,volume-expander";
/// As many volumes as the vendor's driver counts for a droplet.
const PER_NODE: usize = 7;
/// As many volumes as a page of their list has.
const PER_PAGE: usize = 200;
/// Writes to the API server that are under way at the same time.
const AT_ONCE: usize = 32;
/// How large a module may be.
const LARGEST_MODULE: usize = 614_400;
/// How long a step may take.
const PATIENCE: Duration = Duration::from_mins(20);

/// Prints the sizes of the modules that make volumes.
pub(crate) fn sizes() -> Result<()> {
    let mut table = Table::new("modules with volumes", &["bytes", "wanted"]);
    for path in [guests::DIGITALOCEAN, guests::HETZNER, guests::AWS_EBS, guests::GCP_PD, guests::OPENSTACK_CINDER] {
        let path = Path::new(path);
        let size = std::fs::metadata(path).with_context(|| format!("cannot see {}", path.display()))?.len();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        table.row(&name, &[size.to_string(), format!("{LARGEST_MODULE} or less")]);
    }
    table.print()
}

/// A table with ours, and the sidecars by default, as their sources have it.
fn beside_sidecars(title: &str) -> Table {
    Table::new(title, &["aerostat", "sidecars, from their sources", "wanted"])
}

/// A cluster with this cloud.
struct VolumeGround {
    control_plane: ControlPlane,
    admin: Client,
    cloud: Simulator,
}

impl VolumeGround {
    /// With so many droplets, each the machine of a CSINode.
    async fn start(droplets: usize) -> Result<Self> {
        let control_plane = ControlPlane::start(Options::default()).await?;
        let admin = control_plane.admin().await?;
        apply_roles(&admin, PAGE).await?;
        let class = json!({ "metadata": { "name": CLASS }, "provisioner": DRIVER, "volumeBindingMode": "Immediate" });
        objects::create(&control_plane, vec![from_value::<StorageClass>(class)?], Api::all).await?;
        let csi_nodes: Vec<CSINode> = made(0..droplets, csi_node)?;
        objects::create(&control_plane, csi_nodes, Api::all).await?;
        Ok(Self { control_plane, admin, cloud: cloud::simulator(droplets).await? })
    }

    /// Starts aerostat with these flags, and waits until it leads.
    async fn lead(&self, flags: Flags) -> Result<Running> {
        let leadership = Leadership::of(&self.control_plane).await?;
        leadership.clear().await?;
        let running =
            aerostat(flags).start_with(&self.control_plane, &WithVolumes(&self.cloud), &[CONTROLLERS]).await?;
        leadership.wait_for_another(None).await?;
        Ok(running)
    }

    /// So many volumes in the cloud with their PersistentVolumes, as an earlier leader left them. Each is at the machine of its node, or at none.
    async fn add_volumes(&self, volumes: usize, are_attached: bool) -> Result<()> {
        for number in 0..volumes {
            let droplet = are_attached.then(|| droplet(node_of(number)));
            self.cloud.volumes().insert(Volume { droplet, ..Volume::new(&handle(number), &name(number)) });
        }
        let all: Vec<PersistentVolume> = made(0..volumes, persistent_volume)?;
        objects::create(&self.control_plane, all, Api::all).await.map(drop)
    }

    /// VolumeAttachments of the first of them, as an earlier leader left them.
    async fn add_attached(&self, volumes: usize) -> Result<()> {
        let attached = |number| attachment(number, node_of(number), true);
        let all: Vec<VolumeAttachment> = made(0..volumes, attached)?;
        objects::create(&self.control_plane, all, Api::all).await?;
        // The API server takes no status with a creation.
        let attachments: Api<VolumeAttachment> = Api::all(self.admin.clone());
        let said = stream::iter(0..volumes).map(|number| {
            let attachments = attachments.clone();
            let metadata = json!({ "dobs.csi.digitalocean.com/volume-name": name(number) });
            let status = json!({ "status": { "attached": true, "attachmentMetadata": metadata } });
            async move {
                let (name, params) = (attachment_name(number), PatchParams::default());
                attachments.patch_status(&name, &params, &Patch::Merge(status)).await.map(drop)
            }
        });
        Ok(said.buffer_unordered(AT_ONCE).try_collect().await?)
    }

    /// The requests about volumes that arrived from a moment until another one.
    fn asked(&self, from: SystemTime, until: SystemTime) -> Vec<Recorded> {
        let all = crate::requests::between(&self.cloud, from, until).into_iter();
        all.filter(|it| it.path.starts_with("/v2/volumes")).collect()
    }

    async fn end(self) -> Result<()> {
        self.cloud.stop().await;
        self.control_plane.stop().await
    }
}

/// The cloud with the rules and the setting for volumes.
struct WithVolumes<'a>(&'a Simulator);

impl Account for WithVolumes<'_> {
    fn token(&self) -> &str {
        self.0.token()
    }

    fn arguments(&self) -> Result<Vec<String>> {
        self.0.arguments()
    }

    fn page(&self) -> &'static str {
        FIRST_PAGE
    }

    fn config(&self, folder: &Path) -> Result<Config> {
        let mut config = self.0.config(folder)?;
        config.provider["settings"] = json!({ "volumes": "true" });
        let allow = config.endpoints[0]["allow"].as_array_mut().context("the endpoint has rules")?;
        allow.extend(manifest::volume_rules(RULES));
        Ok(config)
    }
}

/// Aerostat's requests for objects, without lists and Leases, by what they are.
async fn api_requests(audit: &AuditLog, admin: &Client) -> Result<Kinds> {
    audit.settle(admin).await?;
    let mut kinds = Kinds::new();
    let events = audit.events()?.into_iter().filter(|it| it.object.namespace == "default");
    for request in audit.requests()?.into_iter().chain(events) {
        *kinds.entry(format!("{} {}", request.verb, request.resource())).or_default() += 1.0;
    }
    Ok(kinds)
}

/// How many of them write, events aside.
fn writes(kinds: &Kinds) -> f64 {
    total(kinds.iter().filter(|(kind, _)| !kind.starts_with("get ") && !is_event(kind)).map(|it| it.1))
}

/// How many of them are events.
fn events(kinds: &Kinds) -> f64 {
    total(kinds.iter().filter(|(kind, _)| is_event(kind)).map(|it| it.1))
}

fn is_event(kind: &str) -> bool {
    kind.ends_with(" events")
}

/// A row for each kind of request, divided by so many objects.
fn details(table: &mut Table, kinds: &Kinds, objects: f64) {
    for (kind, times) in kinds {
        row(table, &format!("    {kind}"), format!("{:.2}", times / objects), "", "");
    }
}

/// Rows about the memory of a process.
fn memory(table: &mut Table, usage: &Usage) {
    row(table, "RSS", crate::comparison::megabytes(usage.resident as f64), "", "");
    row(table, "peak RSS", crate::comparison::megabytes(usage.peak as f64), "", "");
}

fn made<K: DeserializeOwned>(numbers: impl Iterator<Item = usize>, one: impl Fn(usize) -> Value) -> Result<Vec<K>> {
    Ok(numbers.map(|it| from_value(one(it))).collect::<serde_json::Result<_>>()?)
}

/// The node that has a volume.
fn node_of(volume: usize) -> usize {
    volume / PER_NODE
}

/// The droplet of a node.
fn droplet(node: usize) -> u64 {
    1_000_000 + node as u64
}

/// The name of a volume and of its PersistentVolume.
fn name(number: usize) -> String {
    format!("pvc-{}", handle(number))
}

/// The id of a volume.
fn handle(number: usize) -> String {
    uuid::Uuid::from_u128(0x506f_78a4_e098_11e5_ad9f_0000_0000_0000 + number as u128).to_string()
}

fn attachment_name(number: usize) -> String {
    format!("csi-{}", handle(number))
}

fn csi_node(number: usize) -> Value {
    let drivers = json!([{ "name": DRIVER, "nodeID": droplet(number).to_string(), "topologyKeys": [PLACE.0] }]);
    json!({ "metadata": { "name": cloud::name(number) }, "spec": { "drivers": drivers } })
}

fn persistent_volume(number: usize) -> Value {
    let row = json!({ "key": PLACE.0, "operator": "In", "values": [PLACE.1] });
    json!({
        "metadata": {
            "name": name(number),
            "finalizers": [PROVISIONER, ATTACHER],
            "annotations": { "pv.kubernetes.io/provisioned-by": DRIVER },
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": { "storage": "10Gi" },
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": CLASS,
            "csi": { "driver": DRIVER, "volumeHandle": handle(number) },
            "nodeAffinity": { "required": { "nodeSelectorTerms": [{ "matchExpressions": [row] }] } },
        },
    })
}

/// A VolumeAttachment, as kube-controller-manager makes it, or begun already.
fn attachment(number: usize, node: usize, is_begun: bool) -> Value {
    let source = json!({ "persistentVolumeName": name(number) });
    let mut attachment = json!({
        "metadata": { "name": attachment_name(number) },
        "spec": { "attacher": DRIVER, "nodeName": cloud::name(node), "source": source },
    });
    if is_begun {
        attachment["metadata"]["finalizers"] = json!([ATTACHER]);
        attachment["metadata"]["annotations"] = json!({
            "csi.alpha.kubernetes.io/node-id": droplet(node).to_string(),
            "aerostat.dev/volume-handle": handle(number),
        });
    }
    attachment
}
