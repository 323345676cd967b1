//! One step towards a load balancer.

use std::time::Duration;

use super::cloud::{Backend, Update};
use super::creation::Creation;
use super::found::Found;
use super::memo::{self, AT_ONCE, Memo};
use crate::annotations::Annotations;
use crate::key::shown;
use crate::{Change, Error, LoadBalancerStatus, Progress, Result, clock, events};

/// Takes one step towards the load balancer of `backend`'s Service.
///
/// # Errors
///
/// Those of `backend`; [`Error::Invalid`] for a memo that this provider did not write, and for a load balancer that an
/// annotation names and that cannot be proven to be the Service's.
pub fn ensure<B: Backend>(backend: &B) -> Result<Progress> {
    match Memo::of(backend.service(), |id| backend.is_id(id))? {
        None => begin(backend, false),
        Some(Memo::Id(id)) => match backend.find(&id)? {
            Some(live) => update(backend, &live),
            None => replace_missing(backend, &id),
        },
        Some(Memo::Untagged(id)) => tag_adopted(backend, &id),
        Some(Memo::Creating { since, is_taken }) => create(backend, since, is_taken),
        Some(Memo::Lost { since, is_taken }) => look_for_lost(backend, since, is_taken),
    }
}

/// There is no memo, or nothing was found that has the name which the cloud calls taken (`is_taken`): either a load balancer is adopted,
/// or a creation is announced. Nothing is written.
fn begin<B: Backend>(backend: &B, is_taken: bool) -> Result<Progress> {
    let Some(key) = B::CLAIM else { return announce(backend, is_taken) };
    let Some(id) = Annotations::of(backend.service()).read(key)? else { return announce(backend, is_taken) };
    let Some(live) = backend.find(&id)? else {
        let message =
            format!("annotation {} names load balancer {id}, which does not exist: another is built", key.name);
        events::warning(None, "LoadBalancerNotFound", &message);
        return announce(backend, is_taken);
    };
    let found = backend.found(&live);
    if !found.is_marked
        && let Err(why) = backend.proof(&live)?
    {
        return Err(Error::invalid(format_args!(
            "annotation {} names {}, which cannot be proven to be this Service's: {why}",
            key.name,
            found.title()
        )));
    }
    if !backend.needs_tag(&live) {
        return Ok(remember(backend, &found));
    }
    let status =
        LoadBalancerStatus { memo: Some(text(backend, &Memo::Untagged(found.id.clone()))), ..status(backend, &found) };
    let because = format_args!("{} is this Service's from now on, and gets the cluster's tag", found.title());
    Ok(Progress::pending(status, AT_ONCE, because))
}

fn tag_adopted<B: Backend>(backend: &B, id: &str) -> Result<Progress> {
    tag(backend, id)?;
    let status = announced(backend, &Memo::Id(id.to_owned()));
    Ok(Progress::pending(status, AT_ONCE, format_args!("load balancer {id} has the cluster's tag")))
}

/// Calls [`Backend::tag`], with a warning where the tag is refused.
///
/// # Errors
///
/// Those of [`Backend::tag`] that are no refusal.
pub fn tag<B: Backend>(backend: &B, id: &str) -> Result<()> {
    match backend.tag(id) {
        Err(refused) if refused.is_refusal() => {
            let message = format!("load balancer {id} does not get the cluster's tag: {}", refused.why());
            events::warning(None, "LoadBalancerNotTagged", &message);
            Ok(())
        }
        done => done,
    }
}

/// It is proven to be the Service's. Nothing is written to it before the host has kept its id, and has found that no other
/// Service has it.
fn remember<B: Backend>(backend: &B, found: &Found) -> Progress {
    let because = format_args!("{} is this Service's from now on", found.title());
    Progress::pending(status(backend, found), AT_ONCE, because)
}

