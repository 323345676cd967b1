//! What a claim waits for in the cloud. No client, no clock.

use cloud_provider::{CloudVolume, VolumeState};

use crate::volume_lists::Awaited;

/// A volume that is to have so many bytes.
#[derive(Debug)]
pub(super) struct AwaitedSize {
    pub(super) handle: String,
    pub(super) bytes: u64,
}

impl Awaited for AwaitedSize {
    fn handle(&self) -> &str {
        &self.handle
    }

    fn is_shown(&self, volume: &CloudVolume) -> bool {
        volume.state != VolumeState::Changing && volume.bytes >= self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases: csi 60
    #[test]
    fn a_volume_has_grown_where_it_is_at_rest_with_its_size() {
        let awaited = AwaitedSize { handle: "v1".to_owned(), bytes: 10 };
        let volume = |bytes, state| CloudVolume { bytes, state, ..CloudVolume::default() };
        assert!(awaited.is_shown(&volume(10, VolumeState::Ready)));
        assert!(awaited.is_shown(&volume(11, VolumeState::Ready)));
        assert!(!awaited.is_shown(&volume(9, VolumeState::Ready)), "it may have failed, or not have begun");
        assert!(!awaited.is_shown(&volume(10, VolumeState::Changing)));
    }
}
