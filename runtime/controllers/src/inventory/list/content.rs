//! The content of a list so far, and when it is enough. No I/O.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use cloud_provider::{Instance, Page};
use tokio::time::Instant;

use crate::inventory::instance_list::{Gaps, InstanceList};

/// Machines in one list. A Kubernetes cluster has 5,000 nodes at most by its documentation, and an account that holds
/// several clusters and much else has tens of thousands.
pub(super) const MACHINES: usize = 100_000;
/// Pages of one list: a hundred times as many as 100,000 machines fill where a page holds 1,000, and twice as many as where
/// it holds 20. Pages without machines count too: a cloud that filters may have some.
pub(super) const PAGES: usize = 10_000;
/// Bytes of the machines of one list. An honest one has about 700 bytes (name, provider id, type, zone, region, three
/// addresses, some labels), and so 100,000 of them have 70 MB; a hostile one may have 45 KiB. The last list is kept
/// while the next is read, so that this counts twice.
pub(super) const BYTES: usize = 80 << 20;

/// The pages of a list so far.
#[derive(Debug, Default)]
pub(super) struct ListContent {
    instances: Vec<Instance>,
    bytes: usize,
    pages: usize,
    gaps: Gaps,
    /// Hashes of the cursors so far: as texts, they could be 4 KiB each.
    cursors: HashSet<u64>,
    hasher: RandomState,
}

/// How a list goes on.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum NextPage {
    /// The page at this cursor is to be read.
    Page(String),
    /// It was read to its end, or it is not read further.
    End,
}

impl ListContent {
    /// Takes a page, or as much of it as fits.
    pub(super) fn add(&mut self, page: Page) -> NextPage {
        let Page { instances, next, gaps } = page;
        self.pages += 1;
        for gap in gaps {
            match gap.zone {
                Some(zone) => self.gaps.zone(zone, &gap.reason),
                None => self.gaps.anywhere(gap.reason),
            }
        }
        for instance in instances {
            let bytes = bytes(&instance);
            if self.instances.len() == MACHINES {
                return self.cut(format!("it has more than {MACHINES} machines"));
            }
            if self.bytes + bytes > BYTES {
                return self.cut(format!("its machines take more than {} MiB of memory", BYTES >> 20));
            }
            self.bytes += bytes;
            self.instances.push(instance);
        }
        let Some(next) = next else { return NextPage::End };
        if !self.cursors.insert(self.hasher.hash_one(&next)) {
            return self.cut("it leads in a circle: a cursor came twice".to_owned());
        }
        if self.pages == PAGES {
            return self.cut(format!("it has more than {PAGES} pages"));
        }
        NextPage::Page(next)
    }

    /// Ends the list before its end. That is why it is incomplete, whatever the provider said of it.
    pub(super) fn cut(&mut self, because: String) -> NextPage {
        let because = format!(
            "the provider's list of machines was not read further than {} machines on {} pages: {because}",
            self.instances.len(),
            self.pages,
        );
        tracing::warn!("{because}; nothing is deleted because of what it lacks");
        self.gaps.cut(because);
        NextPage::End
    }

    /// The machines, as a list that began then.
    pub(super) fn into_machines(mut self, began: Instant) -> InstanceList {
        self.instances.shrink_to_fit();
        InstanceList::new(self.instances, self.gaps, began, self.pages)
    }
}

/// The bytes of a machine in memory: itself, its texts, and its lists.
fn bytes(it: &Instance) -> usize {
    let Instance { name, provider_id, state: _, machine_type, zone, region, addresses, labels, pod_cidrs, extra } = it;
    let texts = [provider_id, machine_type, zone, region].into_iter().flatten().map(String::capacity).sum::<usize>();
    let addresses = size_of_val(addresses.as_slice()) + addresses.iter().map(|it| it.value.capacity()).sum::<usize>();
    let pairs = |pairs: &[(String, String)]| {
        size_of_val(pairs) + pairs.iter().map(|(key, value)| key.capacity() + value.capacity()).sum::<usize>()
    };
    let networks = size_of_val(pod_cidrs.as_slice()) + pod_cidrs.iter().map(String::capacity).sum::<usize>();
    size_of::<Instance>() + name.capacity() + texts + addresses + pairs(labels) + networks + pairs(extra)
}

#[cfg(test)]
mod tests {
    use cloud_provider::{Gap, State};

    use super::*;

    fn instance(labels: usize) -> Instance {
        Instance {
            name: "n".to_owned(),
            provider_id: None,
            state: State::Running,
            machine_type: None,
            zone: None,
            region: None,
            addresses: Vec::new(),
            labels: vec![("k".repeat(63), "v".repeat(63)); labels],
            ..Instance::default()
        }
    }

    fn page(instances: Vec<Instance>, next: Option<&str>) -> Page {
        Page { instances, next: next.map(str::to_owned), gaps: Vec::new() }
    }

    /// Adds pages until the list ends. Returns why it is incomplete, and how many machines are in it.
    fn read(pages: impl IntoIterator<Item = Page>) -> (Option<String>, usize) {
        let mut content = ListContent::default();
        let ended = pages.into_iter().any(|it| content.add(it) == NextPage::End);
        assert!(ended, "the list never ends");
        let machines = content.into_machines(Instant::now());
        (machines.gap(None).map(str::to_owned), machines.len())
    }

    fn endless(machines: usize, labels: usize) -> impl Iterator<Item = Page> {
        (0..).map(move |it: u32| page(vec![instance(labels); machines], Some(&it.to_string())))
    }

    #[track_caller]
    fn check(pages: impl IntoIterator<Item = Page>, because: &str, machines: usize) {
        let (incomplete, found) = read(pages);
        assert!(incomplete.as_ref().is_some_and(|it| it.contains(because)), "{incomplete:?}");
        assert_eq!(found, machines);
    }

    #[test]
    fn a_list_that_ends_is_complete() {
        let pages = [page(vec![instance(1)], Some("a")), page(Vec::new(), Some("b")), page(vec![instance(1)], None)];
        assert_eq!(read(pages), (None, 2));
    }

    #[test]
    fn adv_107_machines_of_a_list_are_capped() {
        check(endless(1_000, 0), "more than 100000 machines", 100_000);
        let mut whole: Vec<_> = endless(1_000, 0).take(100).collect();
        whole[99].next = None;
        assert_eq!(read(whole), (None, 100_000), "as many as the limit are all of them");
    }

    #[test]
    fn adv_107_memory_of_a_list_is_capped() {
        // 64 labels of 126 bytes.
        let each = size_of::<Instance>() + 1 + 64 * (size_of::<(String, String)>() + 126);
        check(endless(1_000, 64), "more than 80 MiB of memory", BYTES / each);
    }

    #[test]
    fn adv_107_pages_of_a_list_are_capped() {
        check(endless(0, 0), "more than 10000 pages", 0);
    }

    #[test]
    fn adv_107_a_cursor_that_comes_again_ends_the_list() {
        let circle = ["a", "b", "c"].into_iter().cycle().map(|it| page(vec![instance(0)], Some(it)));
        check(circle, "a cursor came twice", 4);
    }

    #[test]
    fn a_list_that_was_cut_says_so_whatever_the_provider_says() {
        let told =
            Page { gaps: vec![Gap { zone: None, reason: "a zone is down".to_owned() }], ..page(Vec::new(), Some("a")) };
        check([told, page(Vec::new(), Some("a"))], "a cursor came twice", 0);
    }
}
