use async_trait::async_trait;

use crate::{Ingress, Reply, Result};

/// All load balancers that carry this cluster's marks: a few requests, where one `ensure` for each would be many.
#[async_trait]
pub trait LoadBalancerInventory: Send + Sync {
    /// The list's properties now, as the provider that serves described them at load.
    fn description(&self) -> InventoryDescription;

    /// Whether calls are made at all now. It is asked before anything is concluded from what the cloud does not have.
    ///
    /// # Errors
    ///
    /// The error that every call would have for an answer now.
    async fn check(&self) -> Result<()> {
        Ok(())
    }

    /// One page of what carries this cluster's marks, at most `limit` items, beginning at `cursor` (`None`: at the start).
    /// Absence from a list is never taken as absence from the cloud.
    async fn list(&self, cursor: Option<String>, limit: u32) -> Reply<Result<InventoryPage>>;
}

/// The properties of the list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct InventoryDescription {
    /// Items in one page: at least 1.
    pub page_size: u32,
    /// Whether [`InventoryItem::revision`] is there.
    pub revisions: bool,
}

/// A part of the list.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct InventoryPage {
    /// In the cloud's order.
    pub items: Vec<InventoryItem>,
    /// Where the next page begins; `None` on the last.
    pub next: Option<String>,
    /// Why this page may lack items, on one line. Then nothing is taken for an orphan, and nobody is spared an `ensure`.
    pub incomplete: Option<String>,
}

/// Something in the cloud that was made for a Service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InventoryItem {
    /// For which Service, as its mark of ownership says.
    pub owner: MarkedOwner,
    /// How far that mark can be relied on.
    pub proof: Proof,
    /// The cloud's kind and id, for people: "load balancer 4711". One line.
    pub cloud_object: String,
    /// The memo with which `delete` knows it again. Printable, never empty, at most 1 KiB.
    pub memo: Option<String>,
    /// Whether the cloud is still at work on it.
    pub state: InventoryState,
    /// Another value whenever something has changed that `ensure` looks at, and only then. Visible ASCII, at most 64 bytes.
    pub revision: Option<String>,
    /// Another value whenever something has changed of what `ensure` looks at and the list shows, and only then. There may be more than it shows.
    /// Visible ASCII, at most 64 bytes.
    pub outline: Option<String>,
    /// Where it is reached, as far as the list tells.
    pub ingress: Vec<Ingress>,
    /// When it was made, in seconds since 1970; `None` if the cloud does not tell.
    pub created: Option<u64>,
    /// Why it is kept, whether its Service is there or not: it is never taken for an orphan. One line.
    pub kept: Option<String>,
}

impl InventoryItem {
    /// Something at rest, of which the list tells no more than this.
    #[must_use]
    pub fn new(cloud_object: impl Into<String>, owner: MarkedOwner, proof: Proof) -> Self {
        Self {
            owner,
            proof,
            cloud_object: cloud_object.into(),
            memo: None,
            state: InventoryState::Ready,
            revision: None,
            outline: None,
            ingress: Vec::new(),
            created: None,
            kept: None,
        }
    }
}

/// For whom something was made, as far as its mark of ownership tells.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct MarkedOwner {
    /// The UID of the cluster. Looks like a UID.
    pub cluster_uid: Option<String>,
    /// The Service's UID. Looks like a UID.
    pub uid: Option<String>,
    /// The Service's namespace, printable.
    pub namespace: Option<String>,
    /// The Service's name, printable.
    pub name: Option<String>,
}

/// How far a mark of ownership can be relied on.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Proof {
    /// It holds this cluster's UID and the Service's. Only such an item may ever be deleted as an orphan.
    Unique,
    /// It holds names that another cluster, or a person, could have chosen too. Only ever told of.
    ByName,
}

/// Whether the cloud is still at work.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum InventoryState {
    /// It is at rest.
    Ready,
    /// It is being made, changed or deleted.
    Changing,
    /// The cloud has given it up, for this reason: one line.
    Failed(String),
}
