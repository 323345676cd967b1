//! Public addresses: those that are made for a Service, and the tags of those that Services share.

use aerostat_sdk::{Error, IpFamily, Mark, Owner, Result};
use serde_json::{Value, json};

use super::cloud::BalancerCloud;
use super::goal::{AddressGoal, FrontendGoal, PublicGoal, ServiceGoal};
use super::names::{CLUSTER_TAG, DNS_TAG, MARK_TAG, SERVICE_TAG, base_in, family_word, is_public_of};
use super::writing::TIMES;
use crate::api::AzureApi;
use crate::api::fields::{tag, text, word};
use crate::api::writes::{self, AzureWritten, is_changing};
use crate::id::ResourceId;
use crate::settings::balancers::AzureBalancerSettings;

/// Where a public address stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PublicState {
    /// It is there, and has its number.
    Ready,
    /// It will be: why, and the operation.
    Waits(String, Option<String>),
}

/// The mark of what is made for a Service.
fn mark(owner: &Owner, settings: &AzureBalancerSettings) -> String {
    Mark { cluster: settings.cluster_uid.clone(), service: owner.uid.clone() }.to_string()
}

/// Reads public addresses that a Service names and that no list has shown: somebody may have made them a moment ago.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn read_named(
    goal: &ServiceGoal,
    settings: &AzureBalancerSettings,
    cloud: &mut BalancerCloud,
) -> Result<()> {
    for frontend in &goal.frontends {
        if let AddressGoal::Named(name) = &frontend.address {
            read_public(&settings.public_id(&goal.public.group, name), cloud)?;
        }
    }
    Ok(())
}

/// Reads a public address that no list has shown: lists show late what was made a moment ago.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn read_public(id: &ResourceId, cloud: &mut BalancerCloud) -> Result<()> {
    if cloud.public(&id.to_string()).is_none() {
        let found: Option<Value> = AzureApi::Network.get(id).find()?;
        found.into_iter().for_each(|it| cloud.set_public(it));
    }
    Ok(())
}

/// Puts the public address of a frontend there, if it is the Service's to make; says where it stands.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn ensure_public(
    owner: &Owner,
    goal: &ServiceGoal,
    frontend: &FrontendGoal,
    settings: &AzureBalancerSettings,
    cloud: &mut BalancerCloud,
) -> Result<PublicState> {
    let (name, prefix) = match &frontend.address {
        AddressGoal::Private { .. } => return Ok(PublicState::Ready),
        // Those that somebody names are read alone. Whoever named one with a Service's tag shares it.
        AddressGoal::Named(name) => {
            return share(goal, &settings.public_id(&goal.public.group, name).to_string(), settings, cloud);
        }
        AddressGoal::Numbered(ip) => {
            let found = cloud
                .publics
                .iter()
                .find(|it| text(it, "/properties/ipAddress") == ip)
                .map(|it| text(it, "/id").to_owned());
            return found.map_or(Ok(PublicState::Ready), |it| share(goal, &it, settings, cloud));
        }
        AddressGoal::Own { name, prefix } => (name, prefix),
    };
    let id = settings.public_id(&goal.public.group, name);
    read_public(&id, cloud)?;
    let shown = cloud.public(&id.to_string()).cloned();
    let body = match &shown {
        Some(shown) => edited(shown, &goal.public, &goal.owner, settings),
        None => {
            let zones = cloud.zones(settings)?;
            fresh(goal, frontend.family, prefix.as_deref(), &mark(owner, settings), &zones, settings)
        }
    };
    match shown {
        Some(shown) if is_changing(&shown) => Ok(waits(&id, None)),
        Some(shown) if shown == body && !writes::has_failed(&shown) => Ok(settled(&shown, None)),
        shown => write(&id, &body, shown.as_ref(), cloud),
    }
}

fn write(id: &ResourceId, body: &Value, shown: Option<&Value>, cloud: &mut BalancerCloud) -> Result<PublicState> {
    match writes::put(AzureApi::Network, id, body, shown)? {
        AzureWritten::Begun(written, operation) => {
            let state = settled(&written, operation);
            if !written.is_null() {
                cloud.set_public(written);
            }
            Ok(state)
        }
        AzureWritten::Changed => {
            Ok(PublicState::Waits(format!("public address {} has changed meanwhile", id.name()), None))
        }
        AzureWritten::Busy(_, why) => Ok(PublicState::Waits(why, None)),
    }
}

