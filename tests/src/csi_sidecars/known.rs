//! How what aerostat leaves is meant to differ from what the sidecars leave, and why.

use crate::beside::Meant;

const fn always(pattern: &'static str, reason: &'static str) -> Meant {
    Meant { pattern, reason, always: true }
}

const WHOLE: &str =
    "the driver makes a disk of 1 GiB for 1536Mi, and says that it has 1536Mi: here it has 2 GiB, and says so";

/// The most reads and writes of aerostat in the whole story: about 60 and 18, where theirs makes about 75 and 25.
pub const MOST: (usize, usize) = (68, 22);

/// All of them.
pub const TABLE: [Meant; 9] = [
    always(
        "volumes/*: disks/*/description: *",
        "the description says for which claim of which cluster the disk was made",
    ),
    always(
        "volumes/*: attachments/*/annotations/aerostat.dev/volume-handle: nothing → *",
        "the attachment keeps the handle of its volume: without its PersistentVolume theirs does not detach it",
    ),
    always("volumes/*: disks/pvc-odd/gigabytes: 1 → 2", WHOLE),
    always("volumes/*: volumes/pvc-odd/spec/capacity/storage: \"1536Mi\" → \"2Gi\"", WHOLE),
    always("volumes/*: claims/odd/capacity: \"1536Mi\" → \"2Gi\"", WHOLE),
    always(
        "volumes/*: disks/pvc-lost: * → nothing",
        "theirs forgets a claim that is gone once a call about it has failed, and its disk stays for ever",
    ),
    always(
        "volumes/*: events/lost/*: *",
        "an answer that is lost is not yet a failure: there may be a disk, and there is one",
    ),
    Meant {
        pattern: "volumes/*: events/late/*: nothing → \"Normal ProvisioningSucceeded\"",
        reason: "theirs says nothing about a claim that is gone",
        always: false,
    },
    always(
        "volumes/*: events/pvc-*: [\"Normal VolumeDelete\"] → nothing",
        "theirs tries to delete what is still attached, and says each time that it is; here that is waited for",
    ),
];
