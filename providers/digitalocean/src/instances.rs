//! The droplet of a node.

use aerostat_sdk::{Error, Instance, Instances, Node, Page, Position, Result, settings};

use crate::api::{self, PAGES, WITH_GPU, WITHOUT_GPU};
use crate::droplet::{self, PREFIX, instance, node_name};
use crate::provider::DigitalOcean;
use crate::settings::CLUSTER;

impl Instances for DigitalOcean {
    fn get(node: &Node) -> Result<Option<Instance>> {
        let droplet = match &node.provider_id {
            Some(it) => api::droplet(droplet::id(it)?)?,
            None => droplet_named(&node.name)?,
        };
        Ok(droplet.map(instance))
    }

    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let tag = settings::read(&CLUSTER)?;
        let size = limit.clamp(1, PAGES.largest);
        // First come all droplets without a GPU, then all others. The cloud does not combine a tag with a kind.
        let lists = if tag.is_some() { &["droplets"][..] } else { &["droplets", "gpus"] };
        let at = Position::parse(cursor, lists, size)?;
        let found = match &tag {
            Some(tag) => api::droplets(&[("tag_name", tag)], at.page, size)?,
            None => api::droplets(if at.list == "gpus" { WITH_GPU } else { WITHOUT_GPU }, at.page, size)?,
        };
        let next = at.next(found.is_last);
        Ok(Page::new(found.items.into_iter().map(instance).collect(), next))
    }
}

/// The one droplet of the cluster whose kubelet registers as `name`.
///
/// The filter knows names only: a node that is called by its address is not found here, but in the list.
fn droplet_named(name: &str) -> Result<Option<api::Droplet>> {
    let tag = settings::read(&CLUSTER)?;
    let is_ours = |it: &api::Droplet| node_name(it) == name && tag.as_ref().is_none_or(|tag| it.tags.contains(tag));
    for kind in [WITHOUT_GPU, WITH_GPU] {
        let found = api::droplets(&[kind, &[("name", name)]].concat(), 1, PAGES.largest)?;
        if !found.is_last {
            return Err(ambiguous(name, format_args!("more than {} droplets", PAGES.largest)));
        }
        let mut ours = found.items.into_iter().filter(is_ours);
        match (ours.next(), ours.next()) {
            (Some(one), Some(two)) => return Err(ambiguous(name, format_args!("droplets {} and {}", one.id, two.id))),
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
