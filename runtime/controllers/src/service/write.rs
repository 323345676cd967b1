//! Keeping what the provider answered: in memory at once, and on the Service before it is called again.

use std::sync::Arc;

use cloud_provider::{LoadBalancer, LoadBalancerStatus};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Service;
use tokio::time::Instant;

use crate::events::EventKind;
use crate::object::{Part, Refusal, update_latest};
use crate::service::Controller;
use crate::service::desired::essence;
use crate::service::error::Error;
use crate::service::memos;
use crate::service::plan::{Plan, plan};
use crate::service::state::{Cause, Then, Unwritten};
use crate::service::status::{self, memo};
use crate::worker::random;

/// What became of a write.
pub(super) enum Written {
    /// The Service is like this now.
    Yes(Arc<Service>),
    /// The Service is gone.
    Gone,
    /// Somebody has written another memo: what the provider said was about something else.
    Changed,
}

impl Controller {
    /// Keeps in memory what the provider answered, unless its memo is another Service's.
    pub(super) fn keep(
        &self,
        key: &str,
        service: &Service,
        standing: LoadBalancerStatus,
        then: Then,
    ) -> Result<(), Error> {
        let mut memory = self.memory();
        let uid = service.metadata.uid.as_deref().unwrap_or_default();
        if let Some(memo) = standing.memo.as_deref().filter(|it| Some(*it) != status::memo(service))
            && let Some(holder) = memos::holder(uid, memo, &memory, &self.services.all())
        {
            let error = memos::taken(key, memo, &holder);
            return Err(match then {
                Then::Deleting(_) => Error::Delete(error),
                Then::Served | Then::Pending(_) | Then::Restored => Error::Ensure(error),
            });
        }
        let entry = memory.entry(key, service, Instant::now());
        entry.memo.clone_from(&standing.memo);
        let carried = status::memo(service).map(str::to_owned);
        entry.unwritten = Some(Unwritten { standing, carried, then });
        Ok(())
    }

    /// Writes what is kept in memory on the Service, in one write or, if it is there already, in none.
    pub(super) async fn write(&self, key: &str, service: Arc<Service>) -> Result<Written, Error> {
        let unwritten = {
            let mut memory = self.memory();
            memory.entry(key, &service, Instant::now()).unwritten.clone()
        };
        let Some(Unwritten { standing, carried, then }) = unwritten else { return Ok(Written::Yes(service)) };
        let (uid, now) = (service.metadata.uid.clone(), Timestamp::now());
        let mut wished = None;
        let plan = |it: &Service| {
            // Whoever has written a memo that is neither the call's nor its answer's knows more.
            let other = memo(it).filter(|it| Some(*it) != carried.as_deref() && Some(*it) != standing.memo.as_deref());
            if let Some(other) = other {
                return Err(Refusal::Plan(other.to_owned()));
            }
            wished = self.wishes(it);
            Ok(match then {
                Then::Served => status::served(it, &standing, now),
                Then::Pending(_) | Then::Deleting(_) | Then::Restored => status::kept(it, &standing, now),
            })
        };
        let latest = || self.latest(key).filter(|it| it.metadata.uid == uid);
        let (api, part) = (self.api(&service), Part::StatusAndMetadata);
        match update_latest(&api, service, part, plan, latest, random).await {
            Ok(Some(written)) => {
                let wishes = self.wishes(&written);
                let cause = {
                    let mut memory = self.memory();
                    memory.entry(key, &written, Instant::now()).end(&written, wished.as_ref(), wishes)
                };
                if let Some(cause) = cause {
                    self.tell_of_success(key, &written, cause);
                }
                Ok(Written::Yes(written))
            }
            Ok(None) => Ok(self.gone(key)),
            Err(Refusal::Api(error)) if error.is_gone() => Ok(self.gone(key)),
            Err(Refusal::Api(error)) => {
                // The memo alone, so that the work goes on: with this answer there would never be another call.
                if error.is_refusal()
                    && let Some(entry) = self.memory().get(key)
                {
                    entry.keep_only_memo();
                }
                Err(Error::Status(error))
            }
            Err(Refusal::Plan(other)) => {
                if let Some(entry) = self.memory().get(key) {
                    entry.unwritten = None;
                    entry.memo = Some(other);
                }
                Ok(Written::Changed)
            }
        }
    }

    /// The Service is gone. Should the API server show it again after all, what is kept in memory is written first.
    fn gone(&self, key: &str) -> Written {
        if let Some(entry) = self.memory().get(key)
            && let Some(then) = entry.unwritten.as_ref().map(|it| it.then)
        {
            entry.follow(then);
        }
        Written::Gone
    }

    /// The memo of a Service and who else has it, if that one is older: whose load balancer it is, is clear.
    pub(super) fn elder(&self, service: &Service) -> Option<(String, String)> {
        let memo = memo(service)?;
        let elder = memos::elder(service, memo, &self.services.all())?;
        Some((memo.to_owned(), elder))
    }

    fn tell_of_success(&self, key: &str, service: &Service, cause: Cause) {
        let has_hosts = self.memory().get(key).is_some_and(|it| !it.hosts.is_empty());
        match cause {
            Cause::Service => {
                self.record(service, EventKind::Normal, "EnsuredLoadBalancer", "Ensured load balancer");
            }
            Cause::Hosts if has_hosts => {
                let message = "Updated load balancer with new hosts";
                self.record(service, EventKind::Normal, "UpdatedLoadBalancer", message);
            }
            Cause::Hosts => self.warn_of_no_hosts(service),
        }
    }

    /// What a Service wishes for, without what we write ourselves; `None` if it wishes for nothing.
    pub(super) fn wishes(&self, service: &Service) -> Option<LoadBalancer> {
        match plan(service, true, &self.cluster) {
            Ok(Plan::Ensure(wish)) => Some(essence(wish)),
            Ok(Plan::Ignore | Plan::Delete(_) | Plan::Forget) | Err(_) => None,
        }
    }
}