/// Announces a creation in the memo, if the load balancer can be created.
fn announce<B: Backend>(backend: &B, is_taken: bool) -> Result<Progress> {
    backend.can_create()?;
    let status = announced(backend, &Memo::Creating { since: clock::now(), is_taken });
    let because = format_args!("load balancer {} is about to be created", backend.service().name);
    Ok(Progress::pending(status, AT_ONCE, because))
}

/// Creates the one that was announced at `since`, if no call before this one has had the announcement. Otherwise an earlier
/// process may have sent its creation, and lists may not show it yet: then it is looked for.
fn create<B: Backend>(backend: &B, since: u64, is_taken: bool) -> Result<Progress> {
    let service = backend.service();
    if !service.is_memo_new() {
        return match marked(backend)? {
            Some(progress) => Ok(progress),
            None => Ok(lost_now(backend, is_taken)),
        };
    }
    let created = match send(backend) {
        Ok(Ok(created)) => created,
        Ok(Err(there)) => return Ok(there),
        // Nothing was created, and by no earlier call either: nothing may still appear in the list.
        Err(error) => return Ok(Progress::failed(LoadBalancerStatus { memo: None, ..service.status() }, error)),
    };
    match created {
        Creation::Begun(found) => {
            let because = format_args!("the cloud builds {}", found.title());
            Ok(Progress::pending(status(backend, &found).created(), backend.pauses().poll, because))
        }
        Creation::Made(found) => {
            let because = format_args!("{} is created, and gets what it lacks next", found.title());
            Ok(Progress::pending(status(backend, &found).created(), AT_ONCE, because))
        }
        // Announced again, in other words: nothing was sent that the cloud has taken.
        Creation::Busy(why) => {
            let again = Memo::Creating { since: clock::now().max(since.saturating_add(1)), is_taken };
            Ok(Progress::pending(announced(backend, &again), backend.change_pause(), why))
        }
        Creation::Taken(why) if is_taken => {
            let error = Error::unavailable(format_args!(
                "load balancer {}: what has its name is shown by no list, also after it was looked for: delete or rename that in the \
                 cloud, or let the credential see it: {why}",
                service.name
            ));
            Ok(Progress::failed(announced(backend, &Memo::Lost { since: clock::now(), is_taken }), error))
        }
        Creation::Taken(_) => Ok(lost_now(backend, true)),
        Creation::Unclear(why) => {
            let message = format!("load balancer {} may have been created or not: {why}", service.name);
            events::warning(None, "LoadBalancerCreationUnclear", &message);
            Ok(lost_now(backend, false))
        }
    }
}

/// Sends the creation, unless there is one with the Service's mark: then that is remembered (`Err`). A cloud that refuses a second one is asked
/// which ones there are only after it has not taken the creation.
fn send<B: Backend>(backend: &B) -> Result<std::result::Result<Creation, Progress>> {
    if !backend.refuses_second() {
        let listed = backend.list()?;
        return match listed.iter().find(|it| it.is_marked) {
            Some(found) => Ok(Err(remember(backend, found))),
            None => backend.create(&listed).map(Ok),
        };
    }
    let created = backend.create(&[]);
    let may_be_there = match &created {
        Ok(Creation::Begun(_) | Creation::Made(_)) => false,
        Ok(Creation::Busy(_) | Creation::Taken(_) | Creation::Unclear(_)) => true,
        Err(error) => error.is_refusal(),
    };
    // Where the list cannot be had, what became of the creation counts.
    let there = if may_be_there { marked(backend).unwrap_or_default() } else { None };
    there.map_or_else(|| created.map(Ok), |it| Ok(Err(it)))
}

/// The one that the list shows with the Service's mark.
fn marked<B: Backend>(backend: &B) -> Result<Option<Progress>> {
    Ok(backend.list()?.iter().find(|it| it.is_marked).map(|found| remember(backend, found)))
}

