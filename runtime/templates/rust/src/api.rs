//! The cloud's API: where it is, how its pages end, and where its errors have their words.

use std::collections::BTreeMap;

use aerostat_sdk::http::{Client, NumberedPages, PageEnd};
use aerostat_sdk::{LoadBalancer, Node, Protocol, Result, provider_id};
use serde::{Deserialize, Serialize};

use crate::PREFIX;

/// The endpoint `api` of the operator's config.
pub(crate) const API: Client<'_> = Client::new("api").words(&["message"]); // new: words

/// The field of a page that holds its items.
pub(crate) const ITEMS: &str = "items"; // new: items

/// How the cloud numbers pages.
pub(crate) const PAGES: NumberedPages<'_> = NumberedPages {
    smallest: 1,          // new: smallest
    largest: 100,         // new: largest
    number: "page",       // new: number
    size: "per_page",     // new: size
    next: &["next_page"], // new: next
    end: PageEnd::Next,   // new: end
};

/// A load balancer, as much of it as a Service asks for.
#[derive(Deserialize, PartialEq, Serialize)]
pub(crate) struct Spec {
    /// From the load balancer's port to the machines' port.
    ports: BTreeMap<u16, u16>,
    /// Their ids, sorted.
    machines: Vec<String>,
}

impl Spec {
    pub(crate) fn of(service: &LoadBalancer) -> Result<Self> {
        service.allow_protocols(&[Protocol::Tcp])?;
        let port = |it: &aerostat_sdk::Port| Ok((it.port, it.required_node_port()?));
        let id = |node: &Node| {
            provider_id::split(PREFIX, node.provider_id.as_deref().unwrap_or_default())
                .map(str::to_owned)
        };
        let mut machines = service.nodes.iter().map(id).collect::<Result<Vec<_>>>()?;
        machines.sort();
        Ok(Self {
            ports: service.ports.iter().map(port).collect::<Result<_>>()?,
            machines,
        })
    }
}
