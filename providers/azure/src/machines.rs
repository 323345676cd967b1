//! The list of all machines: first those with ids of their own, then those of each scale set. Interfaces and public addresses are
//! lists beside it, and no machine costs a request.

use aerostat_sdk::{Error, Instance, Page, Result, SortedMap, sorted};
use serde_json::{Value, json};

use crate::api::AzureApi;
use crate::api::fields::{text, word};
use crate::api::lists;
use crate::id::ResourceId;
use crate::instance::{self, AzureInterfaces, public_addresses};
use crate::machine::MachineId;
use crate::settings::AccountSettings;

/// The query that adds to a machine what it is doing.
pub(crate) const INSTANCE_VIEW: (&str, &str) = ("$expand", "instanceView");

/// A place in the list: a scale set, or none before all of them, a page there, and how many of that page are past.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct MachinesPlace {
    /// The scale set's name, in lower case; empty for machines with ids of their own.
    set: String,
    token: Option<String>,
    past: usize,
}

impl MachinesPlace {
    /// The place of a cursor; the beginning without one.
    ///
    /// # Errors
    ///
    /// `invalid`, if [`Self::cursor`] did not write it.
    pub(crate) fn parse(cursor: Option<&str>) -> Result<Self> {
        let Some(cursor) = cursor else { return Ok(Self::default()) };
        let read = || {
            let shown: Value = serde_json::from_str(cursor).ok()?;
            let past = usize::try_from(shown[1].as_u64()?).ok()?;
            Some(Self { set: shown[0].as_str()?.to_owned(), token: shown[2].as_str().map(str::to_owned), past })
        };
        read().ok_or_else(|| Error::invalid(format_args!("cursor {cursor:?} is not one of the list of machines")))
    }

    fn cursor(&self) -> String {
        json!([self.set, self.past, self.token]).to_string()
    }
}

/// A scale set.
pub(crate) struct ScaleSet {
    pub(crate) id: ResourceId,
    pub(crate) shown: Value,
}

/// The scale sets of the machines' group in the order of their names.
fn sets(settings: &AccountSettings) -> Result<Vec<ScaleSet>> {
    if !settings.has_scale_sets {
        return Ok(Vec::new());
    }
    let listed = lists::all(AzureApi::Compute, &settings.compute(&["virtualMachineScaleSets"]), &[])?;
    let mut sets: Vec<ScaleSet> = listed
        .into_iter()
        .filter_map(|shown| {
            Some(ScaleSet { id: settings.compute(&["virtualMachineScaleSets", word(&shown, "/name")?]), shown })
        })
        .collect();
    sorted::sort_by(&mut sets, |one, other| one.key().cmp(&other.key()));
    Ok(sets)
}

/// Those whose machines have no ids of their own.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn uniform_sets(settings: &AccountSettings) -> Result<Vec<ScaleSet>> {
    let mut sets = sets(settings)?;
    sets.retain(|it| !it.is_flexible());
    Ok(sets)
}

impl ScaleSet {
    fn key(&self) -> String {
        self.id.name().to_ascii_lowercase()
    }

    fn is_flexible(&self) -> bool {
        text(&self.shown, "/properties/orchestrationMode").eq_ignore_ascii_case("Flexible")
    }
}

/// A page of at most `limit` machines.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn page(settings: &AccountSettings, place: &MachinesPlace, limit: u32) -> Result<Page> {
    let sets = sets(settings)?;
    let by_key: SortedMap<String, &ScaleSet> = sets.iter().map(|it| (it.key(), it)).collect();
    let set = by_key.get(&place.set).copied().filter(|it| !it.is_flexible());
    let list = match set {
        Some(set) => Some(set.id.child(&["virtualMachines"])),
        // A scale set that is gone by now has no machines.
        None => place.set.is_empty().then(|| settings.compute(&["virtualMachines"])),
    };
    let read = list.as_ref().map(|it| lists::page(AzureApi::Compute, it, &[INSTANCE_VIEW], place.token.as_deref()));
    let (machines, token) = read.transpose()?.flatten().unwrap_or_default();
    let limit = usize::try_from(limit).unwrap_or(usize::MAX).max(1);
    let left = machines.len().saturating_sub(place.past);
    let part: Vec<&Value> = machines.iter().skip(place.past).take(limit).collect();
    let next = if left > limit {
        Some(MachinesPlace { past: place.past + limit, ..place.clone() })
    } else if token.is_some() {
        Some(MachinesPlace { token, past: 0, ..place.clone() })
    } else {
        let later = sets.iter().filter(|it| !it.is_flexible()).map(ScaleSet::key).find(|it| *it > place.set);
        later.map(|set| MachinesPlace { set, token: None, past: 0 })
    };
    let (instances, lost) = shown(settings, &part, set, &by_key)?;
    let page = Page::new(instances, next.map(|it| it.cursor()));
    Ok(lost.into_iter().fold(page, Page::gap))
}

/// The machines of a page with their interfaces, and why one may be missing.
fn shown(
    settings: &AccountSettings,
    machines: &[&Value],
    set: Option<&ScaleSet>,
    sets: &SortedMap<String, &ScaleSet>,
) -> Result<(Vec<Instance>, Option<String>)> {
    let mut interfaces = AzureInterfaces::default();
    if !machines.is_empty() {
        read_interfaces(settings, machines, set, &mut interfaces)?;
    }
    let (mut instances, mut lost) = (Vec::new(), None);
    for machine in machines {
        let id = match set {
            Some(set) => word(machine, "/instanceId").map(|it| MachineId::in_set(&set.id, it)),
            None => MachineId::of(text(machine, "/id")),
        };
        let Some(id) = id else {
            lost = Some("a machine of the list has no id".to_owned());
            continue;
        };
        if !instance::exists(machine, &id) {
            continue;
        }
        let flexible = ResourceId::parse(text(machine, "/properties/virtualMachineScaleSet/id"));
        let own = set.or_else(|| sets.get(&flexible?.name().to_ascii_lowercase()).copied());
        let instance = instance::instance(machine, &id, own.map(|it| &it.shown), &interfaces);
        // Its interface is made a moment before it, and may be shown a moment after it.
        if interfaces.primary(machine).is_none() {
            lost = Some(format!("the list of interfaces lacks that of {}", instance.name));
            continue;
        }
        instances.push(instance);
    }
    Ok((instances, lost))
}

/// The interfaces where these machines have theirs, and public addresses if any of them has one.
fn read_interfaces(
    settings: &AccountSettings,
    machines: &[&Value],
    set: Option<&ScaleSet>,
    interfaces: &mut AzureInterfaces,
) -> Result<()> {
    // Both lists are of the network's API, also where they are below a scale set.
    let (list, addresses) = match set {
        Some(set) => (set.id.child(&["networkInterfaces"]), set.id.child(&["publicIPAddresses"])),
        None => {
            let network = |it| ResourceId::new(&settings.subscription, &settings.group, "Microsoft.Network", &[it]);
            (network("networkInterfaces"), network("publicIPAddresses"))
        }
    };
    interfaces.add(lists::all(AzureApi::Network, &list, &[])?);
    let has_public =
        machines.iter().any(|it| interfaces.primary(it).is_some_and(|it| public_addresses(it).next().is_some()));
    if has_public {
        let listed = lists::all(AzureApi::Network, &addresses, &[])?;
        interfaces.add_addresses(&listed);
    }
    Ok(())
}
