//! One step of a deletion: by the remembered id, by the Service's mark, or by another proof of ownership.

use super::cloud::{Backend, Removal, SOON};
use super::found::Found;
use super::memo::{self, AT_ONCE, Memo};
use crate::annotations::Annotations;
use crate::{Change, Deletion, LoadBalancer, LoadBalancerStatus, PendingStatus, Result, clock, events};

/// Takes one step towards the absence of the load balancer of `backend`'s Service. One that an annotation names and that
/// cannot be proven to be the Service's stays, with a warning.
///
/// # Errors
///
/// Those of `backend`; [`Error::Invalid`](crate::Error::Invalid) for a memo that this provider did not write.
pub fn delete<B: Backend>(backend: &B) -> Result<Deletion> {
    match Memo::of(backend.service(), |id| backend.is_id(id))? {
        // Only once the memo holds the id alone has the host made sure that no other Service has it.
        None | Some(Memo::Untagged(_)) => delete_unremembered(backend),
        Some(Memo::Id(id)) => delete_one(backend, &id),
        // No call has sent its creation: nothing may still appear in the list.
        Some(Memo::Creating { .. }) if backend.service().is_memo_new() => {
            Ok(delete_marked(backend)?.unwrap_or(Deletion::Done))
        }
        // When it was sent, if at all, nobody knows: it counts from now.
        Some(Memo::Creating { .. }) => delete_created(backend, clock::now()),
        Some(Memo::Lost { since, .. }) => delete_created(backend, since),
    }
}

/// There is no memo: what an annotation names and is proven to be the Service's is deleted, and so is what has its mark.
fn delete_unremembered<B: Backend>(backend: &B) -> Result<Deletion> {
    // A value that is not allowed names no load balancer.
    let claimed = B::CLAIM.and_then(|it| Some((it.name, Annotations::of(backend.service()).read(it).ok()??)));
    let mut unproven = None;
    if let Some((key, id)) = claimed
        && let Some(live) = backend.find(&id)?
    {
        let found = backend.found(&live);
        if found.is_marked || backend.proof(&live)?.is_ok() {
            let because = format_args!("{} is this Service's, and deleted next", found.title());
            return Ok(Deletion::pending(found.status(backend.service()), AT_ONCE, because));
        }
        unproven = Some((key, found));
    }
    if let Some(deletion) = delete_marked(backend)? {
        return Ok(deletion);
    }
    if let Some((key, found)) = unproven {
        let message = format!(
            "{}, which annotation {key} names, is not deleted: it cannot be proven to be this Service's. If it is, delete it \
             in the cloud: until then it costs money",
            found.title()
        );
        events::warning(None, "LoadBalancerNotDeleted", &message);
    }
    Ok(Deletion::Done)
}

/// Its creation was sent at `since` or earlier: if it is not listed, it may still appear.
fn delete_created<B: Backend>(backend: &B, since: u64) -> Result<Deletion> {
    let service = backend.service();
    match delete_marked(backend)? {
        // Another part may still appear in lists: the memo that waits for it stays.
        Some(Deletion::Pending(it)) => {
            return Ok(Deletion::Pending(PendingStatus { status: service.status(), ..it }));
        }
        Some(deletion) => return Ok(deletion),
        None => {}
    }
    let pauses = backend.pauses();
    let Some(left) = memo::remaining(since, pauses.create_again, clock::now()) else { return Ok(Deletion::Done) };
    let lost = lost_since(service, since);
    let because = format_args!(
        "load balancer {} may have been created, and may be listed late: it is looked for {} s more",
        service.name,
        left.as_secs()
    );
    Ok(Deletion::pending(lost, left.min(pauses.poll), because))
}

/// The status of a Service that is being deleted, and for which another part than its load balancer may still appear in lists: from now on
/// [`delete`] finds the load balancer by its mark, and waits for as long as for one whose creation was not answered.
#[must_use]
pub fn lost(service: &LoadBalancer) -> LoadBalancerStatus {
    lost_since(service, clock::now())
}

fn lost_since(service: &LoadBalancer, since: u64) -> LoadBalancerStatus {
    service.status().memo(Memo::Lost { since, is_taken: false }.text(service))
}

/// Deletes whatever has the Service's mark; `None` if nothing has it. One that is alone and not gone yet is remembered: its id leads to the parts
/// beside it once no list shows it any more. Of several each has to be listed again.
fn delete_marked<B: Backend>(backend: &B) -> Result<Option<Deletion>> {
    let listed = backend.list()?;
    let marked: Vec<&Found> = listed.iter().filter(|it| it.is_marked).collect();
    let mut deletion = None;
    for found in &marked {
        // Of several results the least finished one counts.
        deletion = match (deletion, delete_one(backend, &found.id)?) {
            (Some(pending @ Deletion::Pending(_)), _) | (_, pending @ Deletion::Pending(_)) => Some(pending),
            (Some(kept @ Deletion::Kept(_)), _) | (_, kept @ Deletion::Kept(_)) => Some(kept),
            (None | Some(Deletion::Done), Deletion::Done) => Some(Deletion::Done),
        };
    }
    Ok(match (deletion, &marked[..]) {
        (Some(Deletion::Pending(it)), [alone]) => {
            Some(Deletion::Pending(PendingStatus { status: alone.status(backend.service()), ..it }))
        }
        (deletion, _) => deletion,
    })
}

fn delete_one<B: Backend>(backend: &B, id: &str) -> Result<Deletion> {
    Ok(match backend.delete(id)? {
        Removal::Gone => Deletion::Done,
        Removal::Busy(why) => Deletion::pending(backend.service().status(), backend.change_pause(), why),
        // Marked before it is said: with the answer the Service is gone, and nobody marks it any more.
        Removal::Protected(why) => match backend.keep(id)? {
            Change::Done(()) => Deletion::Kept(why),
            Change::Busy(why) => Deletion::pending(backend.service().status(), SOON, why),
        },
        Removal::Foreign(why) => Deletion::Kept(why),
    })
}