fn settled(shown: &Value, operation: Option<String>) -> PublicState {
    match !is_changing(shown) && word(shown, "/properties/ipAddress").is_some() {
        true => PublicState::Ready,
        false => PublicState::Waits(format!("public address {} is being made", text(shown, "/name")), operation),
    }
}

fn waits(id: &ResourceId, operation: Option<String>) -> PublicState {
    PublicState::Waits(format!("public address {} is being changed", id.name()), operation)
}

/// A public address as it is made for a Service.
fn fresh(
    goal: &ServiceGoal,
    family: IpFamily,
    prefix: Option<&str>,
    mark: &str,
    zones: &[String],
    settings: &AzureBalancerSettings,
) -> Value {
    let PublicGoal { ip_tags, .. } = &goal.public;
    let mut body = json!({
        "location": settings.account.location,
        "sku": { "name": "Standard" },
        "tags": {},
        "properties": { "publicIPAllocationMethod": "Static", "publicIPAddressVersion": family_word(family) },
    });
    if !zones.is_empty() {
        body["zones"] = json!(zones);
    }
    if let Some(prefix) = prefix {
        body["properties"]["publicIPPrefix"] = json!({ "id": prefix });
    }
    if !ip_tags.is_empty() {
        let tags: Vec<Value> = ip_tags.iter().map(|(kind, tag)| json!({ "ipTagType": kind, "tag": tag })).collect();
        body["properties"]["ipTags"] = json!(tags);
    }
    body["tags"][MARK_TAG] = json!(mark);
    edited(&body, &goal.public, &goal.owner, settings)
}

/// A public address with the tags and the label that a Service gives it.
fn edited(shown: &Value, goal: &PublicGoal, owner: &str, settings: &AzureBalancerSettings) -> Value {
    let mut body = shown.clone();
    for (name, value) in &goal.tags {
        set_tag(&mut body, name, value);
    }
    set_tag(&mut body, CLUSTER_TAG, &settings.cluster);
    let services = with_service(tag(shown, SERVICE_TAG).unwrap_or_default(), owner);
    set_tag(&mut body, SERVICE_TAG, &services);
    match goal.dns_label.as_deref() {
        None => {}
        // The vendor's controller leaves its tag, too.
        Some("") => {
            if let Some(properties) = body["properties"].as_object_mut() {
                properties.remove("dnsSettings");
            }
        }
        Some(label) => {
            set_tag(&mut body, DNS_TAG, owner);
            if !text(&body, "/properties/dnsSettings/domainNameLabel").eq_ignore_ascii_case(label) {
                body["properties"]["dnsSettings"] = json!({ "domainNameLabel": label });
            }
        }
    }
    body
}

/// Sets a tag under the name that it has already, in any case.
fn set_tag(body: &mut Value, name: &str, value: &str) {
    if !body["tags"].is_object() {
        body["tags"] = json!({});
    }
    let tags = body["tags"].as_object_mut();
    let known = tags.and_then(|it| it.keys().find(|it| it.eq_ignore_ascii_case(name)).cloned());
    body["tags"][known.as_deref().unwrap_or(name)] = json!(value);
}

/// Services with one more.
fn with_service(services: &str, owner: &str) -> String {
    let mut all: Vec<&str> = services.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
    if !all.contains(&owner) {
        all.push(owner);
    }
    all.join(",")
}

/// Services without one.
fn without_service(services: &str, owner: &str) -> String {
    services.split(',').map(str::trim).filter(|it| !it.is_empty() && *it != owner).collect::<Vec<_>>().join(",")
}

/// Adds a Service to the tag of an address that another Service of its namespace has. One without that tag is people's own, and is never
/// written.
fn share(
    goal: &ServiceGoal,
    id: &str,
    settings: &AzureBalancerSettings,
    cloud: &mut BalancerCloud,
) -> Result<PublicState> {
    let Some(shown) = cloud.public(id).cloned() else {
        return Err(Error::unavailable(format_args!("public address {id} is not there any more")));
    };
    let Some(services) = tag(&shown, SERVICE_TAG).filter(|it| !it.is_empty()) else { return Ok(PublicState::Ready) };
    let with = with_service(services, &goal.owner);
    let (Some(id), false) = (ResourceId::parse(id), with == services) else { return Ok(settled(&shown, None)) };
    let mut body = shown.clone();
    set_tag(&mut body, SERVICE_TAG, &with);
    write(&settings.account.spelled(id), &body, Some(&shown), cloud)
}

