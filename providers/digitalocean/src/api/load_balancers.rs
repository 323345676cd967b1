//! Requests for load balancers.

mod model;

pub(crate) use self::model::{
    ClientNetwork, Firewall, ForwardingRule, HealthCheck, HealthProtocol, Kind, LoadBalancer, Protocol, Size, Spec,
    Stack, Status, StickyKind, StickySessions,
};

use aerostat_sdk::backend::{Creation, Found};
use aerostat_sdk::http::{NumberedPage, Request, Response};
use aerostat_sdk::{Change, Error, Result, SortedSet};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{API, PAGES, says_name_taken};

const PATH: [&str; 2] = ["v2", "load_balancers"];
/// Where a list has its items.
const FIELD: &str = "load_balancers";

/// The fields of a load balancer that are read in a list.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ListedLoadBalancer {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default, rename = "type", deserialize_with = "aerostat_sdk::json::empty_as_default")]
    pub(crate) kind: Kind,
}

/// The load balancer with this id.
pub(crate) fn find(id: &str) -> Result<Option<LoadBalancer>> {
    API.get(path(id)).find_response()?.as_ref().map(one).transpose()
}

/// The load balancer with this id as a list shows it; `None` if no list does, or not so that it can be read.
pub(crate) fn find_listed(id: &str) -> Result<Option<LoadBalancer>> {
    let found = PAGES.find(&API.get(PATH), FIELD, "id", &json!(id))?;
    Ok(found.and_then(|it| LoadBalancer::read(it).ok()))
}

/// One page of the load balancers of the account, as the API shows them.
pub(crate) fn page(number: u32, size: u32) -> Result<NumberedPage<Value>> {
    PAGES.page(API.get(PATH), FIELD, number, size)
}

/// All load balancers of the account. Only fields are read that every load balancer has: others of the account may be of a type
/// that this provider does not know.
pub(crate) fn list() -> Result<Vec<ListedLoadBalancer>> {
    PAGES.all(&API.get(PATH), FIELD)
}

/// Creates one.
pub(crate) fn create(spec: &Spec, found: impl Fn(&LoadBalancer) -> Found) -> Result<Creation> {
    // The cloud has no code of its own for a name that is taken.
    let is_unclear = |it: &Response| matches!(it.status(), 409 | 422) && says_name_taken(it);
    API.post(PATH).json(spec).create_unless(is_unclear, |it| Ok(found(&one(it)?)))
}

/// Replaces a load balancer as a whole.
pub(crate) fn replace(id: &str, spec: &Spec) -> Result<Change<LoadBalancer>> {
    API.put(path(id)).json(spec).change()?.and_then(|it| one(&it).map(Change::Done))
}

/// Adds targets, and changes nothing else.
pub(crate) fn add_droplets(id: &str, droplets: &SortedSet<u64>) -> Result<Change<()>> {
    targets(API.post(droplets_path(id)), droplets)
}

/// Takes targets away, and changes nothing else.
pub(crate) fn remove_droplets(id: &str, droplets: &SortedSet<u64>) -> Result<Change<()>> {
    targets(API.delete(droplets_path(id)), droplets)
}

/// Deletes it; if it does not exist, that is a success.
pub(crate) fn delete(id: &str) -> Result<Change<()>> {
    API.delete(path(id)).change_or_gone()
}

fn targets(request: Request, droplets: &SortedSet<u64>) -> Result<Change<()>> {
    Ok(request.json(&json!({ "droplet_ids": droplets })).change()?.map(drop))
}

fn one(response: &Response) -> Result<LoadBalancer> {
    LoadBalancer::read(response.json_in("load_balancer")?).map_err(|error| response.unreadable(&error))
}

fn path(id: &str) -> [&str; 3] {
    ["v2", "load_balancers", id]
}

fn droplets_path(id: &str) -> [&str; 4] {
    ["v2", "load_balancers", id, "droplets"]
}

impl LoadBalancer {
    /// Whether the cloud is still building it: it cannot be changed or reached yet.
    pub(crate) fn is_being_built(&self) -> bool {
        match self.status {
            Status::New | Status::Other => true,
            Status::Active => !self.has_address(),
            Status::Errored => false,
        }
    }

    /// Whether it can be reached.
    pub(crate) fn has_address(&self) -> bool {
        !self.ip.is_empty() || !self.ipv6.is_empty()
    }

    /// As a list shows it.
    pub(crate) fn listed(&self) -> ListedLoadBalancer {
        ListedLoadBalancer { id: self.id.clone(), name: self.name.clone(), kind: self.kind }
    }

    /// For a person: its id, and its name.
    pub(crate) fn title(&self) -> String {
        Found::new(&self.id, &self.name, false).title()
    }

    /// The error for one that is of no kind that serves a Service.
    pub(crate) fn unsupported(&self) -> Error {
        let title = self.title();
        Error::invalid(format_args!("{title} is neither REGIONAL nor REGIONAL_NETWORK: it cannot serve a Service"))
    }
}
