//! Load balancers that are found by an id which the cloud gives them: one step at a time, nothing made twice, and no
//! write without proof of ownership.
//!
//! A provider says what its cloud can do ([`Backend`]), and [`ensure`] and [`delete`] keep the contract's promises with
//! it, once for all clouds:
//!
//! - A creation is announced in the memo before it is sent, and sent only by the first call that has this memo
//!   ([`LoadBalancer::is_memo_new`](crate::LoadBalancer::is_memo_new)).
//! - Before it is sent the list is searched for the Service's mark, but where the cloud itself refuses a second load balancer
//!   ([`Backend::refuses_second`]): there it is searched after a refusal.
//! - After a creation without an answer, or one that a process announced which is gone, the list is searched for the Service's
//!   mark. It is repeated only when it has been absent for [`Pauses::create_again`].
//! - Only the id of a load balancer that is proven to be the Service's is remembered, and nothing is written to it before
//!   the host has kept that.
//! - A memo that this provider did not write stops everything.
//! - A remembered load balancer that `find` misses is replaced only if the list does not show it either.
//! - When an update is refused, the targets follow the nodes all the same.
//! - A deletion without a memo remembers the id of what it has found by its mark, while that is not gone: the next call finds
//!   the parts beside it.
//! - A deletion waits for a load balancer whose creation was announced and that may still appear in the list. A creation that
//!   was certainly refused is announced no more.
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

mod cloud;
mod creation;
mod delete;
mod ensure;
mod found;
mod memo;
mod targets;

pub use self::cloud::{Backend, Pauses, Removal, Update};
pub use self::creation::{Creation, gave_up};
pub use self::delete::{delete, lost};
pub use self::ensure::{ensure, tag};
pub use self::found::{Found, refuse_taken_name};
pub(crate) use self::memo::remaining;
pub use self::targets::Difference;

#[cfg(test)]
mod tests;
