//! The network tags by which firewalls choose nodes.

use aerostat_sdk::{Error, LoadBalancer, Result, SortedSet, pages};

use super::goal::GceGoal;
use crate::api::PAGE;
use crate::api::instances::{self, GceInstance};
use crate::instance::{TAG, tag_of};
use crate::machine::MachinePlace;

/// Nodes about which are asked one by one; more of them are one list.
const SINGLE: usize = 5;

/// The tags of the settings, or those that lists have shown of the nodes; what no list has shown yet is read.
///
/// # Errors
///
/// `invalid` for a node without a tag that its name begins with, and whatever the API answered.
pub(super) fn of(service: &LoadBalancer, goal: &GceGoal) -> Result<Vec<String>> {
    if !goal.tags.is_empty() {
        return Ok(goal.tags.clone());
    }
    let project = &goal.settings.project.project;
    let mut tags: SortedSet<String> = SortedSet::default();
    let mut unknown = Vec::new();
    for node in &service.nodes {
        let place = node.provider_id.as_deref().and_then(|it| MachinePlace::parse(it, project).ok());
        let Some(place) = place.filter(|it| goal.nodes.contains(it)) else { continue };
        match node.extra.iter().find(|(key, _)| key == TAG) {
            Some((_, tag)) => _ = tags.insert(tag.clone()),
            None => unknown.push(place),
        }
    }
    for instance in found(&unknown)? {
        let name = &instance.place.name;
        let tag = tag_of(&instance).ok_or_else(|| {
            Error::invalid(format_args!(
                "instance {name} has no network tag that its name begins with, by which a firewall could choose it: give it one, or \
                 write setting nodeTags"
            ))
        })?;
        tags.insert(tag.to_owned());
    }
    match tags.is_empty() {
        true => Err(Error::unavailable("none of the nodes' instances was found, and so no network tag of them")),
        false => Ok(tags.into_iter().collect()),
    }
}

fn found(places: &[MachinePlace]) -> Result<Vec<GceInstance>> {
    if places.len() <= SINGLE {
        let each = places.iter().map(instances::find);
        return Ok(each.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect());
    }
    let mut all = pages(None, |cursor: &Option<String>| {
        let page = instances::listed(None, cursor.as_deref(), PAGE)?;
        Ok((page.instances, page.next.map(Some)))
    })?;
    all.retain(|it| places.contains(&it.place));
    Ok(all)
}
