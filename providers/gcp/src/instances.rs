//! The instance of a node.

use aerostat_sdk::{Error, Instance, Instances, Node, Page, Result, events};

use crate::api::PAGE;
use crate::api::instances::{self, GceInstance};
use crate::instance;
use crate::machine::{MachinePlace, instance_name, is_name, region_of};
use crate::provider::Gcp;
use crate::settings::ProjectSettings;

impl Instances for Gcp {
    fn get(node: &Node) -> Result<Option<Instance>> {
        let settings = ProjectSettings::read()?;
        let found = match &node.provider_id {
            Some(id) => instances::find(&MachinePlace::parse(id, &settings.project)?)?,
            None => named(node, &settings)?,
        };
        Ok(found.map(|it| instance::shown(&it, &node.name, &settings)))
    }

    /// Instances of the region, from one list over all zones. A zone that did not answer leaves a gap.
    fn list(cursor: Option<&str>, limit: u32) -> Result<Page> {
        let settings = ProjectSettings::read()?;
        let listed = instances::listed(None, cursor, limit.clamp(1, PAGE))?;
        let is_here = |it: &&GceInstance| region_of(&it.place.zone) == settings.region;
        let shown = listed.instances.iter().filter(is_here);
        let shown = shown.map(|it| instance::shown(it, &it.place.name, &settings)).collect();
        let page = Page::new(shown, listed.next);
        Ok(listed.gaps.into_iter().fold(page, |page, (zone, why)| match zone {
            Some(zone) if region_of(&zone) != settings.region => page,
            Some(zone) => page.gap_in_zone(zone, why),
            None => page.gap(why),
        }))
    }

    fn canonical_id(provider_id: &str) -> Result<String> {
        let project = ProjectSettings::read()?.project;
        Ok(MachinePlace::parse(provider_id, &project)?.provider_id(&project))
    }
}

/// The one instance of the region whose kubelet registers as this node.
fn named(node: &Node, settings: &ProjectSettings) -> Result<Option<GceInstance>> {
    let name = instance_name(&node.name);
    if !is_name(name) {
        // No instance has such a name: nobody has to be asked.
        return Ok(None);
    }
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = instances::listed(Some(name), cursor.as_deref(), PAGE)?;
        let is_here = |zone: &str| region_of(zone) == settings.region;
        if let Some((zone, why)) = page.gaps.iter().find(|(zone, _)| zone.as_deref().is_none_or(is_here)) {
            let place = zone.as_deref().unwrap_or("a part of the list");
            return Err(Error::unavailable(format_args!(
                "{place} does not answer, and may have node {}: {why}",
                node.name
            )));
        }
        found.extend(page.instances.into_iter().filter(|it| it.place.name == name && is_here(&it.place.zone)));
        match page.next {
            Some(next) if cursor.as_ref() == Some(&next) => {
                return Err(Error::unavailable(format_args!("the list of instances called {name} does not end")));
            }
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    if let [one, another, ..] = &found[..] {
        let message = format!(
            "zones {} and {} have an instance called {name} each, and either could be node {}: rename one of them",
            one.place.zone, another.place.zone, node.name
        );
        events::warning(Some(&node.name), "InstanceLookupFailed", &message);
        return Err(Error::Invalid(message));
    }
    Ok(found.pop())
}
