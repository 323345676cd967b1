//! Objects that load balancers are made of, each by its kind and name.

use aerostat_sdk::http::Client;
use aerostat_sdk::{Result, pages};
use serde_json::{Value, json};

use super::fields::{items, last_of_url, word};
use super::{API, NETWORK_API};
use crate::machine::MachinePlace;
use crate::settings::ProjectSettings;

/// A kind of object, as paths call it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum GceKind {
    Addresses,
    BackendServices,
    Firewalls,
    ForwardingRules,
    HealthChecks,
    HttpHealthChecks,
    InstanceGroups,
    TargetPools,
}

/// An object by its kind and name.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct GceObject {
    pub(crate) kind: GceKind,
    /// The zone of an instance group; empty for all others.
    pub(crate) zone: String,
    pub(crate) name: String,
}

impl GceKind {
    /// Its word in paths.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Addresses => "addresses",
            Self::BackendServices => "backendServices",
            Self::Firewalls => "firewalls",
            Self::ForwardingRules => "forwardingRules",
            Self::HealthChecks => "healthChecks",
            Self::HttpHealthChecks => "httpHealthChecks",
            Self::InstanceGroups => "instanceGroups",
            Self::TargetPools => "targetPools",
        }
    }

    /// Its word in sentences.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Addresses => "address",
            Self::BackendServices => "backend service",
            Self::Firewalls => "firewall",
            Self::ForwardingRules => "forwarding rule",
            Self::HealthChecks | Self::HttpHealthChecks => "health check",
            Self::InstanceGroups => "instance group",
            Self::TargetPools => "target pool",
        }
    }

    /// In which part of which project objects of this kind are, and so are their operations.
    pub(crate) fn scope(self) -> GceScope {
        match self {
            Self::Addresses | Self::BackendServices | Self::ForwardingRules | Self::TargetPools => GceScope::Region,
            Self::Firewalls => GceScope::Network,
            Self::HealthChecks | Self::HttpHealthChecks => GceScope::Global,
            Self::InstanceGroups => GceScope::Zone,
        }
    }
}

/// A part of a project.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum GceScope {
    /// `global` of the machines' project.
    Global,
    /// `global` of the network's project.
    Network,
    /// The cluster's region.
    Region,
    /// A zone.
    Zone,
}

impl GceScope {
    /// The endpoint of its project.
    pub(crate) fn api(self) -> Client<'static> {
        if self == Self::Network { NETWORK_API } else { API }
    }

    /// The beginning of its paths, below its project.
    pub(crate) fn path(self, settings: &ProjectSettings, zone: &str) -> Vec<String> {
        match self {
            Self::Global | Self::Network => vec!["global".to_owned()],
            Self::Region => vec!["regions".to_owned(), settings.region.clone()],
            Self::Zone => vec!["zones".to_owned(), zone.to_owned()],
        }
    }

    /// The id of its project.
    fn project(self, settings: &ProjectSettings) -> &str {
        if self == Self::Network { &settings.network_project } else { &settings.project }
    }
}

impl GceObject {
    pub(crate) fn new(kind: GceKind, name: impl Into<String>) -> Self {
        Self { kind, zone: String::new(), name: name.into() }
    }

    /// The instance group of this name in a zone.
    pub(crate) fn group(zone: &str, name: &str) -> Self {
        Self { zone: zone.to_owned(), ..Self::new(GceKind::InstanceGroups, name) }
    }

    /// The endpoint of its project.
    pub(crate) fn api(&self) -> Client<'static> {
        self.kind.scope().api()
    }

    /// The path of all objects of its kind where it is, below its project.
    pub(crate) fn collection(&self, settings: &ProjectSettings) -> Vec<String> {
        let mut path = self.kind.scope().path(settings, &self.zone);
        path.push(self.kind.word().to_owned());
        path
    }

    /// Its path, below its project.
    pub(crate) fn path(&self, settings: &ProjectSettings) -> Vec<String> {
        let mut path = self.collection(settings);
        path.push(self.name.clone());
        path
    }

    /// The reference by which other objects name it, from `projects/` on.
    pub(crate) fn reference(&self, settings: &ProjectSettings) -> String {
        format!("projects/{}/{}", self.kind.scope().project(settings), self.path(settings).join("/"))
    }

    /// For a person: "firewall k8s-fw-a1".
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.kind.title(), self.name)
    }
}

