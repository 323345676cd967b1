//! A provider's answers, held against the same call's requests as the egress saw them. Values only.

use cloud_provider::{
    Deletion, Error, Event, EventKind, Gap, InventoryPage, Page, Progress, Result, RouteOutcome, RoutePage, VolumePage,
};
use egress::{Ending, Seen, SeenRequest};

/// The reason of an event about a creation whose answer was lost. The SDK's own events have it too.
const UNCLEAR: &str = "LoadBalancerCreationUnclear";

/// "It does not exist" is believed only if every read of the call was answered.
pub(super) fn none<T>(seen: &Seen, answer: Result<Option<T>>) -> Result<Option<T>> {
    match (answer, seen.unanswered_reads().next()) {
        (Ok(None), Some(request)) => Err(error(request, "the provider answers that it does not exist")),
        (answer, _) => answer,
    }
}

/// "The cloud tells no account" is believed only if every read of the call was answered, or was forbidden: a credential may be
/// too narrow for it.
pub(super) fn account(seen: &Seen, answer: Result<Option<String>>) -> Result<Option<String>> {
    let is_forbidden = |it: &&SeenRequest| matches!(it.ending(), Ending::Forbidden(403) | Ending::Denied);
    match (answer, seen.unanswered_reads().find(|it| !is_forbidden(it))) {
        (Ok(None), Some(request)) => Err(error(request, "the provider answers that the cloud tells no account")),
        (answer, _) => answer,
    }
}

/// A page of machines lacks some if a read of its call was not answered, whatever zones it says.
pub(super) fn machines(seen: &Seen, mut page: Page) -> Page {
    let reason = missing(seen).filter(|_| page.gaps.is_empty());
    page.gaps.extend(reason.map(|reason| Gap { zone: None, reason }));
    page
}

/// The same of a page of routes.
pub(super) fn routes(seen: &Seen, mut page: RoutePage) -> RoutePage {
    page.incomplete = page.incomplete.or_else(|| missing(seen));
    page
}

/// The same of a page of load balancers.
pub(super) fn load_balancers(seen: &Seen, mut page: InventoryPage) -> InventoryPage {
    page.incomplete = page.incomplete.or_else(|| missing(seen));
    page
}

/// The same of a page of volumes.
pub(super) fn volumes(seen: &Seen, mut page: VolumePage) -> VolumePage {
    page.incomplete = page.incomplete.or_else(|| missing(seen));
    page
}

/// A volume is as it shall be only if no write of the call failed and, where none was carried out, every read was answered.
pub(super) fn settled<T>(seen: &Seen, answer: T) -> Result<T> {
    let unread = || seen.unanswered_reads().next().filter(|_| !seen.has_deleted() && seen.written().next().is_none());
    match seen.failed_deletions().chain(seen.failed_writes()).next().or_else(unread) {
        Some(request) => Err(error(request, "the provider answers that the volume is as it shall be")),
        None => Ok(answer),
    }
}

/// A load balancer is gone only if no deletion of the call failed and, where none was carried out, every read was answered.
pub(super) fn deletion(seen: &Seen, answer: Deletion) -> Result<Deletion> {
    if answer != Deletion::Done {
        return Ok(answer);
    }
    let unread = || seen.unanswered_reads().next().filter(|_| !seen.has_deleted());
    match seen.failed_deletions().next().or_else(unread) {
        Some(request) => Err(error(request, "the provider answers that the load balancer is gone")),
        None => Ok(answer),
    }
}

/// Changes of routes are done only if the others of the call can account for each write and deletion that failed: one that
/// is not done, for as many of them as one route has `entries` in the cloud.
pub(super) fn changes(seen: &Seen, entries: u32, answers: Vec<Result<RouteOutcome>>) -> Vec<Result<RouteOutcome>> {
    let is_done = |it: &Result<RouteOutcome>| matches!(it, Ok(RouteOutcome::Done));
    let open = answers.iter().filter(|it| !is_done(it)).count();
    let accounted = open.saturating_mul(usize::try_from(entries).unwrap_or(usize::MAX));
    let mut failed = seen.failed_deletions().chain(seen.failed_writes());
    let Some(request) = failed.nth(accounted) else { return answers };
    let doubt = || Err(error(request, "the provider answers that the route is as it shall be"));
    answers.into_iter().map(|it| if is_done(&it) { doubt() } else { it }).collect()
}

/// The warnings for people about an `ensure`: about a creation without an answer, and about one that would not be found again.
/// `told` are the provider's own events, `memo` what it was given, and `answer` what it came to.
pub(super) fn warnings(seen: &Seen, told: &[Event], memo: Option<&str>, answer: &Result<Progress>) -> Vec<Event> {
    let is_of_known = |it: &SeenRequest| memo.is_some_and(|memo| !it.creates() || it.names(memo));
    let mut unclear = seen.unclear_writes().filter(|it| !is_of_known(it));
    let is_told = told.iter().any(|it| it.reason == UNCLEAR);
    let lost = unclear.next().filter(|_| !is_told).map(|request| {
        let message = format!(
            "{request}: what it was to create may be there or not. Until its provider finds it again, look for it in the cloud, \
             where it costs money"
        );
        warning(UNCLEAR, message)
    });
    let (kept, is_ready) = match answer {
        Ok(Progress::Ready(status)) => (status.memo.as_deref(), true),
        Ok(Progress::Pending(pending)) => (pending.status.memo.as_deref(), false),
        Ok(Progress::Failed(status, _)) => (status.memo.as_deref(), false),
        Ok(Progress::NotManaged) | Err(_) => (None, false),
    };
    // What has the Service's mark is found by it, as long as there is more to do; and what is written under a name with it, as by
    // a PUT, is made once however often it is sent.
    let is_findable = seen.written().any(|it| it.is_marked() && !(is_ready && it.creates()));
    let written = seen.written().next().filter(|_| memo.is_none() && kept.is_none() && !is_findable);
    let forgotten = written.map(|request| {
        let message = format!(
            "{request}, and the provider keeps no memo of what it has written: a mistake in the provider. Another load \
             balancer may be created, and this one may stay when the Service goes"
        );
        warning("MemoMissing", message)
    });
    lost.into_iter().chain(forgotten).collect()
}

/// Why a page that is said to be complete is not.
fn missing(seen: &Seen) -> Option<String> {
    let request = seen.unanswered_pages().next()?;
    Some(format!("{request}, and the provider does not say what is missing"))
}

fn warning(reason: &str, message: String) -> Event {
    Event { about: None, kind: EventKind::Warning, reason: reason.to_owned(), message }
}

/// The error that the egress saw, sorted by what happens next.
fn error(request: &SeenRequest, answered: &str) -> Error {
    let text = format!("{request}, and {answered}: that is not believed");
    match request.ending() {
        Ending::Forbidden(_) | Ending::Denied => Error::Denied(text),
        Ending::Throttled(_, Some(after)) | Ending::Paused(after) => Error::RetryAfter { after, reason: text },
        Ending::Throttled(_, None)
        | Ending::Success
        | Ending::Missing(_)
        | Ending::Busy(_)
        | Ending::Refused(_)
        | Ending::Failed(_)
        | Ending::Lost
        | Ending::NotSent
        | Ending::Withheld => Error::Unavailable(text),
    }
}

#[cfg(test)]
mod tests;
