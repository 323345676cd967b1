//! Writes of what Services share. Somebody who has written in between is not overwritten: the object is read again, edited again and
//! written again, three times at most.

use std::time::Duration;

use aerostat_sdk::{Error, Result};
use serde_json::Value;

use super::balancer::{BalancerEdit, BalancerMembers, edited};
use super::cloud::BalancerCloud;
use super::groups::{self, GroupMember};
use super::members;
use super::tree::part;
use crate::api::AzureApi;
use crate::api::fields::text;
use crate::api::writes::{self, AzureWritten, has_failed, is_changing};
use crate::settings::balancers::AzureBalancerSettings;

/// How often an object is read again in one call.
pub(crate) const TIMES: usize = 3;
/// How soon to look at a change that goes on.
pub(crate) const POLL: Duration = Duration::from_secs(1);

/// Where a write stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SharedWrite {
    /// Everything is as desired.
    Done,
    /// It will be: when to come back, why, and the operation.
    Waits(Duration, String, Option<String>),
    /// It will be once these operations have ended, and nothing else is to be done.
    Ends(Vec<String>),
}

impl SharedWrite {
    pub(crate) fn waits(why: impl Into<String>) -> Self {
        Self::Waits(POLL, why.into(), None)
    }
}

/// Writes a load balancer for Services that are on it, and for those that leave it.
///
/// # Errors
///
/// Whatever the API answered.
pub(crate) fn write_balancer(
    settings: &AzureBalancerSettings,
    cloud: &mut BalancerCloud,
    name: &str,
    members: &BalancerMembers<'_>,
) -> Result<SharedWrite> {
    let id = settings.balancer_id(name);
    for _ in 0..TIMES {
        let shown = cloud.balancer(name).cloned();
        let zones = if makes_private(shown.as_ref(), members) { cloud.zones(settings)? } else { Vec::new() };
        let edit = edited(settings, &id, shown.as_ref(), members, &zones);
        if let Some(it) = shown.as_ref().filter(|it| is_changing(it)) {
            return Ok(SharedWrite::waits(format!("load balancer {} is being changed", text(it, "/name"))));
        }
        let body = match (edit, &shown) {
            (BalancerEdit::Put(body), _) => body,
            // The last write has failed: what it says is written again.
            (BalancerEdit::Same, Some(shown)) if has_failed(shown) => shown.clone(),
            (BalancerEdit::Same, _) => return Ok(SharedWrite::Done),
            (BalancerEdit::Delete, _) => return delete_balancer(settings, cloud, name),
        };
        match writes::put(AzureApi::Network, &id, &body, shown.as_ref())? {
            AzureWritten::Begun(shown, operation) => {
                let waits = shown.is_null() || is_changing(&shown);
                cloud.set_balancer(name, Some(if shown.is_null() { body } else { shown }));
                return Ok(match waits {
                    true => SharedWrite::Waits(POLL, format!("load balancer {name} is being changed"), operation),
                    false => SharedWrite::Done,
                });
            }
            AzureWritten::Changed => cloud.set_balancer(name, AzureApi::Network.get(&id).find()?),
            AzureWritten::Busy(pause, why) => return Ok(SharedWrite::Waits(pause, why, None)),
        }
    }
    Ok(SharedWrite::waits(format!("load balancer {name} was changed by somebody else three times meanwhile")))
}

/// Whether a frontend with an address of a subnet is to be made: it is kept in all zones.
fn makes_private(shown: Option<&Value>, members: &BalancerMembers<'_>) -> bool {
    let is_there = |name: &str| shown.is_some_and(|it| part(it, "frontendIPConfigurations", name).is_some());
    let frontends = members.present.iter().flat_map(|it| &it.place.frontends);
    frontends.filter(|it| it.subnet.is_some()).any(|it| !is_there(&it.name))
}

/// Deletes a load balancer without frontends. Scale sets leave it first.
fn delete_balancer(settings: &AzureBalancerSettings, cloud: &mut BalancerCloud, name: &str) -> Result<SharedWrite> {
    let id = settings.balancer_id(name);
    let Some(shown) = cloud.balancer(name).cloned() else { return Ok(SharedWrite::Done) };
    if let Some(why) = members::clear(&shown)?.why {
        return Ok(SharedWrite::waits(why));
    }
    // A Service whose frontend or rule was added meanwhile keeps the load balancer.
    let again: Option<Value> = AzureApi::Network.get(&id).find()?;
    let same_parts = |entry: &Value| {
        entry["properties"]["frontendIPConfigurations"] == shown["properties"]["frontendIPConfigurations"]
            && entry["properties"]["loadBalancingRules"] == shown["properties"]["loadBalancingRules"]
    };
    let again = match again {
        None => {
            cloud.set_balancer(name, None);
            return Ok(SharedWrite::Done);
        }
        Some(it) if !same_parts(&it) => {
            cloud.set_balancer(name, Some(it));
            return Ok(SharedWrite::waits(format!("load balancer {name} has changed meanwhile")));
        }
        Some(it) => it,
    };
    match writes::delete(AzureApi::Network, &id, Some(&again))? {
        AzureWritten::Begun(_, operation) => {
            let left: Option<Value> = AzureApi::Network.get(&id).find()?;
            let is_gone = left.is_none();
            cloud.set_balancer(name, left);
            Ok(match is_gone {
                true => SharedWrite::Done,
                false => SharedWrite::Waits(POLL, format!("load balancer {name} is being deleted"), operation),
            })
        }
        AzureWritten::Changed => Ok(SharedWrite::waits(format!("load balancer {name} has changed meanwhile"))),
        AzureWritten::Busy(pause, why) => Ok(SharedWrite::Waits(pause, why, None)),
    }
}

/// Writes the security group for Services.
///
/// # Errors
///
/// Whatever the API answered; a quota, if no priority is left.
pub(crate) fn write_group(
    settings: &AzureBalancerSettings,
    cloud: &mut BalancerCloud,
    members: &[GroupMember<'_>],
) -> Result<SharedWrite> {
    let Some(id) = &settings.security_group else { return Ok(SharedWrite::Done) };
    for _ in 0..TIMES {
        let Some(shown) = cloud.security.clone() else { return Ok(SharedWrite::Done) };
        let body = groups::edited(&shown, members)?;
        let is_same = body == shown && !has_failed(&shown);
        if is_same {
            return Ok(match is_changing(&shown) && !members.is_empty() {
                true => SharedWrite::waits(format!("network security group {} is being changed", id.name())),
                false => SharedWrite::Done,
            });
        }
        if is_changing(&shown) {
            return Ok(SharedWrite::waits(format!("network security group {} is being changed", id.name())));
        }
        match writes::put(AzureApi::Network, id, &body, Some(&shown))? {
            AzureWritten::Begun(shown, operation) => {
                let waits = shown.is_null() || is_changing(&shown);
                cloud.security = Some(if shown.is_null() { body } else { shown });
                return Ok(match waits {
                    true => SharedWrite::Waits(
                        POLL,
                        format!("network security group {} is being changed", id.name()),
                        operation,
                    ),
                    false => SharedWrite::Done,
                });
            }
            AzureWritten::Changed => {
                let shown: Option<Value> = AzureApi::Network.get(id).find()?;
                let gone =
                    || Error::unavailable(format_args!("network security group {} is not there any more", id.name()));
                cloud.security = Some(shown.ok_or_else(gone)?);
            }
            AzureWritten::Busy(pause, why) => return Ok(SharedWrite::Waits(pause, why, None)),
        }
    }
    Ok(SharedWrite::waits(format!(
        "network security group {} was changed by somebody else three times meanwhile",
        id.name()
    )))
}
