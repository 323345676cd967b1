//! What an attachment waits for in the cloud. No client, no clock.

use cloud_provider::{CloudVolume, VolumeState};

use super::plan::VolumeTarget;
use crate::volume_lists::Awaited;

/// An attachment that the cloud is at work on.
#[derive(Debug)]
pub(super) struct AwaitedAttachment {
    pub(super) target: VolumeTarget,
    pub(super) goes: bool,
}

impl Awaited for AwaitedAttachment {
    fn handle(&self) -> &str {
        &self.target.volume.handle
    }

    fn is_shown(&self, volume: &CloudVolume) -> bool {
        volume.state != VolumeState::Changing && volume.attached_to.contains(&self.target.node_id) != self.goes
    }
}

#[cfg(test)]
mod tests {
    use cloud_provider::KnownVolume;

    use super::*;

    /// Cases: csi 60
    #[test]
    fn an_attachment_is_done_where_its_volume_rests_at_its_machine() {
        let volume = |attached_to: &[&str], state: VolumeState| {
            let attached_to = attached_to.iter().map(|it| (*it).to_owned()).collect();
            CloudVolume { handle: "v1".to_owned(), attached_to, state, ..CloudVolume::default() }
        };
        let target = VolumeTarget { volume: KnownVolume::default(), node_id: "7".to_owned() };
        let comes = AwaitedAttachment { target: target.clone(), goes: false };
        let goes = AwaitedAttachment { target, goes: true };
        for (at, state, is_there, is_gone) in [
            (&["7"][..], VolumeState::Ready, true, false),
            (&["8", "7"], VolumeState::Ready, true, false),
            (&["8"], VolumeState::Ready, false, true),
            (&[], VolumeState::Ready, false, true),
            (&["7"], VolumeState::Changing, false, false),
            (&["8"], VolumeState::Changing, false, false),
        ] {
            let volume = volume(at, state);
            assert_eq!((comes.is_shown(&volume), goes.is_shown(&volume)), (is_there, is_gone), "{volume:?}");
        }
    }
}