/// Public addresses that a Service has made, or shares, and that are not among those that it is to have.
pub(crate) fn unneeded<'v>(
    base: &str,
    owner: &str,
    kept: &[String],
    settings: &AzureBalancerSettings,
    cloud: &'v BalancerCloud,
) -> Vec<&'v Value> {
    let is_tagged = |it: &Value| tag(it, SERVICE_TAG).unwrap_or_default().split(',').any(|it| it.trim() == owner);
    let is_kept = |it: &Value| kept.iter().any(|kept| crate::id::same(kept, text(it, "/id")));
    let is_named = |it: &Value| is_public_of(&settings.cluster, base, text(it, "/name"));
    // A name alone could be another cluster's; a tag alone could be that of a Service which was called so before.
    let is_own = |entry: &&Value| {
        (is_named(entry) && tag(entry, SERVICE_TAG).is_some())
            || (is_tagged(entry) && !is_named_for_other(entry, settings))
    };
    cloud.publics.iter().filter(is_own).filter(|it| !is_kept(it) && (is_named(it) || is_tagged(it))).collect()
}

/// Whether a public address is one of another cluster, by its tag.
fn is_named_for_other(public: &Value, settings: &AzureBalancerSettings) -> bool {
    tag(public, CLUSTER_TAG).is_none_or(|it| !it.eq_ignore_ascii_case(&settings.cluster))
}

/// Lets go of a public address: it is deleted with its last Service, if it was made for one, or loses the Service's name. Says why it is
/// still there.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn release(
    owner: &str,
    public: &Value,
    settings: &AzureBalancerSettings,
    cloud: &mut BalancerCloud,
) -> Result<PublicState> {
    let name = text(public, "/name");
    let Some(id) = ResourceId::parse(text(public, "/id")) else { return Ok(PublicState::Ready) };
    let id = settings.account.spelled(id);
    if !goes(public, owner, settings) {
        return leave(&id, public, owner, cloud);
    }
    for _ in 0..TIMES {
        // Another Service may share it by now, and a list shows that late. A load balancer that lets go of it gives it another version, too.
        let Some(shown) = AzureApi::Network.get(&id).find::<Value>()? else {
            cloud.forget_public(&id.to_string());
            return Ok(PublicState::Ready);
        };
        cloud.set_public(shown.clone());
        if text(&shown, "/properties/provisioningState") == "Deleting" {
            return Ok(PublicState::Waits(format!("public address {name} is being deleted"), None));
        }
        if !goes(&shown, owner, settings) {
            return leave(&id, &shown, owner, cloud);
        }
        match writes::delete(AzureApi::Network, &id, Some(&shown))? {
            AzureWritten::Begun(_, operation) => {
                // It is gone when it is not shown any more.
                let left = AzureApi::Network.get(&id).find::<Value>()?;
                let is_gone = left.is_none();
                cloud.forget_public(&id.to_string());
                left.into_iter().for_each(|it| cloud.set_public(it));
                return Ok(match is_gone {
                    true => PublicState::Ready,
                    false => PublicState::Waits(format!("public address {name} is being deleted"), operation),
                });
            }
            AzureWritten::Changed => {}
            AzureWritten::Busy(_, why) => return Ok(PublicState::Waits(why, None)),
        }
    }
    Ok(PublicState::Waits(format!("public address {name} was changed by somebody else three times meanwhile"), None))
}

/// Whether a public address was made for Services of which this one is the last.
fn goes(public: &Value, owner: &str, settings: &AzureBalancerSettings) -> bool {
    let is_made = tag(public, CLUSTER_TAG).is_some() && base_in(&settings.cluster, text(public, "/name")).is_some();
    is_made && without_service(tag(public, SERVICE_TAG).unwrap_or_default(), owner).is_empty()
}

/// Takes a Service out of the tag of a public address that stays.
fn leave(id: &ResourceId, public: &Value, owner: &str, cloud: &mut BalancerCloud) -> Result<PublicState> {
    let services = tag(public, SERVICE_TAG).unwrap_or_default();
    let left = without_service(services, owner);
    if left == services {
        return Ok(PublicState::Ready);
    }
    let mut body = public.clone();
    set_tag(&mut body, SERVICE_TAG, &left);
    write(id, &body, Some(public), cloud)
}
