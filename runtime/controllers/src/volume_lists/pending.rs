//! Objects that the cloud is at work on, and those of them that a list of volumes shows as done. No client, no clock.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use cloud_provider::CloudVolume;

/// How long it rests between two pages of the list.
pub(crate) const REST: Duration = Duration::from_secs(3);
/// The same while there are many objects.
const REST_OF_MANY: Duration = Duration::from_secs(5);
/// More objects than these are many.
const FEW: usize = 10;
/// How long an object waits for the list before it is asked about all the same: of one that has failed, a list shows nothing.
const WAIT: Duration = Duration::from_secs(30);
/// The time in which one of many objects is asked about: such questions and the pages of the list together stay below one request in three seconds.
const WAIT_FOR_EACH: Duration = Duration::from_secs(9);
/// No object waits longer, however many there are.
const LONGEST_WAIT: Duration = Duration::from_mins(30);

/// The state that an object waits for, as far as a list can show it.
pub(crate) trait Awaited {
    /// The handle of its volume.
    fn handle(&self) -> &str;

    /// Whether the volume shows that it is worth asking about the object again.
    fn is_shown(&self, volume: &CloudVolume) -> bool;
}

/// The objects that the cloud is at work on. Where there are more of them than pages in the list of volumes, one list says of all
/// whether it is worth asking about them.
#[derive(Debug)]
pub(super) struct PendingObjects<T> {
    /// Those that were asked about, and are not done.
    under_way: HashSet<String>,
    /// Those of them that wait for the list.
    listed: HashMap<String, T>,
    /// How many pages the list had the last time.
    pages: usize,
}

impl<T> Default for PendingObjects<T> {
    fn default() -> Self {
        Self { under_way: HashSet::new(), listed: HashMap::new(), pages: 0 }
    }
}

impl<T: Awaited> PendingObjects<T> {
    /// The cloud is at work on an object. Returns how long it waits at most for the list to say that it is worth asking again; `None`
    /// where it does not wait for that.
    pub(super) fn put(&mut self, object: &str, awaited: T) -> Option<Duration> {
        self.under_way.insert(object.to_owned());
        if self.under_way.len() <= self.pages.max(1) {
            return None;
        }
        self.listed.insert(object.to_owned(), awaited);
        let each = u32::try_from(self.under_way.len()).unwrap_or(u32::MAX);
        Some(match self.are_many() {
            true => WAIT_FOR_EACH.saturating_mul(each).min(LONGEST_WAIT),
            false => WAIT,
        })
    }

    /// How long it rests before the next page of the list.
    pub(super) fn rest(&self) -> Duration {
        if self.are_many() { REST_OF_MANY } else { REST }
    }

    fn are_many(&self) -> bool {
        self.under_way.len() > FEW
    }

    /// An object is asked about now.
    pub(super) fn asked(&mut self, object: &str) {
        self.listed.remove(object);
    }

    /// The cloud is not at work on it any more.
    pub(super) fn remove(&mut self, object: &str) {
        self.under_way.remove(object);
        self.listed.remove(object);
    }

    /// Whether an object waits for the list.
    pub(super) fn is_any_listed(&self) -> bool {
        !self.listed.is_empty()
    }

    /// A whole list was read, in so many pages.
    pub(super) fn read(&mut self, pages: usize) {
        self.pages = pages;
    }

