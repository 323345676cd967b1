//! Volumes that PersistentVolumes name which were not made for their claims: a person has written them, or they came out of a backup. Before a
//! volume is abandoned the cloud is asked whether it is one of these. No client, no clock, no log.

use std::collections::{BTreeMap, HashMap};

use cloud_provider::{CloudVolume, DesiredVolume};
use k8s_openapi::api::core::v1::PersistentVolume;
use kube::ResourceExt as _;

use super::{intent, plan};

/// The cloud's words on such volumes, by their handles. Neither name nor mark of a volume changes, so that one word is enough.
#[derive(Debug, Default)]
pub(super) struct AdoptedVolumes(HashMap<String, AdoptedVolume>);

#[derive(Debug, Default)]
struct AdoptedVolume {
    name: String,
    /// The claim's UID in its mark.
    uid: Option<String>,
    /// The cloud has none with this handle: one read may say so late.
    is_absent: bool,
}

/// The handles that the driver's PersistentVolumes have, and their names, without those which are named for the claim that they are bound to: no
/// two of these have one volume.
pub(super) fn adopted<'a>(
    all: impl IntoIterator<Item = &'a PersistentVolume>,
    driver: &str,
) -> BTreeMap<String, String> {
    let is_made = |pv: &PersistentVolume| {
        let claim = pv.spec.as_ref().and_then(|it| it.claim_ref.as_ref()?.uid.as_deref());
        claim.is_some_and(|it| pv.name_any() == intent::name(it))
    };
    let others = all.into_iter().filter(|it| !is_made(it));
    others.filter_map(|it| Some((plan::handle(it, driver)?.to_owned(), it.name_any()))).collect()
}

impl AdoptedVolumes {
    /// Those of these handles that the cloud was not asked about yet. What is known of others is forgotten.
    pub(super) fn unknown(&mut self, adopted: &BTreeMap<String, String>) -> Vec<String> {
        self.0.retain(|handle, _| adopted.contains_key(handle));
        adopted.keys().filter(|it| !self.0.contains_key(*it)).cloned().collect()
    }

    /// The cloud's answer about a handle. An error: it is none of this driver, and so no volume's.
    pub(super) fn learn(&mut self, handle: &str, answer: Result<Option<CloudVolume>, String>) {
        let is_absent = answer == Ok(None);
        let (name, uid) = answer.ok().flatten().map(|it| (it.name, it.owner.uid)).unwrap_or_default();
        self.0.insert(handle.to_owned(), AdoptedVolume { name, uid, is_absent });
    }

    /// Whether the cloud was asked about this handle.
    pub(super) fn is_known(&self, handle: &str) -> bool {
        self.0.contains_key(handle)
    }

    /// All were asked about: those that were absent are asked about again the next time.
    pub(super) fn forget_absent(&mut self) {
        self.0.retain(|_, it| !it.is_absent);
    }

    /// The handle among these that is the volume which was asked for, by its name or its mark.
    pub(super) fn of<'a>(&self, desired: &DesiredVolume, adopted: &'a BTreeMap<String, String>) -> Option<&'a str> {
        let is_it = |volume: &AdoptedVolume| {
            volume.name == desired.name || volume.uid.as_deref().is_some_and(|uid| uid == desired.owner.uid)
        };
        adopted.keys().find(|handle| self.0.get(*handle).is_some_and(is_it)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use cloud_provider::{ClaimOwner, MarkedClaim};
    use serde_json::{Value, from_value, json};

    use super::*;

    const DRIVER: &str = "csi.example.com";

    fn pv(name: &str, handle: &str, claim: Value) -> PersistentVolume {
        let csi = json!({ "driver": DRIVER, "volumeHandle": handle });
        from_value(json!({ "metadata": { "name": name }, "spec": { "csi": csi, "claimRef": claim } })).unwrap()
    }

    fn volume(name: &str, uid: Option<&str>) -> Option<CloudVolume> {
        let owner = MarkedClaim { uid: uid.map(str::to_owned), ..MarkedClaim::default() };
        Some(CloudVolume { name: name.to_owned(), owner, ..CloudVolume::default() })
    }

    #[test]
    fn persistent_volumes_not_made_for_their_claims_are_found() {
        let all = [
            pv("pvc-1", "vol-1", json!({ "uid": "1" })),
            pv("by-hand", "vol-2", Value::Null),
            pv("pvc-3", "vol-3", json!({ "uid": "of-a-backup" })),
            pv("pvc-4", "vol-4", Value::Null),
        ];
        let found = adopted(&all, DRIVER);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["vol-2", "vol-3", "vol-4"]);
        assert_eq!(found["vol-2"], "by-hand");
        assert!(adopted(&all, "another").is_empty());
    }

    #[test]
    fn the_volume_of_a_claim_is_known_by_its_name_or_its_mark() {
        let owner = ClaimOwner { uid: "1".to_owned(), ..ClaimOwner::default() };
        let desired = DesiredVolume { name: "pvc-1".to_owned(), owner, ..DesiredVolume::default() };
        for (found, expected) in [
            (volume("pvc-1", None), Some("vol-1")),
            (volume("renamed", Some("1")), Some("vol-1")),
            (volume("pvc-2", Some("2")), None),
            (volume("data", None), None),
            (None, None),
        ] {
            let is_absent = found.is_none();
            let mut volumes = AdoptedVolumes::default();
            let adopted = BTreeMap::from([("vol-1".to_owned(), "by-hand".to_owned())]);
            assert_eq!(volumes.unknown(&adopted), ["vol-1"]);
            assert_eq!(volumes.of(&desired, &adopted), None, "the cloud was not asked");
            volumes.learn("vol-1", Ok(found.clone()));
            assert_eq!(volumes.unknown(&adopted), [""; 0]);
            assert_eq!(volumes.of(&desired, &adopted), expected, "{found:?}");
            volumes.forget_absent();
            assert_eq!(volumes.unknown(&adopted).is_empty(), !is_absent, "one read may be late");
            volumes.learn("vol-1", Err("it is no handle".to_owned()));
            volumes.forget_absent();
            assert_eq!(volumes.unknown(&adopted), [""; 0]);
            assert_eq!(volumes.unknown(&BTreeMap::new()), [""; 0]);
            assert_eq!(volumes.unknown(&adopted), ["vol-1"], "it was away");
        }
    }
}
