//! Attachments that the cloud is at work on, and those of them that a list of volumes shows as done. No client, no clock.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use cloud_provider::{CloudVolume, VolumeState};

use super::plan::VolumeTarget;
use crate::volume_list::REST;

/// How long an attachment waits for the list before it is asked about all the same: of one that has failed, a list shows nothing. Of many
/// it is longer, so that one is asked about in the time of a page.
const SHORTEST_WAIT: Duration = Duration::from_secs(30);
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// The attachments that the cloud is at work on. Where there are more of them than pages in the list of volumes, one list says of all
/// whether it is worth asking about them.
#[derive(Debug, Default)]
pub(super) struct PendingAttachments {
    /// Those that were asked about, and are not done.
    under_way: HashSet<String>,
    /// Those of them that wait for the list.
    listed: HashMap<String, Awaited>,
    /// How many pages the list had the last time.
    pages: usize,
}

#[derive(Debug)]
struct Awaited {
    target: VolumeTarget,
    goes: bool,
}

impl PendingAttachments {
    /// The cloud is at work on an attachment. Returns how long it waits at most for the list to say that it is worth asking again; `None`
    /// where it does not wait for that.
    pub(super) fn put(&mut self, attachment: &str, target: VolumeTarget, goes: bool) -> Option<Duration> {
        self.under_way.insert(attachment.to_owned());
        if self.under_way.len() <= self.pages.max(1) {
            return None;
        }
        self.listed.insert(attachment.to_owned(), Awaited { target, goes });
        let each = u32::try_from(self.under_way.len()).unwrap_or(u32::MAX);
        Some(REST.saturating_mul(each).clamp(SHORTEST_WAIT, LONGEST_WAIT))
    }

    /// An attachment is asked about now.
    pub(super) fn asked(&mut self, attachment: &str) {
        self.listed.remove(attachment);
    }

    /// The cloud is not at work on it any more.
    pub(super) fn remove(&mut self, attachment: &str) {
        self.under_way.remove(attachment);
        self.listed.remove(attachment);
    }

    /// Whether an attachment waits for the list.
    pub(super) fn is_any_listed(&self) -> bool {
        !self.listed.is_empty()
    }

    /// A whole list was read, in so many pages.
    pub(super) fn read(&mut self, pages: usize) {
        self.pages = pages;
    }

    /// The attachments that these volumes show as done, as far as a list can. What it lacks proves nothing.
    pub(super) fn done(&self, volumes: &[CloudVolume]) -> Vec<String> {
        let by_handle: HashMap<_, _> = volumes.iter().map(|it| (it.handle.as_str(), it)).collect();
        let is_done = |Awaited { target, goes }: &Awaited| {
            let Some(volume) = by_handle.get(target.volume.handle.as_str()) else { return false };
            volume.state != VolumeState::Changing && volume.attached_to.contains(&target.node_id) != *goes
        };
        let mut done: Vec<_> = self.listed.iter().filter(|(_, it)| is_done(it)).map(|(name, _)| name.clone()).collect();
        done.sort_unstable();
        done
    }
}

#[cfg(test)]
mod tests {
    use cloud_provider::KnownVolume;

    use super::*;

    fn target(handle: &str) -> VolumeTarget {
        let volume = KnownVolume { handle: handle.to_owned(), ..KnownVolume::default() };
        VolumeTarget { volume, node_id: "7".to_owned() }
    }

    fn volume(handle: &str, attached_to: &[&str], state: VolumeState) -> CloudVolume {
        let attached_to = attached_to.iter().map(|it| (*it).to_owned()).collect();
        CloudVolume { handle: handle.to_owned(), attached_to, state, ..CloudVolume::default() }
    }

    /// Cases: csi 60
    #[test]
    fn one_list_says_of_many_attachments_whether_they_are_done() {
        let mut all = PendingAttachments::default();
        assert_eq!((all.put("a", target("v1"), false), all.is_any_listed()), (None, false), "no more than one page");
        for (name, handle, goes) in [("b", "v2", false), ("c", "v3", true), ("d", "v4", false)] {
            assert_eq!(all.put(name, target(handle), goes), Some(SHORTEST_WAIT), "{name}");
        }
        assert_eq!(all.done(&[]), [""; 0], "what a list lacks proves nothing");
        let page = [
            volume("v1", &["7"], VolumeState::Ready),
            volume("v2", &["8", "7"], VolumeState::Ready),
            volume("v3", &["8"], VolumeState::Ready),
            volume("v4", &["7"], VolumeState::Changing),
        ];
        assert_eq!(all.done(&page), ["b", "c"], "a is asked about by itself, and d is on its way");
        let other = [volume("v2", &["8"], VolumeState::Ready), volume("v3", &["7"], VolumeState::Ready)];
        assert_eq!(all.done(&other), [""; 0]);
        all.asked("b");
        assert_eq!(all.done(&page), ["c"], "a worker has it");
        all.remove("c");
        all.remove("d");
        assert!(!all.is_any_listed());
    }

    #[test]
    fn a_long_list_costs_more_than_a_few_questions() {
        let mut all = PendingAttachments::default();
        all.read(3);
        let mut put = |name: &str| all.put(name, target("v1"), false).is_some();
        let listed = ["a", "b", "c", "d", "d"].map(&mut put);
        assert_eq!(listed, [false, false, false, true, true]);
        ["a", "b"].iter().for_each(|it| all.remove(it));
        assert_eq!(all.put("e", target("v1"), false), None, "there are three again");
    }

    /// Cases: csi 60
    #[test]
    fn many_attachments_are_asked_about_as_rarely_as_the_list() {
        let mut all = PendingAttachments::default();
        let mut longest = |count: u32| {
            let waits = (0..count).filter_map(|it| all.put(&it.to_string(), target("v1"), false));
            waits.last().map(|it| it.as_secs())
        };
        assert_eq!([2, 50, 100, 10_000].map(&mut longest), [Some(30), Some(150), Some(300), Some(300)]);
    }
}