    /// The objects that these volumes show as done, as far as a list can. What it lacks proves nothing.
    pub(super) fn done(&self, volumes: &[CloudVolume]) -> Vec<String> {
        let by_handle: HashMap<_, _> = volumes.iter().map(|it| (it.handle.as_str(), it)).collect();
        let is_done = |awaited: &T| by_handle.get(awaited.handle()).is_some_and(|it| awaited.is_shown(it));
        let mut done: Vec<_> = self.listed.iter().filter(|(_, it)| is_done(it)).map(|(name, _)| name.clone()).collect();
        done.sort_unstable();
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits until a volume has so many bytes.
    struct AwaitedBytes(&'static str, u64);

    impl Awaited for AwaitedBytes {
        fn handle(&self) -> &str {
            self.0
        }

        fn is_shown(&self, volume: &CloudVolume) -> bool {
            volume.bytes == self.1
        }
    }

    fn volume(handle: &str, bytes: u64) -> CloudVolume {
        CloudVolume { handle: handle.to_owned(), bytes, ..CloudVolume::default() }
    }

    /// Cases: csi 60
    #[test]
    fn one_list_says_of_many_objects_whether_they_are_done() {
        let mut all = PendingObjects::default();
        assert_eq!((all.put("a", AwaitedBytes("v1", 2)), all.is_any_listed()), (None, false), "no more than one page");
        for (name, handle) in [("b", "v2"), ("c", "v3"), ("d", "v4")] {
            assert_eq!(all.put(name, AwaitedBytes(handle, 2)), Some(WAIT), "{name}");
        }
        assert_eq!(all.done(&[]), [""; 0], "what a list lacks proves nothing");
        let page = [volume("v1", 2), volume("v2", 2), volume("v3", 2), volume("v4", 1)];
        assert_eq!(all.done(&page), ["b", "c"], "a is asked about by itself, and d is on its way");
        all.asked("b");
        assert_eq!(all.done(&page), ["c"], "a worker has it");
        all.remove("c");
        all.remove("d");
        assert!(!all.is_any_listed());
    }

    #[test]
    fn a_long_list_costs_more_than_a_few_questions() {
        let mut all = PendingObjects::default();
        all.read(3);
        let mut put = |name: &str| all.put(name, AwaitedBytes("v1", 2)).is_some();
        let listed = ["a", "b", "c", "d", "d"].map(&mut put);
        assert_eq!(listed, [false, false, false, true, true]);
        ["a", "b"].iter().for_each(|it| all.remove(it));
        assert_eq!(all.put("e", AwaitedBytes("v1", 2)), None, "there are three again");
    }

    /// Cases: csi 60
    #[test]
    fn many_objects_are_asked_about_as_rarely_as_the_list() {
        let mut all = PendingObjects::default();
        let mut longest = |count: u32| {
            let waits = (0..count).filter_map(|it| all.put(&it.to_string(), AwaitedBytes("v1", 2)));
            waits.last().map(|it| it.as_secs())
        };
        assert_eq!([2, 10, 50, 100, 10_000].map(&mut longest), [30, 30, 450, 900, 1_800].map(Some));
    }

    /// The times of all requests in the first hour about so many objects that never come to an end, one begun after the other: questions about one
    /// of them, and lists of one page. The cloud wants to be asked about each after two seconds.
    fn requests(count: usize) -> Vec<Duration> {
        const STEP: Duration = Duration::from_millis(100);
        let mut all = PendingObjects::default();
        let mut due: Vec<_> = std::iter::successors(Some(Duration::ZERO), |it| Some(*it + STEP)).take(count).collect();
        let mut next_list: Option<Duration> = None;
        let (mut now, mut requests) = (Duration::ZERO, Vec::new());
        while now < Duration::from_hours(1) {
            for (nth, due) in due.iter_mut().enumerate().filter(|(_, due)| **due <= now) {
                all.asked(&nth.to_string());
                let longest = all.put(&nth.to_string(), AwaitedBytes("v1", 2)).unwrap_or_default();
                *due = now + longest.max(Duration::from_secs(2));
                requests.push(now);
            }
            if next_list.is_some_and(|it| it <= now) {
                assert_eq!(all.done(&[volume("v1", 1)]), [""; 0]);
                all.read(1);
                requests.push(now);
                next_list = None;
            }
            if next_list.is_none() && all.is_any_listed() {
                next_list = Some(now + all.rest());
            }
            now += STEP;
        }
        requests
    }

    /// Cases: csi 60
    #[test]
    fn a_hundred_objects_cost_less_than_a_request_in_three_seconds() {
        const WINDOW: Duration = Duration::from_mins(10);
        let requests = requests(100);
        // From when all are begun.
        for from in (10..3_000).step_by(10).map(Duration::from_secs) {
            let within = requests.iter().filter(|it| (from..from + WINDOW).contains(*it)).count();
            assert!((120..200).contains(&within), "{within} from {from:?} on");
        }
    }

    /// Cases: csi 60
    #[test]
    fn a_few_objects_are_asked_about_as_often_as_they_come() {
        for (count, expected) in [(1, 1_800), (5, 1_200 + 5 * 120), (10, 1_200 + 10 * 120)] {
            let asked = requests(count).len();
            assert!(asked.abs_diff(expected) <= 20, "{count}: {asked} in an hour, and not {expected}");
        }
    }
}
