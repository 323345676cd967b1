//! Attachments that were sent, and whose answers were lost: they may still arrive at the cloud. No client, no clock.
//!
//! A process knows which of its own answers were lost. Of those before it none is left to say: of each attachment that was begun, and is not said to
//! be attached, it takes it that a request was sent in the last moment before it began itself. Nothing has to be written for that.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::ResourceExt as _;
use tokio::time::Instant;

use super::plan::{self, NODE_ID, VolumeTarget};

/// When such an attachment was sent last.
#[derive(Debug, Default)]
pub(super) struct UnclearAttachments {
    /// By this process: by the handle of its volume and the node id of its machine.
    lost: HashMap<(String, String), Instant>,
    inherited: Option<InheritedAttachments>,
}

/// Attachments that a process before may have sent until this time, by their UIDs.
#[derive(Debug)]
struct InheritedAttachments {
    until: Instant,
    uids: HashSet<String>,
}

/// Whether a process before may have sent this attachment without learning what has become of it: it was begun, by this controller or by the
/// external attacher, and is not said to be attached.
pub(super) fn may_be_on_its_way(attachment: &VolumeAttachment, driver: &str) -> bool {
    attachment.spec.attacher == driver
        && attachment.annotations().contains_key(NODE_ID)
        && !plan::is_attached(attachment)
}

impl UnclearAttachments {
    /// This process begins now, and finds these attachments.
    pub(super) fn inherit<'a>(
        &mut self,
        all: impl IntoIterator<Item = &'a VolumeAttachment>,
        driver: &str,
        now: Instant,
    ) {
        let sent = all.into_iter().filter(|it| may_be_on_its_way(it, driver));
        self.inherited =
            Some(InheritedAttachments { until: now, uids: sent.filter_map(|it| it.metadata.uid.clone()).collect() });
    }

    /// The answer to an attachment did not come. Until `arrival` is over it may still be carried out.
    pub(super) fn lost(&mut self, target: &VolumeTarget, arrival: Duration, now: Instant) {
        self.lost.retain(|_, at| now.saturating_duration_since(*at) < arrival);
        self.lost.insert(key(target), now);
    }

    /// The volume of the attachment with this UID is attached: what was sent has arrived.
    pub(super) fn arrived(&mut self, uid: Option<&str>, target: &VolumeTarget) {
        self.lost.remove(&key(target));
        if let (Some(inherited), Some(uid)) = (&mut self.inherited, uid) {
            inherited.uids.remove(uid);
        }
    }

    /// How long after a question that began at `asked` the volume of the attachment with this UID may still come to the machine, although it was not
    /// there; `None` if it cannot.
    pub(super) fn rest(
        &mut self,
        uid: Option<&str>,
        target: &VolumeTarget,
        arrival: Duration,
        asked: Instant,
    ) -> Option<Duration> {
        let left = |sent: Instant| {
            let rest = arrival.checked_sub(asked.saturating_duration_since(sent));
            rest.filter(|it| !it.is_zero())
        };
        let key = key(target);
        let own = self.lost.get(&key).copied().and_then(left);
        if own.is_none() {
            self.lost.remove(&key);
        }
        if self.inherited.as_ref().is_some_and(|it| left(it.until).is_none()) {
            self.inherited = None;
        }
        let inherited = self.inherited.as_ref().filter(|it| uid.is_some_and(|uid| it.uids.contains(uid)));
        own.max(inherited.and_then(|it| left(it.until)))
    }
}

fn key(target: &VolumeTarget) -> (String, String) {
    (target.volume.handle.clone(), target.node_id.clone())
}

#[cfg(test)]
mod tests {
    use cloud_provider::KnownVolume;
    use serde_json::{Value, from_value, json};

    use super::super::plan::HANDLE;
    use super::*;

    const DRIVER: &str = "csi.fakecloud.example";
    const SECOND: Duration = Duration::from_secs(1);
    const ARRIVAL: Duration = Duration::from_secs(60);

