//! The jobs of one Service's load balancer: what calls have begun, in the memo behind its id.
//!
//! `nlb-1 since:1700000000 CreateListener:8f2c…` is one whose changes were announced then, with one job that is not over. `nlb creating …` tells of
//! the creation of one, where that of a Classic Load Balancer has the words behind it alone.

use std::cell::{Cell, RefCell};

use aerostat_sdk::{Error, LoadBalancer, Result, clock};

use super::names::{BEGUN, ID};
use super::step::NlbStop;
use crate::api::jobs::{self, JobState};
use crate::remembered::MemoWords;

/// Jobs that are begun before one is over: the memo has room for them.
const MOST: usize = 8;
/// The most characters of a job's id.
const ID_CHARACTERS: usize = 64;
/// The word before the time of an announcement.
const SINCE: &str = "since";

/// A job.
#[derive(Clone, Debug, Eq, PartialEq)]
struct NlbJob {
    action: String,
    id: String,
}

/// The jobs that are not known to be over, and when creations were announced.
#[derive(Debug, Default)]
pub(super) struct NlbJobs {
    open: RefCell<Vec<NlbJob>>,
    since: Cell<Option<u64>>,
    are_earlier: Cell<bool>,
}

impl NlbJobs {
    /// The Service with the bare id for memo, and the jobs that stood behind it.
    pub(super) fn split(service: &LoadBalancer) -> (LoadBalancer, Self) {
        let jobs = Self::default();
        let Some(memo) = service.memo.as_deref() else { return (service.clone(), jobs) };
        let (bare, words) = match memo.strip_prefix(BEGUN) {
            Some(begun) => (begun, ""),
            None => memo.split_once(' ').filter(|(id, _)| id.starts_with(ID)).unwrap_or((memo, "")),
        };
        for word in words.split(' ') {
            match word.split_once(':') {
                Some((SINCE, time)) => jobs.since.set(time.parse().ok()),
                Some((action, id)) => {
                    jobs.open.borrow_mut().push(NlbJob { action: action.to_owned(), id: id.to_owned() });
                    jobs.are_earlier.set(true);
                }
                None => {}
            }
        }
        (LoadBalancer { memo: Some(bare.to_owned()), ..service.clone() }, jobs)
    }

    /// When what is made now was announced: with the Service's UID, a token that only this creation has. A repetition of it makes
    /// nothing twice, whatever became of the first answer.
    ///
    /// # Errors
    ///
    /// That it is announced by now, and kept before anything is sent.
    pub(super) fn since(&self) -> Result<u64, NlbStop> {
        if let Some(since) = self.since.get() {
            return Ok(since);
        }
        self.since.set(Some(clock::now()));
        Err(NlbStop::Waits("its parts are about to be made".to_owned()))
    }

    /// When parts were announced of which nobody knows yet that all are there.
    pub(super) fn announced(&self) -> Option<u64> {
        self.since.get()
    }

    /// Lets what is made from now on be another creation.
    pub(super) fn forget_announcement(&self) {
        self.since.set(None);
    }

    /// Remembers a job. With many of them the earlier ones have to be over first.
    pub(super) fn begun(&self, region: &str, action: &str, id: String) -> Result<(), NlbStop> {
        let is_id = (1..=ID_CHARACTERS).contains(&id.len()) && id.bytes().all(|it| it.is_ascii_graphic());
        if !is_id {
            return Ok(());
        }
        self.open.borrow_mut().push(NlbJob { action: action.to_owned(), id });
        if self.open.borrow().len() < MOST { Ok(()) } else { self.settle(region) }
    }

    /// Whether earlier calls have begun some: what was read before this call may be from before their end.
    pub(super) fn are_of_earlier_calls(&self) -> bool {
        self.are_earlier.get()
    }

    /// Asks about all of them.
    ///
    /// # Errors
    ///
    /// That one has failed, or is not over.
    pub(super) fn settle(&self, region: &str) -> Result<(), NlbStop> {
        let asked = self.open.borrow().clone();
        let ids: Vec<&str> = asked.iter().map(|it| it.id.as_str()).collect();
        let states = jobs::states(region, &ids)?;
        let is = |it: &NlbJob, state: JobState| states.iter().any(|(id, own)| *id == it.id && *own == state);
        // One of which the cloud says nothing is over: what it has left is read.
        let open: Vec<NlbJob> = asked.iter().filter(|it| is(it, JobState::Processing)).cloned().collect();
        let failed = asked.iter().find(|it| is(it, JobState::Failed));
        self.open.replace(open);
        if let Some(NlbJob { action, id }) = failed {
            self.forget_announcement();
            return Err(Error::unavailable(format_args!(
                "job {id} ({action}) at endpoint nlb has failed: it is tried again with what there is by now"
            ))
            .into());
        }
        match self.open.borrow().first() {
            None => Ok(()),
            Some(NlbJob { action, id }) => Err(NlbStop::Waits(format!("job {id} ({action}) is not over"))),
        }
    }
}

impl MemoWords for NlbJobs {
    fn memo(&self, id: String) -> String {
        if ["creating ", "lost "].iter().any(|it| id.starts_with(it)) {
            return BEGUN.to_owned() + &id;
        }
        if !id.starts_with(ID) {
            return id;
        }
        let since = self.since.get().map(|it| format!(" {SINCE}:{it}")).unwrap_or_default();
        let jobs: String = self.open.borrow().iter().map(|it| format!(" {}:{}", it.action, it.id)).collect();
        id + &since + &jobs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_stand_behind_the_id_in_a_memo() {
        let service = |memo: &str| LoadBalancer {
            memo: Some(memo.to_owned()),
            ..LoadBalancer::of("default", "web", "0e2f6f1c-9a5e-4a8e-8f0b-1f6d3f6f2a11")
        };
        for memo in [
            "nlb-1",
            "nlb-1 since:17",
            "nlb-1 CreateListener:8f2c",
            "nlb-1 since:17 CreateListener:8f2c DeleteListener:9a",
            "nlb creating a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1 since 17",
            "nlb lost a0e2f6f1c9a5e4a8e8f0b1f6d3f6f2a1 since 17",
            "a memo of another provider",
        ] {
            let (bare, jobs) = NlbJobs::split(&service(memo));
            let bare = bare.memo.unwrap();
            assert_eq!(jobs.memo(bare.clone()), memo);
            assert_eq!(bare.starts_with("nlb"), bare == "nlb-1", "{bare}");
        }
    }

    #[test]
    fn the_longest_memo_has_room() {
        let jobs = NlbJobs::default();
        jobs.since.set(Some(u64::MAX));
        for _ in 1..MOST {
            jobs.begun("cn-hangzhou", "DetachCommonBandwidthPackageFromLoadBalancer", "x".repeat(ID_CHARACTERS))
                .unwrap();
        }
        assert!(jobs.memo(format!("{ID}{}", "x".repeat(60))).len() <= 1_024);
        assert_eq!(jobs.since(), Ok(u64::MAX));
        jobs.begun("cn-hangzhou", "CreateListener", "white space".to_owned()).unwrap();
        assert!(!jobs.memo("nlb-1".to_owned()).contains("white"));
    }
}