/// An object as the API shows it; `None` if it is not there.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn find(settings: &ProjectSettings, object: &GceObject) -> Result<Option<Value>> {
    object.api().get(object.path(settings)).find()
}

/// Addresses of the region with this number. The filter is a regular expression: what only looks like it is left out.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn addresses(settings: &ProjectSettings, ip: &str) -> Result<Vec<Value>> {
    let path = GceObject::new(GceKind::Addresses, "").collection(settings);
    let page: Value = API.get(path).query("filter", format_args!("address eq {ip}")).send()?.json()?;
    Ok(items(&page, "items").iter().filter(|it| it["address"] == ip).cloned().collect())
}

/// The objects of a kind with these names, as far as they are there. Names of objects have no character that means anything in an
/// expression.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn named(settings: &ProjectSettings, kind: GceKind, names: &[String]) -> Result<Vec<Value>> {
    pages(None, |token: &Option<String>| {
        let request = kind.scope().api().get(GceObject::new(kind, "").collection(settings));
        let request = request.query("filter", format_args!("name eq \"({})\"", names.join("|")));
        let request = request.query("maxResults", super::PAGE);
        let page: Value = token.iter().fold(request, |it, token| it.query("pageToken", token)).send()?.json()?;
        Ok((items(&page, "items").to_vec(), word(&page, "nextPageToken").map(Some)))
    })
}

/// The instances in a group; `None` if there is no such group.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn members(settings: &ProjectSettings, group: &GceObject) -> Result<Option<Vec<MachinePlace>>> {
    let mut is_there = true;
    let read = pages(None, |token: &Option<String>| {
        let path = group.path(settings).into_iter().chain(["listInstances".to_owned()]);
        let request = API.post(path).query("maxResults", super::PAGE).json(&json!({ "instanceState": "ALL" }));
        let request = token.iter().fold(request, |it, token| it.query("pageToken", token));
        let Some(page) = request.find::<Value>()? else {
            is_there = false;
            return Ok((Vec::new(), None));
        };
        let places = items(&page, "items").iter().filter_map(|it| MachinePlace::of_url(&word(it, "instance")?));
        Ok((places.collect(), word(&page, "nextPageToken").map(Some)))
    })?;
    Ok(is_there.then_some(read))
}

/// The zones in which there is an instance group of this name.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn zones_with_group(name: &str) -> Result<Vec<String>> {
    pages(None, |token: &Option<String>| {
        let request = API
            .get(["aggregated", "instanceGroups"])
            .query("filter", format_args!("name eq {name}"))
            .query("maxResults", super::PAGE)
            .query("fields", "nextPageToken,items/*/instanceGroups(name,zone)");
        let request = token.iter().fold(request, |it, token| it.query("pageToken", token));
        let page: Value = request.send()?.json()?;
        let scopes = page["items"].as_object().into_iter().flatten();
        let groups = scopes.flat_map(|(_, it)| items(it, "instanceGroups")).filter(|it| it["name"] == name);
        let zones = groups.filter_map(|it| word(it, "zone")).map(|it| last_of_url(&it));
        Ok((zones.collect(), word(&page, "nextPageToken").map(Some)))
    })
}

/// A page of at most `size` objects of one kind, and the token of the next.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn listed(
    settings: &ProjectSettings,
    kind: GceKind,
    token: Option<&str>,
    size: u32,
) -> Result<(Vec<Value>, Option<String>)> {
    let path = GceObject::new(kind, "").collection(settings);
    let request = kind.scope().api().get(path).query("maxResults", size.clamp(1, super::PAGE));
    let page: Value = token.iter().fold(request, |it, token| it.query("pageToken", token)).send()?.json()?;
    Ok((items(&page, "items").to_vec(), word(&page, "nextPageToken")))
}
