//! The trait that a provider implements, and the results of its steps.

use std::time::Duration;

use super::creation::Creation;
use super::found::Found;
use crate::form::Custom;
use crate::key::Key;
use crate::{Change, Error, Ingress, LoadBalancer, Result};

/// When a cloud is asked again that is busy with one change.
pub(super) const SOON: Duration = Duration::from_millis(500);

/// A cloud's requests for the load balancer of one Service, in one call.
///
/// A load balancer may be one object of the cloud or several (listeners, target groups, rules): then the id is that of the one
/// that is made first and deleted last, or names the Service's part where Services share one, and `update` and `delete` make
/// one step at a time.
pub trait Backend {
    /// A load balancer with all that the cloud shows of it.
    type Live;

    /// The annotation that names a load balancer to adopt, if there is one.
    const CLAIM: Option<&'static Key<Custom<String>>> = None;

    /// The Service that the call is about.
    fn service(&self) -> &LoadBalancer;

    /// The id by which [`Self::CLAIM`] names one that was found: where Services share a load balancer, the memo's id names a part, and
    /// the annotation the whole.
    fn claimed_id<'f>(&self, found: &'f Found) -> &'f str {
        &found.id
    }

    /// Whether `text` has the form of an id of this cloud, without white space.
    fn is_id(&self, text: &str) -> bool;

    /// How long to wait between two calls.
    fn pauses(&self) -> Pauses;

    /// How long to wait while the cloud carries out a change or the deletion of a load balancer ([`Update::Busy`], [`Removal::Busy`]): half a
    /// second, unless the provider knows a cloud that takes longer.
    fn change_pause(&self) -> Duration {
        SOON
    }

    /// The load balancers that the cloud lists: at least all that have the Service's mark, with as many others as come with them.
    ///
    /// The mark is a tag, label or name that holds the Service's UID and that only this provider writes.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered, also where the list is not complete.
    fn list(&self) -> Result<Vec<Found>>;

    /// The load balancer with this id; `None` if the cloud is certain that there is none.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn find(&self, id: &str) -> Result<Option<Self::Live>>;

    /// The fields of it that every cloud shows.
    fn found(&self, live: &Self::Live) -> Found;

    /// Whether the cloud itself refuses a second load balancer with the Service's mark, because names are unique there, say. Then none is looked
    /// for before a creation that no call has sent yet, and only a creation that is not taken is followed by [`Self::list`].
    fn refuses_second(&self) -> bool {
        false
    }

    /// Whether a load balancer can be created as the Service asks for it. Nothing is written.
    ///
    /// # Errors
    ///
    /// Why it cannot. No creation is announced then.
    fn can_create(&self) -> Result<()> {
        Ok(())
    }

    /// Sends the one request that creates it, with the Service's mark. `listed` is what [`Self::list`] has just shown: nothing in
    /// it has the mark. It is empty where [`Self::refuses_second`].
    ///
    /// # Errors
    ///
    /// That it was certainly not created. Where it may have been, that is [`Creation::Unclear`].
    fn create(&self, listed: &[Found]) -> Result<Creation>;

    /// Compares with what the Service asks for, and writes what differs. It is the Service's.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered, and why the Service cannot be served.
    fn update(&self, live: &Self::Live) -> Result<Update>;

    /// Lets its targets follow the nodes, and changes nothing else: [`Self::update`] was refused as `invalid` or `denied`, or for a quota,
    /// and nodes come and go nevertheless. The refusal is what the call ends with.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn follow_nodes(&self, live: &Self::Live) -> Result<Change<()>> {
        let _ = live;
        Ok(Change::Done(()))
    }

    /// Takes one step towards its absence. It is the Service's.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn delete(&self, id: &str) -> Result<Removal>;

    /// Marks one that the cloud protects as kept, if it is not yet: from then on
    /// [`LoadBalancerInventory::list`](crate::LoadBalancerInventory::list) shows it as
    /// [`kept`](crate::InventoryItem::kept), and nobody takes it for an orphan, also once the cloud protects it no more.
    /// A load balancer that is to be there again loses the mark. Until it is marked, the Service keeps its finalizer.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn keep(&self, id: &str) -> Result<Change<()>> {
        Err(Error::invalid(format_args!("load balancer {id} is protected, and this provider cannot mark it as kept")))
    }

    /// Whether a load balancer without the Service's mark, which an annotation names, is the Service's. An annotation proves
    /// nothing: the author of a Service writes it. `Err` says why not and what to do, after "cannot be proven to be this
    /// Service's: ".
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn proof(&self, live: &Self::Live) -> Result<Result<(), String>> {
        let _ = live;
        Ok(Err("it does not have the Service's mark".to_owned()))
    }

    /// Whether something has to be written once to one that is adopted, before its id is remembered alone.
    fn needs_tag(&self, live: &Self::Live) -> bool {
        let _ = live;
        false
    }

    /// Writes what [`Self::needs_tag`] asks for: a tag of the cluster, say. What is refused becomes a warning: a
    /// Service is served also if the token may not write tags.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn tag(&self, id: &str) -> Result<()> {
        let _ = id;
        Ok(())
    }
}

/// How long to wait between two calls.
///
/// A cloud that is busy with one change of what is there is asked again after half a second: most take about a second, and the
/// host asks later and later about one that does not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pauses {
    /// Until a load balancer is read again that is being built as a whole.
    pub poll: Duration,
    /// How long a load balancer must have been absent, once its creation was sent without a clear answer, before it is created
    /// again and before its deletion is done. Longer than the cloud's lists may lag.
    pub create_again: Duration,
}

/// The result of an update.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Update {
    /// It is as the Service asks for, and reached at these addresses.
    Done(Vec<Ingress>),
    /// The cloud is still building it: it cannot be changed or reached yet.
    Building,
    /// The cloud is still carrying out an earlier change. Holds what it says.
    Busy(String),
}

/// The result of a deletion.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Removal {
    /// It is gone.
    Gone,
    /// Not yet: the cloud is still carrying out an earlier change, or another part has to be deleted. Holds which.
    Busy(String),
    /// The cloud protects it, for this reason: it is marked as kept, stays, and is no longer the Service's.
    Protected(String),
    /// It is another's by now, as this says: it stays as it is.
    Foreign(String),
}

impl From<Change<()>> for Removal {
    fn from(change: Change<()>) -> Self {
        match change {
            Change::Done(()) => Self::Gone,
            Change::Busy(why) => Self::Busy(why),
        }
    }
}
