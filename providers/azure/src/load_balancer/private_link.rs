//! Private Link services of internal load balancers.

use aerostat_sdk::annotations::Annotations;
use aerostat_sdk::{Error, LoadBalancer, Result};
use serde_json::{Value, json};

use super::annotations as rows;
use super::names::{CLUSTER_TAG, LINK_TAG};
use super::subnets::subnet;
use super::tree::is_same;
use crate::api::AzureApi;
use crate::api::fields::{items, tag, text};
use crate::api::lists;
use crate::api::writes::{self, AzureWritten, is_changing};
use crate::id::{ResourceId, last_of};
use crate::settings::balancers::AzureBalancerSettings;

/// A Private Link service as it is desired.
#[derive(Clone, Debug)]
pub(crate) struct LinkGoal {
    group: Option<String>,
    name: Option<String>,
    subnet: Option<String>,
    count: u32,
    addresses: Vec<String>,
    fqdns: Vec<String>,
    speaks_proxy: bool,
    visibility: Vec<String>,
    approval: Vec<String>,
}

/// The frontend that a Private Link service leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkedFrontend<'a> {
    /// `namespace/name`.
    pub(crate) owner: &'a str,
    /// The frontend's id.
    pub(crate) id: &'a str,
    /// The id of its subnet.
    pub(crate) subnet: &'a str,
}

impl LinkGoal {
    /// That of a Service; `None` if it asks for none. All values are checked all the same.
    ///
    /// # Errors
    ///
    /// `invalid`, naming the annotation, its value, and the allowed values.
    pub(crate) fn of(service: &LoadBalancer, is_internal: bool) -> Result<Option<Self>> {
        let annotations = Annotations::of(service);
        let words = |text: Option<&str>| {
            text.unwrap_or_default().split([' ', ',']).filter(|it| !it.is_empty()).map(str::to_owned).collect()
        };
        let goal = Self {
            group: annotations.read(&rows::PLS_GROUP)?,
            name: annotations.read(&rows::PLS_NAME)?,
            subnet: annotations.read(&rows::PLS_SUBNET)?,
            count: annotations.get(&rows::PLS_COUNT)?,
            addresses: annotations.read(&rows::PLS_ADDRESSES)?.unwrap_or_default(),
            fqdns: words(annotations.read(&rows::PLS_FQDNS)?),
            speaks_proxy: annotations.get(&rows::PLS_PROXY)?,
            visibility: words(annotations.read(&rows::PLS_VISIBILITY)?),
            approval: words(annotations.read(&rows::PLS_APPROVAL)?),
        };
        if goal.addresses.len() > goal.count as usize && goal.addresses.len() > 8 {
            return Err(Error::invalid(format_args!("annotation {}: more than 8 addresses", rows::PLS_ADDRESSES.name)));
        }
        match (annotations.get(&rows::PLS_CREATE)?, is_internal) {
            (true, false) => Err(Error::invalid(format_args!(
                "annotation {} is for internal load balancers: set {} to true",
                rows::PLS_CREATE.name,
                rows::INTERNAL.name
            ))),
            (wanted, _) => Ok(wanted.then_some(goal)),
        }
    }

    /// Puts it there; says what is still waited for.
    ///
    /// # Errors
    ///
    /// Whatever the API answered; `invalid`, if one of its name is another Service's.
    pub(crate) fn ensure(
        &self,
        frontend: LinkedFrontend<'_>,
        settings: &AzureBalancerSettings,
    ) -> Result<Option<String>> {
        let name = self.name.clone().unwrap_or_else(|| format!("pls-{}", last_of(frontend.id)));
        let group = self.group.as_ref().unwrap_or(&settings.link_group);
        let id = settings.account.network(group, &["privateLinkServices", &name]);
        let shown: Option<Value> = AzureApi::Network.get(&id).find()?;
        if let Some(other) = shown.as_ref().filter(|it| !is_made_for(it, frontend.owner, settings)) {
            return Err(Error::invalid(format_args!(
                "Private Link service {name} belongs to {}: choose another name",
                tag(other, LINK_TAG).map_or_else(
                    || "no Service of this cluster".to_owned(),
                    |it| format!("Service {it} of another name or cluster")
                )
            )));
        }
        let subnet_id = match &self.subnet {
            Some(named) => settings.subnet_id(Some(named))?,
            None => ResourceId::parse(frontend.subnet).map_or_else(|| settings.subnet_id(None), Ok)?,
        };
        let mut desired = self.body(frontend, &name, &subnet_id, settings);
        // Properties go that no annotation says any more.
        for (field, none) in NOTHING {
            let is_there = shown.as_ref().is_some_and(|it| is_said(&it["properties"][field]));
            if is_there && desired["properties"][field].is_null() {
                desired["properties"][field] = none();
            }
        }
        if let Some(shown) = &shown {
            if is_changing(shown) {
                return Ok(Some(format!("Private Link service {name} is being changed")));
            }
            let is_as_desired = is_same(&shown["properties"], &desired["properties"]) && !writes::has_failed(shown);
            if is_as_desired {
                return Ok(None);
            }
        } else if let Some(why) = open_subnet(&subnet_id)? {
            return Ok(Some(why));
        }
        let mut body =
            shown.clone().unwrap_or_else(|| json!({ "location": settings.account.location, "properties": {} }));
        for (field, value) in desired["properties"].as_object().into_iter().flatten() {
            body["properties"][&**field] = value.clone();
        }
        for (field, value) in desired["tags"].as_object().into_iter().flatten() {
            body["tags"][&**field] = value.clone();
        }
        Ok(match writes::put(AzureApi::Network, &id, &body, shown.as_ref())? {
            AzureWritten::Begun(shown, _) if !is_changing(&shown) => None,
            AzureWritten::Begun(..) => Some(format!("Private Link service {name} is being made")),
            AzureWritten::Changed => Some(format!("Private Link service {name} has changed meanwhile")),
            AzureWritten::Busy(_, why) => Some(why),
        })
    }

