//! Load balancers, as the API shows them and as it wants them.

mod lenient;
mod model;

pub(crate) use self::model::{
    Algorithm, Firewall, HealthCheck, HealthProtocol, Kind, LoadBalancer, Network, Protocol, Rule, Size, Slug, Spec,
    Stack, Status, StickyKind, StickySessions,
};

use std::collections::BTreeSet;

use aerostat_sdk::http::{Attempt, Request, Response};
use aerostat_sdk::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{API, LARGEST_PAGE, Links, Refusal, is_busy};

/// What became of a change to something that is there.
#[derive(Debug)]
pub(crate) enum Change<T> {
    /// It is done.
    Done(T),
    /// Not now: the load balancer is still carrying out an earlier one. In the cloud's words.
    Busy(String),
}

/// What became of a creation.
#[derive(Debug)]
pub(crate) enum Creation {
    /// The cloud is building it.
    Begun(Box<LoadBalancer>),
    /// Perhaps: the cloud did not answer, or said that it failed. Why, for a person.
    Unknown(String),
    /// There is one with this name already, whatever the list says.
    NameTaken(String),
}

/// As much of a load balancer as a list is asked for.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Listed {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default, rename = "type", deserialize_with = "lenient::word")]
    pub(crate) kind: Kind,
}

#[derive(Deserialize)]
struct One {
    load_balancer: LoadBalancer,
}

/// The load balancer with this id.
pub(crate) fn find(id: &str) -> Result<Option<LoadBalancer>> {
    let found: Option<One> = API.get(path(id)).find()?;
    Ok(found.map(|it| it.load_balancer))
}

/// All load balancers of the account, strangers' too: of them nothing is read that could be new to us.
pub(crate) fn list() -> Result<Vec<Listed>> {
    #[derive(Deserialize)]
    struct Page {
        load_balancers: Vec<Listed>,
        #[serde(default)]
        links: Links,
    }
    let mut all = Vec::new();
    for number in 1_u32.. {
        let request = API.get(["v2", "load_balancers"]).query("page", number).query("per_page", LARGEST_PAGE);
        let page: Page = request.send()?.json()?;
        all.extend(page.load_balancers);
        if page.links.pages.next.is_none() {
            break;
        }
    }
    Ok(all)
}

/// Has one built.
pub(crate) fn create(spec: &Spec) -> Result<Creation> {
    let response = match API.post(["v2", "load_balancers"]).json(spec).attempt()? {
        Attempt::Answered(it) => it,
        Attempt::Lost(why) => return Ok(Creation::Unknown(why)),
    };
    match response.status() {
        500.. => Ok(Creation::Unknown(response.complaint())),
        // The cloud has no code of its own for this.
        409 | 422 if says_name_taken(&response) => Ok(Creation::NameTaken(response.complaint())),
        _ => {
            let response = response.accepted()?;
            // Whatever it says, it was accepted: an answer that makes no sense does not undo that.
            let made = response.json::<One>();
            Ok(made.map_or_else(
                |_| Creation::Unknown(format!("{}, with an answer that cannot be read", response.complaint())),
                |it| Creation::Begun(Box::new(it.load_balancer)),
            ))
        }
    }
}

/// Replaces all that is said about a load balancer.
pub(crate) fn replace(id: &str, spec: &Spec) -> Result<Change<LoadBalancer>> {
    match change(API.put(path(id)).json(spec))? {
        Change::Done(response) => Ok(Change::Done(response.json::<One>()?.load_balancer)),
        Change::Busy(why) => Ok(Change::Busy(why)),
    }
}

/// Adds targets, and changes nothing else.
pub(crate) fn add_droplets(id: &str, droplets: &BTreeSet<u64>) -> Result<Change<()>> {
    targets(API.post(droplets_path(id)), droplets)
}

/// Takes targets away, and changes nothing else.
pub(crate) fn remove_droplets(id: &str, droplets: &BTreeSet<u64>) -> Result<Change<()>> {
    targets(API.delete(droplets_path(id)), droplets)
}

/// Makes sure that it is gone.
pub(crate) fn delete(id: &str) -> Result<Change<()>> {
    let response = API.delete(path(id)).answer()?;
    match response.status() {
        404 => super::refusal(&response).map_or(Ok(Change::Done(())), Err),
        _ if is_busy(&response) => Ok(Change::Busy(response.complaint())),
        _ => response.accepted().map(|_| Change::Done(())),
    }
}

fn targets(request: Request, droplets: &BTreeSet<u64>) -> Result<Change<()>> {
    #[derive(Serialize)]
    struct Body<'a> {
        droplet_ids: &'a BTreeSet<u64>,
    }
    Ok(match change(request.json(&Body { droplet_ids: droplets }))? {
        Change::Done(_) => Change::Done(()),
        Change::Busy(why) => Change::Busy(why),
    })
}

fn change(request: Request) -> Result<Change<Response>> {
    let response = request.answer()?;
    // A name that the list shows no more is freed a while after its load balancer is gone.
    if is_busy(&response) || (response.status() == 422 && says_name_taken(&response)) {
        return Ok(Change::Busy(response.complaint()));
    }
    response.accepted().map(Change::Done)
}

fn says_name_taken(response: &Response) -> bool {
    let Refusal { message, .. } = response.json().unwrap_or_default();
    message.contains("load balancer with that name")
}

fn path(id: &str) -> [&str; 3] {
    ["v2", "load_balancers", id]
}

fn droplets_path(id: &str) -> [&str; 4] {
    ["v2", "load_balancers", id, "droplets"]
}

impl LoadBalancer {
    /// Whether there is nothing to change or to reach yet.
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
    pub(crate) fn listed(&self) -> Listed {
        Listed { id: self.id.clone(), name: self.name.clone(), kind: self.kind }
    }

    /// For a person: its id, and its name.
    pub(crate) fn title(&self) -> String {
        title(&self.id, &self.name)
    }

    /// The error for one that is of no kind that serves a Service.
    pub(crate) fn unsupported(&self) -> Error {
        let title = self.title();
        Error::invalid(format_args!("{title} is neither REGIONAL nor REGIONAL_NETWORK: it cannot serve a Service"))
    }
}

impl Listed {
    /// For a person: its id, and its name.
    pub(crate) fn title(&self) -> String {
        title(&self.id, &self.name)
    }
}

fn title(id: &str, name: &str) -> String {
    format!("load balancer {id} ({name})")
}
