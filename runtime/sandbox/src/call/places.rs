//! How many calls run at once, and which: calls of one capability leave room for those of another.

use std::iter;

use futures::future::select_all;
use tokio::sync::{Semaphore, SemaphorePermit};

/// A part of the contract whose calls have places of their own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Capability {
    Instances,
    /// Their list belongs to them.
    LoadBalancers,
    Routes,
    PersistentVolumes,
    Volumes,
}

/// The places of all calls of a provider, of whichever version of it.
///
/// Half of them are owned by the provider's capabilities, in equal parts; the others are taken by whoever comes first. A
/// cloud that is slow about load balancers leaves the places of instances free, so that nodes join meanwhile.
pub(crate) struct CallPlaces {
    owned: Vec<(Capability, Semaphore)>,
    shared: Semaphore,
    /// The whole that calls that write load balancers share among them: each takes its part of it.
    writers: Semaphore,
}

/// The size of the whole that calls that write load balancers share.
const WHOLE: u32 = 1 << 30;

/// The part of [`WHOLE`] that one call takes, of a provider that says how many of them may run at a time. Calls of two
/// versions of a provider count together, whatever each of them says.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Share(u32);

impl Share {
    /// With `most` calls at a time; `None` for any number.
    pub(crate) fn of(most: Option<u32>) -> Self {
        Self(most.map_or(0, |it| (WHOLE / it.max(1)).max(1)))
    }
}

/// A place of one call, and its right to write beside others. Dropping it gives both back.
pub(super) struct CallPlace<'a> {
    _writer: Option<SemaphorePermit<'a>>,
    _place: SemaphorePermit<'a>,
}

impl CallPlaces {
    /// `all` places, at least one, for a provider with these capabilities.
    pub(crate) fn new(all: usize, capabilities: &[Capability]) -> Self {
        let all = all.max(1);
        let own = own(all, capabilities.len());
        Self {
            owned: capabilities.iter().map(|it| (*it, Semaphore::new(own))).collect(),
            shared: Semaphore::new(all - own * capabilities.len()),
            writers: Semaphore::new(WHOLE as usize),
        }
    }

    /// Waits for a place. What is no capability's, as the question about the account, which stands before all others,
    /// takes any. Whoever `writes` load balancers waits for its turn without a place.
    pub(super) async fn take(&self, capability: Option<Capability>, writes: Option<Share>) -> CallPlace<'_> {
        let writer = match writes {
            Some(Share(share)) => {
                Some(self.writers.acquire_many(share).await.expect("the semaphores are never closed"))
            }
            None => None,
        };
        let owned = |it: &&(Capability, Semaphore)| capability.is_none_or(|wanted| wanted == it.0);
        let owned = self.owned.iter().filter(owned).map(|(_, it)| it);
        // The first that is free is taken: those of its own, and what is shared; who may take any begins with the latter.
        let semaphores: Vec<_> = match capability {
            Some(_) => owned.chain([&self.shared]).collect(),
            None => iter::once(&self.shared).chain(owned).collect(),
        };
        let waiting = semaphores.into_iter().map(|it| Box::pin(it.acquire()));
        let (permit, ..) = select_all(waiting).await;
        CallPlace { _writer: writer, _place: permit.expect("the semaphores are never closed") }
    }
}

/// How many places each capability owns. One that is alone needs none, and where there are fewer places than
/// capabilities, none can be kept.
fn own(all: usize, capabilities: usize) -> usize {
    if capabilities < 2 || all < capabilities { 0 } else { (all / 2 / capabilities).max(1) }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const BOTH: [Capability; 2] = [Capability::Instances, Capability::LoadBalancers];
    const FOUR: [Capability; 4] =
        [Capability::Instances, Capability::LoadBalancers, Capability::Routes, Capability::PersistentVolumes];

    /// How many calls run at once if so many of each kind want to, one kind after the other.
    fn taken(places: &CallPlaces, wanted: &[Option<Capability>]) -> usize {
        let permits: Vec<_> = wanted.iter().filter_map(|it| places.take(*it, None).now_or_never()).collect();
        permits.len()
    }

    #[test]
    fn all_places_together_are_as_many_as_memory_allows() {
        for all in 1..=100 {
            for capabilities in [[].as_slice(), &BOTH[..1], &BOTH[1..], &BOTH, &FOUR] {
                let places = CallPlaces::new(all, capabilities);
                assert_eq!(taken(&places, &[None; 200]), all, "{all} for {capabilities:?}");
            }
        }
    }

    #[test]
    fn no_capability_takes_what_another_owns() {
        for (all, most) in [(1, 1), (2, 1), (3, 2), (4, 3), (8, 6), (100, 75)] {
            for (greedy, other) in [(BOTH[0], BOTH[1]), (BOTH[1], BOTH[0])] {
                let places = CallPlaces::new(all, &BOTH);
                let held: Vec<_> = (0..200).filter_map(|_| places.take(Some(greedy), None).now_or_never()).collect();
                assert_eq!(held.len(), most, "{greedy:?} of {all}");
                assert_eq!(taken(&places, &[Some(other); 200]), all - most, "{other:?} of {all}");
                assert_eq!(taken(&places, &[None; 200]), all - most, "neither, of {all}");
            }
        }
    }

    #[test]
    fn each_of_four_capabilities_has_a_place_that_no_other_takes() {
        let places = CallPlaces::new(8, &FOUR);
        let held: Vec<_> = (0..200).filter_map(|_| places.take(Some(FOUR[3]), None).now_or_never()).collect();
        assert_eq!(held.len(), 5);
        for other in &FOUR[..3] {
            assert_eq!(taken(&places, &[Some(*other); 200]), 1, "{other:?}");
        }
    }

    #[test]
    fn writing_calls_are_no_more_than_the_provider_says() {
        let places = CallPlaces::new(8, &BOTH);
        let (balancers, one) = (Some(Capability::LoadBalancers), Some(Share::of(Some(1))));
        let held = places.take(balancers, one).now_or_never();
        assert!(held.is_some() && places.take(balancers, one).now_or_never().is_none());
        assert_eq!(taken(&places, &[Some(Capability::Instances); 20]), 6, "who waits for its turn has no place");
        drop(held);
        assert!(places.take(balancers, one).now_or_never().is_some());
    }

    #[test]
    fn calls_of_two_versions_that_write_count_together() {
        for (old, new, room) in
            [(Some(1), Some(3), 0), (Some(3), Some(3), 2), (Some(2), Some(4), 2), (None, Some(3), 3)]
        {
            let places = CallPlaces::new(100, &BOTH);
            let take = |most| places.take(Some(Capability::LoadBalancers), Some(Share::of(most))).now_or_never();
            let held = take(old);
            let beside: Vec<_> = (0..20).filter_map(|_| take(new)).collect();
            assert_eq!(beside.len(), room, "{new:?} beside one of {old:?}");
            drop((held, beside));
            assert_eq!((0..20).filter_map(|_| take(old)).count(), 20, "one after the other");
        }
    }

    #[test]
    fn a_provider_with_one_capability_uses_all_places() {
        for capability in BOTH {
            assert_eq!(taken(&CallPlaces::new(8, &[capability]), &[Some(capability); 20]), 8);
        }
    }
}