    fn body(
        &self,
        frontend: LinkedFrontend<'_>,
        name: &str,
        subnet: &ResourceId,
        settings: &AzureBalancerSettings,
    ) -> Value {
        let fixed = self.addresses.iter().map(|it| (format!("{}-{name}-static-{it}", subnet.name()), Some(it.clone())));
        let count = (self.count as usize).max(self.addresses.len()) - self.addresses.len();
        let dynamic = (0..count).map(|it| (format!("{}-{name}-dynamic-{it}", subnet.name()), None));
        let mut configurations = Vec::new();
        for (at, (name, ip)) in fixed.chain(dynamic).enumerate() {
            let mut properties = json!({
                "primary": at == 0, "privateIPAddressVersion": "IPv4", "subnet": { "id": subnet.to_string() },
                "privateIPAllocationMethod": if ip.is_some() { "Static" } else { "Dynamic" },
            });
            if let Some(ip) = ip {
                properties["privateIPAddress"] = json!(ip);
            }
            configurations.push(json!({ "name": name, "properties": properties }));
        }
        let mut properties = json!({
            "loadBalancerFrontendIpConfigurations": [{ "id": frontend.id }], "ipConfigurations": configurations,
        });
        if !self.fqdns.is_empty() {
            properties["fqdns"] = json!(self.fqdns);
        }
        if self.speaks_proxy {
            properties["enableProxyProtocol"] = json!(true);
        }
        if !self.visibility.is_empty() {
            properties["visibility"] = json!({ "subscriptions": self.visibility });
        }
        if !self.approval.is_empty() {
            properties["autoApproval"] = json!({ "subscriptions": self.approval });
        }
        let tags = json!({ CLUSTER_TAG: settings.cluster, LINK_TAG: frontend.owner });
        json!({ "tags": tags, "properties": properties })
    }
}

/// A property that annotations may leave out, and the value in its place once it was there.
type OptionalProperty = (&'static str, fn() -> Value);

const NOTHING: [OptionalProperty; 4] = [
    ("fqdns", || json!([])),
    ("enableProxyProtocol", || json!(false)),
    ("visibility", || json!({ "subscriptions": [] })),
    ("autoApproval", || json!({ "subscriptions": [] })),
];

/// Whether a property says anything.
fn is_said(shown: &Value) -> bool {
    *shown == json!(true) || !items(shown, "").is_empty() || !items(shown, "/subscriptions").is_empty()
}

/// Lets Private Link services take addresses of a subnet.
fn open_subnet(id: &ResourceId) -> Result<Option<String>> {
    let shown = subnet(id)?;
    if text(&shown, "/properties/privateLinkServiceNetworkPolicies").eq_ignore_ascii_case("Disabled") {
        return Ok(is_changing(&shown).then(|| format!("subnet {} is being changed", id.name())));
    }
    let mut body = shown.clone();
    body["properties"]["privateLinkServiceNetworkPolicies"] = json!("Disabled");
    Ok(match writes::put(AzureApi::Network, id, &body, Some(&shown))? {
        AzureWritten::Begun(shown, _) if !is_changing(&shown) => None,
        AzureWritten::Begun(..) | AzureWritten::Changed => Some(format!("subnet {} is being changed", id.name())),
        AzureWritten::Busy(_, why) => Some(why),
    })
}

/// Whether a Private Link service was made for this Service of this cluster.
fn is_made_for(shown: &Value, owner: &str, settings: &AzureBalancerSettings) -> bool {
    let is_clusters = tag(shown, CLUSTER_TAG).is_some_and(|it| it.eq_ignore_ascii_case(&settings.cluster));
    is_clusters && tag(shown, LINK_TAG) == Some(owner)
}

/// Deletes all Private Link services of a Service in the group that its annotation names, or in that of the settings; says what is still
/// waited for. Connections to them are deleted first.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn remove(service: &LoadBalancer, settings: &AzureBalancerSettings) -> Result<Option<String>> {
    let owner = &*format!("{}/{}", service.owner.namespace, service.owner.name);
    let named = Annotations::of(service).read(&rows::PLS_GROUP).ok().flatten();
    let group = named.as_ref().unwrap_or(&settings.link_group);
    let list = settings.account.network(group, &["privateLinkServices"]);
    let all = lists::all(AzureApi::Network, &list, &[])?;
    let mut why = None;
    for shown in all.iter().filter(|it| is_made_for(it, owner, settings)) {
        let id = settings.account.network(group, &["privateLinkServices", text(shown, "/name")]);
        let connections = items(shown, "/properties/privateEndpointConnections");
        // A connection is its consumer's: none shares it.
        let mut unwanted: Vec<(ResourceId, Option<&Value>)> =
            connections.iter().map(|it| (id.child(&["privateEndpointConnections", text(it, "/name")]), None)).collect();
        if unwanted.is_empty() {
            unwanted.push((id, Some(shown)));
        } else {
            why = Some(format!("connections to Private Link service {} are being deleted", text(shown, "/name")));
        }
        for (id, shown) in unwanted {
            match writes::delete(AzureApi::Network, &id, shown)? {
                AzureWritten::Begun(..) if AzureApi::Network.get(&id).find::<Value>()?.is_none() => {}
                AzureWritten::Begun(..) => why = Some(format!("{} is being deleted", id.name())),
                AzureWritten::Changed => why = Some(format!("{} has changed meanwhile", id.name())),
                AzureWritten::Busy(_, busy) => why = Some(busy),
            }
        }
    }
    Ok(why)
}
