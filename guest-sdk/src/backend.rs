//! Load balancers that are found by an id which the cloud gives them: one step at a time, nothing made twice, and no
//! write without proof of ownership.
//!
//! A provider says what its cloud can do ([`Backend`]), and [`ensure`] and [`delete`] keep the contract's promises with
//! it, once for all clouds:
//!
//! - A creation is announced in the memo before it is sent, and sent at most a minute later.
//! - After a creation without an answer, the list is searched for the Service's mark. It is repeated only when it has been absent for
//!   [`Pauses::create_again`].
//! - Only the id of a load balancer that is proven to be the Service's is remembered, and nothing is written to it before
//!   the host has kept that.
//! - A memo that this provider did not write stops everything.
//! - A remembered load balancer that `find` misses is replaced only if the list does not show it either.
//! - A deletion waits for a load balancer that was announced and may still appear.
//!
//! ```no_run
//! use std::time::Duration;
//! use aerostat_sdk::backend::{self, Backend, Creation, Found, Pauses, Removal, Update};
//! use aerostat_sdk::{Deletion, Ingress, LoadBalancer, LoadBalancers, Progress, Result, http};
//! # use serde::Deserialize;
//! # use serde_json::json;
//! # struct Acme;
//! # #[derive(Deserialize)] struct Balancer { id: String, name: String, uid: String, ip: Option<String> }
//! # impl Balancer { fn found(self, uid: &str) -> Found { Found::new(self.id, self.name, self.uid == uid) } }
//!
//! struct Call<'a>(&'a LoadBalancer);
//!
//! impl Backend for Call<'_> {
//!     type Live = Balancer;
//!
//!     fn service(&self) -> &LoadBalancer {
//!         self.0
//!     }
//!     fn is_id(&self, text: &str) -> bool {
//!         text.starts_with("lb-")
//!     }
//!     fn pauses(&self) -> Pauses {
//!         Pauses { poll: Duration::from_secs(5), create_again: Duration::from_secs(60) }
//!     }
//!     fn list(&self) -> Result<Vec<Found>> {
//!         let all: Vec<Balancer> = http::get("api", ["balancers"]).send()?.json()?;
//!         Ok(all.into_iter().map(|it| it.found(&self.0.owner.uid)).collect())
//!     }
//!     fn find(&self, id: &str) -> Result<Option<Balancer>> {
//!         http::get("api", ["balancers", id]).find()
//!     }
//!     fn found(&self, live: &Balancer) -> Found {
//!         Found::new(&live.id, &live.name, live.uid == self.0.owner.uid)
//!     }
//!     fn create(&self, _listed: &[Found]) -> Result<Creation> {
//!         let body = json!({ "name": self.0.name, "uid": self.0.owner.uid });
//!         http::post("api", ["balancers"]).json(&body).create(|made: Balancer| made.found(&self.0.owner.uid))
//!     }
//!     fn update(&self, live: &Balancer) -> Result<Update> {
//!         Ok(live.ip.as_ref().map_or(Update::Building, |ip| Update::Done(vec![Ingress::ip(ip)])))
//!     }
//!     fn delete(&self, id: &str) -> Result<Removal> {
//!         Ok(http::delete("api", ["balancers", id]).change_or_gone()?.into())
//!     }
//! }
//!
//! impl LoadBalancers for Acme {
//!     fn ensure(desired: &LoadBalancer) -> Result<Progress> {
//!         backend::ensure(&Call(desired))
//!     }
//!     fn delete(unwanted: &LoadBalancer) -> Result<Deletion> {
//!         backend::delete(&Call(unwanted))
//!     }
//! }
//! ```
//!
//! A cloud in which a Service's load balancer has a name that the provider chooses, and a PUT makes or replaces it, needs
//! none of this: it implements [`LoadBalancers`](crate::LoadBalancers) itself.

mod creation;
mod delete;
mod ensure;
mod memo;

pub use self::creation::Creation;
pub use self::delete::delete;
pub use self::ensure::ensure;

use std::time::Duration;

use crate::form::Custom;
use crate::key::Key;
use crate::{Change, Ingress, LoadBalancer, LoadBalancerStatus, Result};

/// How soon to come back where there is nothing to wait for but the memo.
const AT_ONCE: Duration = Duration::ZERO;

/// What a cloud does with the load balancer of one Service, in one call.
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

    /// Whether `text` has the form of an id of this cloud, without white space.
    fn is_id(&self, text: &str) -> bool;

    /// How long to wait between two calls.
    fn pauses(&self) -> Pauses;

    /// What the cloud lists: at least all that have the Service's mark, with as many others as come with them.
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

    /// The same in short.
    fn found(&self, live: &Self::Live) -> Found;

    /// Whether a load balancer can be created as the Service asks for it. Nothing is written.
    ///
    /// # Errors
    ///
    /// Why it cannot. No creation is announced then.
    fn can_create(&self) -> Result<()> {
        Ok(())
    }

    /// Sends the one request that creates it, with the Service's mark. `listed` is what [`Self::list`] has just shown: nothing in
    /// it has the mark.
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

    /// Takes one step towards its absence. It is the Service's.
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn delete(&self, id: &str) -> Result<Removal>;

    /// Whether a load balancer without the Service's mark, which an annotation names, is the Service's. An annotation proves
    /// nothing: whoever may write a Service writes it. `Err` says in words why not and what to do, after "cannot be proven to
    /// be this Service's: ".
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

    /// Writes it: a tag of the cluster, say.
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
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pauses {
    /// Until a load balancer that is being built or changed is read again.
    pub poll: Duration,
    /// How long a load balancer must have been absent, once its creation was sent without a clear answer, before it is created
    /// again and before its deletion is done. Longer than the cloud's lists may lag.
    pub create_again: Duration,
}

/// A load balancer, as much of it as every cloud shows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Found {
    /// What it is remembered by.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// Whether it has the Service's mark.
    pub is_marked: bool,
    /// What is written on the Service for people and other tools while it is the Service's.
    pub annotations: Vec<(String, String)>,
}

impl Found {
    /// Without annotations.
    pub fn new(id: impl Into<String>, name: impl Into<String>, is_marked: bool) -> Self {
        Self { id: id.into(), name: name.into(), is_marked, annotations: Vec::new() }
    }

    /// The same with an annotation that is written on the Service.
    #[must_use]
    pub fn annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.push((key.into(), value.into()));
        self
    }

    /// For a person: its id, and its name.
    #[must_use]
    pub fn title(&self) -> String {
        format!("load balancer {} ({})", self.id, self.name)
    }

    /// What is known of a Service whose load balancer this is.
    fn status(&self, service: &LoadBalancer) -> LoadBalancerStatus {
        let status = service.status().memo(&self.id);
        self.annotations.iter().fold(status, |it, (key, value)| it.annotation(key, value))
    }
}

/// What became of an update.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Update {
    /// It is as the Service asks for, and reached there.
    Done(Vec<Ingress>),
    /// The cloud builds it: there is nothing to change or to reach yet.
    Building,
    /// The cloud is still carrying out an earlier change. In its words.
    Busy(String),
}

/// What became of a deletion.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Removal {
    /// It is gone.
    Gone,
    /// Not yet: the cloud is still carrying out an earlier change, or one more part of it has to go. In words.
    Busy(String),
    /// The cloud protects it, for this reason: it stays, and is no longer the Service's.
    Kept(String),
}

impl From<Change<()>> for Removal {
    fn from(change: Change<()>) -> Self {
        match change {
            Change::Done(()) => Self::Gone,
            Change::Busy(why) => Self::Busy(why),
        }
    }
}

#[cfg(test)]
mod tests;
