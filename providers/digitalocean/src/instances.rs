//! Which droplet stands behind a node.

use aerostat_sdk::{Error, Instance, Instances, Node, Page, Result, provider_id};

use crate::api::{self, Kind, LARGEST_PAGE};
use crate::cluster::Cluster;
use crate::droplet::{instance, node_name};
use crate::{DigitalOcean, PREFIX};

impl Instances for DigitalOcean {
    fn get(node: &Node) -> Result<Option<Instance>> {
        let droplet = match &node.provider_id {
            Some(it) => api::droplet(provider_id::parse(PREFIX, it, "the droplet's id, a number")?)?,
            None => droplet_named(&node.name)?,
        };
        Ok(droplet.map(instance))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let cluster = Cluster::from_settings()?;
        let size = limit.clamp(1, LARGEST_PAGE);
        let Position { kind, page } = cursor.map_or(Ok(Position::START), |it| Position::parse(it, size))?;
        let found = match cluster.tag() {
            // The cloud does not combine a tag with a kind.
            Some(tag) => api::droplets_tagged(tag, page, size)?,
            None => api::droplets_of(kind, page, size)?,
        };
        let next = match kind {
            _ if !found.is_last() => Some(Position { kind, page: page.saturating_add(1) }),
            Kind::Usual if cluster.tag().is_none() => Some(Position { kind: Kind::Gpu, page: 1 }),
            Kind::Usual | Kind::Gpu => None,
        };
        let instances = found.droplets.into_iter().map(instance).collect();
        Ok(Page::new(instances, next.map(|it| it.cursor(size))))
    }
}

/// The one droplet of the cluster whose kubelet registers as `name`.
///
/// The filter knows names only: a node that is called by its address is not found here, but by a sweep.
fn droplet_named(name: &str) -> Result<Option<api::Droplet>> {
    let cluster = Cluster::from_settings()?;
    for kind in [Kind::Usual, Kind::Gpu] {
        let found = api::droplets_named(name, kind)?;
        if !found.is_last() {
            return Err(ambiguous(name, format_args!("more than {LARGEST_PAGE} droplets")));
        }
        let mut ours = found.droplets.into_iter().filter(|it| node_name(it) == name && cluster.owns(&it.tags));
        match (ours.next(), ours.next()) {
            (Some(one), Some(two)) => {
                return Err(ambiguous(name, format_args!("droplets {} and {}", one.id, two.id)));
            }
            (Some(droplet), None) => return Ok(Some(droplet)),
            (None, _) => {}
        }
    }
    Ok(None)
}

fn ambiguous(name: &str, who: std::fmt::Arguments<'_>) -> Error {
    Error::invalid(format_args!(
        "{who} are called {name}, and any of them could be this node: rename all but one, or start the kubelet with \
         --provider-id={PREFIX}<the droplet's id>"
    ))
}

/// Where a page begins: first come all droplets without a GPU, then all others.
#[derive(Clone, Copy)]
struct Position {
    kind: Kind,
    page: u32,
}

impl Position {
    const START: Self = Self { kind: Kind::Usual, page: 1 };

    /// As a cursor, with the page size: another size would shift every page behind it.
    fn cursor(self, size: u32) -> String {
        let kind = match self.kind {
            Kind::Usual => "droplets",
            Kind::Gpu => "gpus",
        };
        format!("{kind}:{}:{size}", self.page)
    }

    fn parse(cursor: &str, size: u32) -> Result<Self> {
        let parts: Vec<_> = cursor.split(':').collect();
        let position = match parts[..] {
            ["droplets", page, _] => page.parse().ok().map(|page| Self { kind: Kind::Usual, page }),
            ["gpus", page, _] => page.parse().ok().map(|page| Self { kind: Kind::Gpu, page }),
            _ => None,
        };
        position.filter(|it| it.cursor(size) == cursor).ok_or_else(|| {
            Error::invalid(format_args!("cursor {cursor:?} is not one of a sweep with {size} droplets a page"))
        })
    }
}
