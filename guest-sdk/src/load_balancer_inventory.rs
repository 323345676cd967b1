//! The list of all load balancers that carry a cluster's marks.

use crate::bindings::load_balancer_inventory::exports::aerostat::cloud::load_balancer_inventory::Guest;
use crate::{InventoryDescription, InventoryItem, InventoryPage, InventoryState, MarkedOwner, Proof, Result};

/// In an item's `extra`: that it is kept, and why.
const KEPT: &str = "kept";
/// In an item's `extra`: its outline.
const OUTLINE: &str = "outline";

/// The capability of a cloud that can list load balancers, beside [`LoadBalancers`](crate::LoadBalancers).
pub trait LoadBalancerInventory {
    /// The description of the list. Asked at load. No HTTP.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`](crate::Error::Invalid) for settings that cannot work.
    fn describe() -> Result<InventoryDescription>;

    /// One page of what carries this cluster's marks, at most `limit` items, from `cursor` on (`None`: from the start).
    ///
    /// # Errors
    ///
    /// Whatever the cloud answered.
    fn list(cursor: Option<&str>, limit: u32) -> Result<InventoryPage>;
}

impl<T: LoadBalancerInventory> Guest for T {
    fn describe() -> Result<InventoryDescription> {
        T::describe()
    }

    fn list(cursor: Option<String>, limit: u32) -> Result<InventoryPage> {
        T::list(cursor.as_deref(), limit)
    }
}

impl InventoryDescription {
    /// A list with so many items on a page, with or without revisions.
    #[must_use]
    pub fn new(page_size: u32, revisions: bool) -> Self {
        Self { page_size, revisions, extra: Vec::new() }
    }
}

impl InventoryPage {
    /// A page after which `next` comes; `None` on the last.
    pub fn new(items: Vec<InventoryItem>, next: Option<String>) -> Self {
        Self { items, next, incomplete: None }
    }

    /// Says why this page may lack items.
    #[must_use]
    pub fn incomplete(mut self, reason: impl Into<String>) -> Self {
        self.incomplete = Some(reason.into());
        self
    }
}

impl InventoryItem {
    /// Something at rest, for people "load balancer 4711", with a mark that can be relied on so far.
    pub fn new(cloud_object: impl Into<String>, owner: MarkedOwner, proof: Proof) -> Self {
        Self {
            owner,
            proof,
            cloud_object: cloud_object.into(),
            memo: None,
            state: InventoryState::Ready,
            revision: None,
            ingress: Vec::new(),
            created: None,
            extra: Vec::new(),
        }
    }

    /// Says that it is kept, and why: it is never taken for an orphan, nor is what else its owner has.
    #[must_use]
    pub fn kept(mut self, why: impl Into<String>) -> Self {
        self.extra.push((KEPT.to_owned(), why.into()));
        self
    }

    /// Says what the list shows of it, where that is not all that `ensure` looks at, and so no revision: another text whenever that has changed,
    /// of at most 64 visible ASCII characters. While it stays the same, `ensure` is asked once in 9 to 15 hours.
    #[must_use]
    pub fn outline(mut self, outline: impl Into<String>) -> Self {
        self.extra.push((OUTLINE.to_owned(), outline.into()));
        self
    }
}

impl Default for MarkedOwner {
    /// An owner of whom nothing is known.
    fn default() -> Self {
        Self { cluster_uid: None, uid: None, namespace: None, name: None }
    }
}
