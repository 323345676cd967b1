//! The endpoints, and what has to be allowed on each: the smallest rules that volumes of claims need.

use aerostat_sdk::{Effect, Endpoint, Method};
use openstack_api::{COMPUTE, MICROVERSION, NETWORK};

use crate::api;

/// Cinder: volumes.
pub(crate) fn volume() -> Endpoint {
    Endpoint::new(api::VOLUME, "Cinder, the API of volumes", "https://volume.example.com/v3/PROJECT")
        .header(MICROVERSION)
        .allow([Method::Get], ["/volumes", "/volumes/detail", "/volumes/*", "/messages"], [])
        .allow([Method::Post], ["/volumes"], [])
        .fields(CREATION)
        // The same path resets states and deletes by force, with other fields. Nothing takes it back that a volume has grown.
        .allow([Method::Post], ["/volumes/*/action"], [])
        .fields(["os-extend.new_size"])
        .allow([Method::Delete], ["/volumes/*"], [])
        .only([])
}

/// Nova: which server has a volume.
pub(crate) fn compute() -> Endpoint {
    Endpoint::new(COMPUTE, "Nova, the API of servers", "https://compute.example.com/v2.1")
        .header(MICROVERSION)
        .allow_as(Effect::Update, [Method::Post], ["/servers/*/os-volume_attachments"], [])
        .fields(["volumeAttachment.volumeId"])
        .allow_as(Effect::Detach, [Method::Delete], ["/servers/*/os-volume_attachments/*"], [])
        .only([])
}

/// Neutron: the project that the token is for.
pub(crate) fn network() -> Endpoint {
    Endpoint::new(NETWORK, "Neutron, the API of networks", "https://network.example.com/v2.0").allow(
        [Method::Get],
        ["/quotas/project"],
        [],
    )
}

/// The members of a volume that is made. None of them begins it with a snapshot, an image or another volume.
const CREATION: [&str; 6] = [
    "volume.availability_zone",
    "volume.description",
    "volume.metadata",
    "volume.name",
    "volume.size",
    "volume.volume_type",
];
