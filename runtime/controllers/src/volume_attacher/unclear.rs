//! Attachments that were sent, and whose answers were lost: they may still arrive at the cloud. No client, no clock.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::plan::VolumeTarget;

/// When such an attachment was sent last, by the handle of its volume and the node id of its machine.
#[derive(Debug, Default)]
pub(super) struct UnclearAttachments(HashMap<(String, String), Instant>);

impl UnclearAttachments {
    /// The answer to an attachment did not come. Until `arrival` is over it may still be carried out.
    pub(super) fn lost(&mut self, target: &VolumeTarget, arrival: Duration, now: Instant) {
        self.0.retain(|_, at| now.saturating_duration_since(*at) < arrival);
        self.0.insert(key(target), now);
    }

    /// The volume is attached: what was sent has arrived.
    pub(super) fn arrived(&mut self, target: &VolumeTarget) {
        self.0.remove(&key(target));
    }

    /// How long after a question that began at `asked` the volume may still come to the machine, although it was not there; `None` if it cannot.
    pub(super) fn rest(&mut self, target: &VolumeTarget, arrival: Duration, asked: Instant) -> Option<Duration> {
        let key = key(target);
        let rest = arrival.checked_sub(asked.saturating_duration_since(*self.0.get(&key)?));
        let rest = rest.filter(|it| !it.is_zero());
        if rest.is_none() {
            self.0.remove(&key);
        }
        rest
    }
}

fn key(target: &VolumeTarget) -> (String, String) {
    (target.volume.handle.clone(), target.node_id.clone())
}

#[cfg(test)]
mod tests {
    use cloud_provider::KnownVolume;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const ARRIVAL: Duration = Duration::from_secs(60);

    fn target(handle: &str, node_id: &str) -> VolumeTarget {
        let volume = KnownVolume { handle: handle.to_owned(), ..KnownVolume::default() };
        VolumeTarget { volume, node_id: node_id.to_owned() }
    }

    /// Cases: csi 50
    #[test]
    fn a_lost_attachment_counts_until_it_cannot_arrive_any_more() {
        let (mut all, now, here) = (UnclearAttachments::default(), Instant::now(), target("v-1", "m-1"));
        assert_eq!(all.rest(&here, ARRIVAL, now), None, "nothing was lost");
        all.lost(&here, ARRIVAL, now);
        all.lost(&here, ARRIVAL, now + 10 * SECOND);
        assert_eq!(all.rest(&here, ARRIVAL, now + 30 * SECOND), Some(40 * SECOND), "the last one counts");
        for other in [target("v-2", "m-1"), target("v-1", "m-2")] {
            assert_eq!(all.rest(&other, ARRIVAL, now), None);
        }
        assert_eq!(all.rest(&here, ARRIVAL, now + 70 * SECOND), None);
        assert!(all.0.is_empty());
    }

    #[test]
    fn an_attachment_that_arrived_is_lost_no_more() {
        let (mut all, now, here) = (UnclearAttachments::default(), Instant::now(), target("v-1", "m-1"));
        all.lost(&here, ARRIVAL, now);
        all.arrived(&here);
        assert_eq!(all.rest(&here, ARRIVAL, now), None);
        all.lost(&here, ARRIVAL, now);
        all.lost(&target("v-2", "m-1"), ARRIVAL, now + ARRIVAL);
        assert_eq!(all.0.len(), 1, "the first is too old");
    }
}