    fn target(handle: &str, node_id: &str) -> VolumeTarget {
        let volume = KnownVolume { handle: handle.to_owned(), ..KnownVolume::default() };
        VolumeTarget { volume, node_id: node_id.to_owned() }
    }

    fn attachment(uid: &str, attacher: &str, annotations: Value, is_attached: bool) -> VolumeAttachment {
        from_value(json!({
            "metadata": { "name": uid, "uid": uid, "annotations": annotations },
            "spec": { "attacher": attacher, "nodeName": "n1", "source": { "persistentVolumeName": "pv-1" } },
            "status": { "attached": is_attached },
        }))
        .unwrap()
    }

    /// Cases: csi 50
    #[test]
    fn a_lost_attachment_counts_until_it_cannot_arrive_any_more() {
        let (mut all, now, here) = (UnclearAttachments::default(), Instant::now(), target("v-1", "m-1"));
        assert_eq!(all.rest(None, &here, ARRIVAL, now), None, "nothing was lost");
        all.lost(&here, ARRIVAL, now);
        all.lost(&here, ARRIVAL, now + 10 * SECOND);
        assert_eq!(all.rest(None, &here, ARRIVAL, now + 30 * SECOND), Some(40 * SECOND), "the last one counts");
        for other in [target("v-2", "m-1"), target("v-1", "m-2")] {
            assert_eq!(all.rest(None, &other, ARRIVAL, now), None);
        }
        assert_eq!(all.rest(None, &here, ARRIVAL, now + 70 * SECOND), None);
        assert!(all.lost.is_empty());
    }

    #[test]
    fn an_attachment_that_arrived_is_lost_no_more() {
        let (mut all, now, here) = (UnclearAttachments::default(), Instant::now(), target("v-1", "m-1"));
        all.lost(&here, ARRIVAL, now);
        all.arrived(None, &here);
        assert_eq!(all.rest(None, &here, ARRIVAL, now), None);
        all.lost(&here, ARRIVAL, now);
        all.lost(&target("v-2", "m-1"), ARRIVAL, now + ARRIVAL);
        assert_eq!(all.lost.len(), 1, "the first is too old");
    }

    /// Cases: csi 50
    #[test]
    fn attachments_that_were_begun_may_be_on_their_way() {
        let begun = || json!({ NODE_ID: "m-1", HANDLE: "v-1" });
        for (attacher, annotations, is_attached, expected) in [
            (DRIVER, begun(), false, true),
            (DRIVER, json!({ NODE_ID: "m-1" }), false, true),
            (DRIVER, begun(), true, false),
            (DRIVER, json!({ HANDLE: "v-1" }), false, false),
            (DRIVER, json!({}), false, false),
            ("another", begun(), false, false),
        ] {
            let it = attachment("1", attacher, annotations, is_attached);
            assert_eq!(may_be_on_its_way(&it, DRIVER), expected, "{it:?}");
        }
    }

    /// Cases: csi 50
    #[test]
    fn an_attachment_of_a_process_before_counts_from_the_start() {
        let (now, here) = (Instant::now(), target("v-1", "m-1"));
        let begun = |uid: &str| attachment(uid, DRIVER, json!({ NODE_ID: "m-1" }), false);
        let (one, two) = (begun("1"), begun("2"));
        let mut all = UnclearAttachments::default();
        all.inherit([&one, &two], DRIVER, now);
        assert_eq!(all.rest(Some("1"), &here, ARRIVAL, now + 20 * SECOND), Some(40 * SECOND));
        assert_eq!(all.rest(Some("3"), &here, ARRIVAL, now), None, "it has come since");
        all.lost(&here, ARRIVAL, now + 10 * SECOND);
        assert_eq!(all.rest(Some("1"), &here, ARRIVAL, now + 20 * SECOND), Some(50 * SECOND), "the later one counts");
        all.arrived(Some("1"), &here);
        assert_eq!(all.rest(Some("1"), &here, ARRIVAL, now), None);
        assert_eq!(all.rest(Some("2"), &here, ARRIVAL, now + ARRIVAL), None);
        assert!(all.inherited.is_none(), "nothing can arrive any more");
    }
}
