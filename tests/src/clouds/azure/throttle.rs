//! Limits on requests: each group of them has its own, and says when it takes more.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use http::Method;

use crate::simulator::{Answer, Recorded};

use super::errors::Refusal;
use super::id::ArmPath;
use super::kind::Service;

/// The requests that are counted together: those of a service that read, or that write.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct RequestGroup {
    /// The service.
    pub service: Service,
    /// Whether they write.
    pub writes: bool,
}

/// The limit of a group.
#[derive(Clone, Copy, Debug)]
pub struct Throttle {
    /// How many requests a full bucket has.
    pub size: usize,
    /// After how long one comes back.
    pub refill: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Throttles {
    limits: BTreeMap<RequestGroup, (Throttle, SystemTime)>,
    /// Until when a group takes none.
    closed: BTreeMap<RequestGroup, SystemTime>,
}

/// How many requests answers say are left where there is no limit.
const MANY: usize = 11_999;

impl Throttles {
    /// Counts the requests of a group from now on.
    pub(super) fn limit(&mut self, group: RequestGroup, throttle: Throttle) {
        self.limits.insert(group, (throttle, SystemTime::UNIX_EPOCH));
    }

    /// Lets a group take no request until then.
    pub(super) fn close(&mut self, group: RequestGroup, until: SystemTime) {
        self.closed.insert(group, until);
    }

    /// Counts a request. Answers how many are left, or refuses it.
    pub(super) fn admit(&mut self, group: RequestGroup, now: SystemTime) -> Result<usize, Refusal> {
        if let Some(until) = self.closed.get(&group)
            && let Ok(rest) = until.duration_since(now)
            && !rest.is_zero()
        {
            return Err(too_many(group, rest));
        }
        let Some((throttle, full)) = self.limits.get_mut(&group) else { return Ok(MANY) };
        let missing =
            full.duration_since(now).unwrap_or_default().as_nanos().div_ceil(throttle.refill.as_nanos().max(1));
        let missing = usize::try_from(missing).unwrap_or(usize::MAX);
        if missing >= throttle.size {
            return Err(too_many(group, throttle.refill));
        }
        *full = now.max(*full) + throttle.refill;
        Ok(throttle.size - missing - 1)
    }
}

impl RequestGroup {
    /// The group of a request, if it is one for resources of a service.
    pub(super) fn of(request: &Recorded, asked: &ArmPath) -> Option<RequestGroup> {
        use super::id::ArmSubject;
        let writes = !matches!(request.method, Method::GET | Method::HEAD);
        let service = match &asked.subject {
            ArmSubject::One { kind, .. }
            | ArmSubject::Many { kind, .. }
            | ArmSubject::Parts { kind, .. }
            | ArmSubject::Part { kind, .. }
            | ArmSubject::Verb { kind, .. } => kind.service(),
            ArmSubject::Provider(service) => *service,
            // Polls are not counted.
            ArmSubject::Operation { .. } | ArmSubject::Subscription | ArmSubject::Groups | ArmSubject::Group => {
                return None;
            }
        };
        Some(RequestGroup { service, writes })
    }

    /// Says in an answer how many requests are left.
    pub(super) fn show(self, answer: &mut Answer, left: usize) {
        let name = if self.writes { "writes" } else { "reads" };
        match (self.service, self.writes) {
            (Service::Network, false) => answer.set("x-ms-ratelimit-remaining-subscription-reads", &left.to_string()),
            (Service::Network, true) => answer.set("x-ms-ratelimit-remaining-subscription-writes", &left.to_string()),
            (Service::Compute, _) => {
                answer.set("x-ms-ratelimit-remaining-resource", &format!("Microsoft.Compute/{name};{left}"));
            }
        }
    }
}

/// A refusal with the rest of the time in whole seconds, and not one too few.
fn too_many(group: RequestGroup, rest: Duration) -> Refusal {
    let seconds = rest.as_secs() + u64::from(rest.subsec_nanos() > 0);
    let name = if group.writes { "write" } else { "read" };
    let refusal = match group.service {
        Service::Network => {
            let message =
                format!("Number of '{name}' requests exceeded the limit. Please try again after '{seconds}' seconds.");
            Refusal::new(429, "SubscriptionRequestsThrottled", message)
        }
        Service::Compute => {
            let message =
                "The server rejected the request because too many requests have been received for this subscription.";
            Refusal::new(429, "OperationNotAllowed", message)
        }
    };
    refusal.after(Some(seconds))
}