/// Finds the one whose creation was unclear at `since`, or creates it once it has been absent for long enough.
fn look_for_lost<B: Backend>(backend: &B, since: u64, is_taken: bool) -> Result<Progress> {
    if let Some(progress) = marked(backend)? {
        return Ok(progress);
    }
    match memo::remaining(since, backend.pauses().create_again, clock::now()) {
        Some(left) => Ok(wait_for_lost(backend, &Memo::Lost { since, is_taken }, left)),
        None => begin(backend, is_taken),
    }
}

/// It is looked for from now on.
fn lost_now<B: Backend>(backend: &B, is_taken: bool) -> Progress {
    wait_for_lost(backend, &Memo::Lost { since: clock::now(), is_taken }, backend.pauses().create_again)
}

fn wait_for_lost<B: Backend>(backend: &B, lost: &Memo, left: Duration) -> Progress {
    let because = format_args!(
        "the cloud did not say what became of load balancer {}: it is looked for, and created again if it is not there in {} s",
        backend.service().name,
        left.as_secs()
    );
    Progress::pending(announced(backend, lost), left.min(backend.pauses().poll), because)
}

/// The remembered one does not exist: another is announced, if the list does not show it either.
fn replace_missing<B: Backend>(backend: &B, id: &str) -> Result<Progress> {
    if backend.list()?.iter().any(|it| it.id == id) {
        return Err(Error::unavailable(format_args!(
            "the cloud lists load balancer {id}, and answers that it does not exist"
        )));
    }
    let message = format!("load balancer {id} of this Service does not exist any more: another is built");
    events::warning(None, "LoadBalancerNotFound", &message);
    announce(backend, false)
}

/// The load balancer exists, and is the Service's.
fn update<B: Backend>(backend: &B, live: &B::Live) -> Result<Progress> {
    let updated = match backend.update(live) {
        Err(refused) if refused.is_refusal() => follow_nodes(backend, live, refused),
        updated => updated,
    };
    let (found, poll) = (backend.found(live), backend.pauses().poll);
    if !matches!(updated, Ok(Update::Building)) {
        warn_of_other_claim(backend, &found);
    }
    let status = status(backend, &found);
    Ok(match updated? {
        Update::Done(ingress) => Progress::Ready(LoadBalancerStatus { ingress, ..status }),
        // A little longer than the first pause: the second read comes just after a cloud that takes a whole number of pauses is done.
        Update::Building => {
            Progress::pending(status, poll + poll / 30, format_args!("the cloud builds {}", found.title()))
        }
        Update::Busy(why) => Progress::pending(status, backend.change_pause(), why),
    })
}

fn follow_nodes<B: Backend>(backend: &B, live: &B::Live, refused: Error) -> Result<Update> {
    match backend.follow_nodes(live) {
        Ok(Change::Busy(why)) => Ok(Update::Busy(why)),
        // It may be refused for the same reason: the first refusal says it.
        Ok(Change::Done(())) => Err(refused),
        Err(again) => Err(if again.is_refusal() { refused } else { again }),
    }
}

fn warn_of_other_claim<B: Backend>(backend: &B, found: &Found) {
    if let Some((key, other)) = claims(backend).filter(|(_, it)| !it.eq_ignore_ascii_case(backend.claimed_id(found))) {
        let message = format!("annotation {key}: {} is ignored: this Service has {}", shown(other), found.title());
        events::warning(None, "LoadBalancerIdIgnored", &message);
    }
}

/// The annotation that names a load balancer to adopt, and its value.
fn claims<B: Backend>(backend: &B) -> Option<(&str, &str)> {
    B::CLAIM.and_then(|it| Some((it.name, Annotations::of(backend.service()).text(it.name)?)))
}

/// The status of a Service whose load balancer is `found`.
fn status<B: Backend>(backend: &B, found: &Found) -> LoadBalancerStatus {
    found.status(backend.service())
}

/// The status of a Service with this memo.
fn announced<B: Backend>(backend: &B, memo: &Memo) -> LoadBalancerStatus {
    backend.service().status().memo(text(backend, memo))
}

fn text<B: Backend>(backend: &B, memo: &Memo) -> String {
    memo.text(backend.service())
}
