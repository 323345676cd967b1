//! Volumes with the cluster's mark that nothing in the cluster has: they are told of, and never deleted. No client, no clock, no log; times are
//! arguments.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use cloud_provider::CloudVolume;
use tokio::time::Instant;

use crate::quantity;

/// Whatever in the cluster may have a volume.
#[derive(Clone, Debug, Default)]
pub(super) struct VolumeOwners {
    /// The cluster's own, in marks.
    pub(super) cluster_uid: String,
    /// The handles that PersistentVolumes name.
    pub(super) handles: HashSet<String>,
    /// The UIDs of claims: those that are there, and those for which a volume was begun.
    pub(super) claims: HashSet<String>,
    /// The handles that claims have by now, by the UIDs of the claims.
    pub(super) made: HashMap<String, String>,
}

impl VolumeOwners {
    /// The volume that the claim of another one has, if the claim is there.
    fn instead_of(&self, volume: &CloudVolume) -> Option<&str> {
        let uid = volume.owner.uid.as_ref().filter(|it| self.claims.contains(*it))?;
        self.made.get(uid).map(String::as_str).filter(|it| *it != volume.handle)
    }
}

/// The orphans of the complete lists so far, by their handles.
#[derive(Debug, Default)]
pub(super) struct VolumeOrphans {
    known: HashMap<String, VolumeOrphan>,
}

#[derive(Clone, Copy, Debug)]
struct VolumeOrphan {
    /// When a list first showed it as one. Each complete list since then has.
    since: Instant,
    is_told: bool,
}

impl VolumeOrphans {
    /// Takes note of a complete list. Returns the orphans that have been so for this long, each once.
    pub(super) fn look<'v>(
        &mut self,
        volumes: &'v [CloudVolume],
        owners: &VolumeOwners,
        age: Duration,
        now: Instant,
    ) -> Vec<&'v CloudVolume> {
        let (mut known, mut news) = (HashMap::new(), Vec::new());
        for volume in volumes.iter().filter(|it| is_orphan(it, owners)) {
            let new = VolumeOrphan { since: now, is_told: false };
            let mut orphan = self.known.get(&volume.handle).copied().unwrap_or(new);
            if !orphan.is_told && now.saturating_duration_since(orphan.since) >= age {
                orphan.is_told = true;
                news.push(volume);
            }
            known.insert(volume.handle.clone(), orphan);
        }
        self.known = known;
        news
    }

    /// How many there are that were told of.
    pub(super) fn count(&self) -> usize {
        self.known.values().filter(|it| it.is_told).count()
    }
}

/// Whether a volume was made for a claim of this cluster, by its mark, and nothing has it.
fn is_orphan(volume: &CloudVolume, owners: &VolumeOwners) -> bool {
    let is_ours = volume.owner.cluster_uid.as_ref().is_some_and(|it| *it == owners.cluster_uid);
    let is_claimed = volume.owner.uid.as_ref().is_none_or(|it| owners.claims.contains(it));
    let is_claimed = is_claimed && owners.instead_of(volume).is_none();
    is_ours && !is_claimed && !owners.handles.contains(&volume.handle)
}

/// The event about an orphan.
pub(super) fn text(volume: &CloudVolume, owners: &VolumeOwners) -> String {
    let owner = &volume.owner;
    let claim =
        owners.instead_of(volume).map_or_else(|| "which is gone".to_owned(), |it| format!("which has volume {it}"));
    let word = |it: &Option<String>| it.clone().unwrap_or_else(|| "?".to_owned());
    format!(
        "volume {} ({}, {}) was made for the claim {}/{} of UID {}, {claim}, and no PersistentVolume names it: it costs money, and is not \
         deleted. Next step: delete it in the cloud, or write a PersistentVolume with its handle where it was to be kept",
        volume.handle,
        volume.name,
        quantity::binary(volume.bytes),
        word(&owner.namespace),
        word(&owner.name),
        word(&owner.uid),
    )
}

#[cfg(test)]
mod tests {
    use cloud_provider::MarkedClaim;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    fn volume(handle: &str, cluster: Option<&str>, claim: Option<&str>) -> CloudVolume {
        let owner = MarkedClaim {
            cluster_uid: cluster.map(str::to_owned),
            uid: claim.map(str::to_owned),
            namespace: Some("shop".to_owned()),
            name: Some("data".to_owned()),
        };
        CloudVolume { handle: handle.to_owned(), bytes: 2 << 30, owner, ..CloudVolume::default() }
    }

    fn owners() -> VolumeOwners {
        let one = |it: &str| HashSet::from([it.to_owned()]);
        let mut claims = one("u-2");
        claims.insert("u-3".to_owned());
        let made = HashMap::from([("u-3".to_owned(), "vol-3".to_owned()), ("u-9".to_owned(), "vol-1".to_owned())]);
        VolumeOwners { cluster_uid: "c-1".to_owned(), handles: one("vol-1"), claims, made }
    }

    /// Cases: csi 78
    #[test]
    fn volumes_of_this_cluster_that_nothing_has_are_orphans() {
        for (found, expected) in [
            (volume("vol-9", Some("c-1"), Some("u-9")), true),
            (volume("vol-1", Some("c-1"), Some("u-9")), false),
            (volume("vol-9", Some("c-1"), Some("u-2")), false),
            (volume("vol-3", Some("c-1"), Some("u-3")), false),
            (volume("vol-9", Some("c-1"), Some("u-3")), true),
            (volume("vol-9", Some("c-2"), Some("u-3")), false),
            (volume("vol-9", Some("c-2"), Some("u-9")), false),
            (volume("vol-9", None, Some("u-9")), false),
            (volume("vol-9", Some("c-1"), None), false),
        ] {
            assert_eq!(is_orphan(&found, &owners()), expected, "{found:?}");
        }
        for (uid, end) in [("u-9", "UID u-9, which is gone, and"), ("u-3", "UID u-3, which has volume vol-3, and")] {
            let message = text(&volume("vol-9", Some("c-1"), Some(uid)), &owners());
            let told = format!("volume vol-9 (, 2Gi) was made for the claim shop/data of {end}");
            assert!(message.contains(&told), "{message}");
        }
    }

    /// Cases: csi 78
    #[test]
    fn orphans_are_told_of_once_an_hour_of_lists_has_shown_them() {
        let (mut orphans, begin, owners) = (VolumeOrphans::default(), Instant::now(), owners());
        let lost = [volume("vol-9", Some("c-1"), Some("u-9"))];
        let mut at = |volumes: &[CloudVolume], hours: u32| {
            (orphans.look(volumes, &owners, HOUR, begin + HOUR * hours).len(), orphans.count())
        };
        assert_eq!([at(&lost, 0), at(&lost, 1), at(&lost, 2)], [(0, 0), (1, 1), (0, 1)]);
        assert_eq!(at(&[], 3), (0, 0), "it is gone");
        assert_eq!([at(&lost, 4), at(&lost, 5)], [(0, 0), (1, 1)], "it is one again");
    }
}
