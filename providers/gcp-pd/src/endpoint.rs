//! Requests of the provider: what they do, what they carry, and which permissions of IAM they need. `baseUrl` ends with its project, so that
//! no rule lets another project's paths through.

use aerostat_sdk::{Effect, Endpoint, Method};
use gcp_api::COMPUTE;

/// The URL of a project, as the operator would write it.
const PROJECT_URL: &str = "https://compute.googleapis.com/compute/v1/projects/PROJECT";
/// Disks of a zone, and one of them.
const DISKS: [&str; 2] = ["/zones/*/disks", "/zones/*/disks/*"];
/// The id by which a request that is sent twice is carried out once.
const ID: &str = "requestId";

/// Compute Engine in the machines' project. A disk is begun with no image and no snapshot, and attached with none of its own.
pub(crate) fn compute() -> Endpoint {
    Endpoint::new(COMPUTE, "Compute Engine in the project of the machines", PROJECT_URL)
        .allow([Method::Get], ["/"], ["compute.projects.get"])
        .allow([Method::Get], ["/aggregated/disks"], ["compute.disks.list"])
        .allow([Method::Get], [DISKS[1]], ["compute.disks.get"])
        .allow([Method::Get], ["/zones/*/operations"], ["compute.zoneOperations.list"])
        .allow([Method::Post], [DISKS[0]], ["compute.disks.create", "compute.disks.setLabels"])
        .only([ID])
        .fields([
            "description",
            "diskEncryptionKey.kmsKeyName",
            "labels",
            "name",
            "provisionedIops",
            "provisionedThroughput",
            "sizeGb",
            "type",
        ])
        .allow_as(
            Effect::Update,
            [Method::Post],
            ["/zones/*/instances/*/attachDisk"],
            ["compute.instances.attachDisk", "compute.disks.use", "compute.disks.useReadOnly"],
        )
        .only([ID])
        .fields(["deviceName", "mode", "source", "type"])
        // Nothing takes it back.
        .allow([Method::Post], ["/zones/*/disks/*/resize"], ["compute.disks.resize"])
        .only([ID])
        .fields(["sizeGb"])
        .allow_as(
            Effect::Detach,
            [Method::Post],
            ["/zones/*/instances/*/detachDisk"],
            ["compute.instances.detachDisk", "compute.disks.use"],
        )
        .only(["deviceName", ID])
        .allow([Method::Delete], [DISKS[1]], ["compute.disks.delete"])
        .only([ID])
}
