//! Instances.

use aerostat_sdk::{Result, SortedMap};
use gcp_api::warned;
use serde_json::Value;

use super::API;
use super::fields::{items, text, word};
use crate::machine::{MachinePlace, last_of};

/// Fields of an instance that are asked for: all of them would be twenty times as much.
const FIELDS: &str = "name,zone,status,machineType,canIpForward,tags/items,networkInterfaces(networkIP,network,subnetwork,\
                      accessConfigs/natIP,ipv6Address,ipv6AccessType,ipv6AccessConfigs/externalIpv6)";

/// One instance.
#[derive(Clone, Debug)]
pub(crate) struct GceInstance {
    pub(crate) place: MachinePlace,
    pub(crate) status: String,
    /// The last part of its URL: "e2-standard-2".
    pub(crate) machine_type: String,
    /// Whether it may send and take packets of other addresses than its own, as those of pods.
    pub(crate) can_ip_forward: bool,
    /// Network tags, by which firewalls choose instances.
    pub(crate) tags: Vec<String>,
    pub(crate) interfaces: Vec<GceInterface>,
}

/// A network interface.
#[derive(Clone, Debug)]
pub(crate) struct GceInterface {
    pub(crate) internal: Option<String>,
    pub(crate) external: Vec<String>,
    pub(crate) ipv6: Option<String>,
    /// The name of its subnet.
    pub(crate) subnet: Option<String>,
}

/// A page of instances.
pub(crate) struct InstancesListed {
    pub(crate) instances: Vec<GceInstance>,
    /// Zones that may have more, each with the reason; no zone for a warning about something else.
    pub(crate) gaps: SortedMap<Option<String>, String>,
    pub(crate) next: Option<String>,
}

impl GceInstance {
    /// `None` without a name or a zone.
    fn from_fields(shown: &Value) -> Option<Self> {
        let place = MachinePlace { zone: last_of(&word(shown, "zone")?).to_owned(), name: word(shown, "name")? };
        Some(Self {
            place,
            status: text(shown, "status"),
            machine_type: last_of(&text(shown, "machineType")).to_owned(),
            can_ip_forward: shown["canIpForward"] == true,
            tags: items(&shown["tags"], "items").iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            interfaces: items(shown, "networkInterfaces").iter().map(GceInterface::from_fields).collect(),
        })
    }
}

impl GceInterface {
    fn from_fields(shown: &Value) -> Self {
        let outer = items(shown, "ipv6AccessConfigs").iter().filter_map(|it| word(it, "externalIpv6")).next_back();
        Self {
            internal: word(shown, "networkIP"),
            // An address that is not given yet is empty.
            external: items(shown, "accessConfigs").iter().filter_map(|it| word(it, "natIP")).collect(),
            ipv6: outer.filter(|_| shown["ipv6AccessType"] == "EXTERNAL").or_else(|| word(shown, "ipv6Address")),
            subnet: word(shown, "subnetwork").map(|it| last_of(&it).to_owned()),
        }
    }
}

/// The instance at this place.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn find(place: &MachinePlace) -> Result<Option<GceInstance>> {
    let path = ["zones", &place.zone, "instances", &place.name];
    let Some(response) = API.get(path).query("fields", FIELDS).find_response()? else { return Ok(None) };
    GceInstance::from_fields(&response.json()?)
        .map(Some)
        .ok_or_else(|| response.unreadable(&"the instance lacks its name or its zone"))
}

/// A page of at most `size` instances of all zones, those with this name alone if there is one, from `cursor` on.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn listed(name: Option<&str>, cursor: Option<&str>, size: u32) -> Result<InstancesListed> {
    let fields =
        format!("nextPageToken,warning(code,message),items/*/warning(code,message),items/*/instances({FIELDS})");
    let request = API.get(["aggregated", "instances"]).query("maxResults", size).query("fields", fields);
    let request = name.iter().fold(request, |it, name| it.query("filter", format_args!("name eq {name}")));
    let request = cursor.iter().fold(request, |it, cursor| it.query("pageToken", cursor));
    let page: Value = request.send()?.json()?;
    let (mut instances, mut gaps) = (Vec::new(), SortedMap::new());
    for (scope, shown) in page["items"].as_object().into_iter().flatten() {
        let zone = scope.strip_prefix("zones/").unwrap_or(scope).to_owned();
        for it in items(shown, "instances") {
            match GceInstance::from_fields(it) {
                Some(instance) => instances.push(instance),
                None => _ = gaps.insert(Some(zone.clone()), "an instance lacks its name or its zone".to_owned()),
            }
        }
        if let Some(why) = warned(shown) {
            gaps.insert(Some(zone), why);
        }
    }
    if let Some(why) = warned(&page) {
        gaps.insert(None, why);
    }
    Ok(InstancesListed { instances, gaps, next: word(&page, "nextPageToken") })
}
